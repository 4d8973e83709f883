package sqlitex_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

const blobs = `CREATE TABLE blobs (id INTEGER PRIMARY KEY, b BLOB NOT NULL) STRICT`

// fill writes pages of blobs, one commit for each.
func fill(t *testing.T, db *sqlitex.DB, pages int) {
	t.Helper()
	for range pages {
		_, err := db.Exec(t.Context(), `INSERT INTO blobs (b) VALUES (zeroblob(4000))`)
		require.NoError(t, err)
	}
}

func logSize(t *testing.T, db *sqlitex.DB) int64 {
	t.Helper()
	info, err := os.Stat(db.Path() + "-wal")
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(t, err)
	return info.Size()
}

func TestTheLogIsCopiedBackInTheBackground(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{Pragmas: pragma.Config{WALAutoCheckpoint: 50}}, blobs)
	fill(t, db, 200)
	eventually(t, func() bool {
		s := db.Stats().WAL
		return s.Passive > 0 && s.Pages-s.Copied < 50 && s.LastErr == nil
	}, "copied")
}

func TestNoConnectionChecksPointsByItselfInACommit(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, blobs)
	for name, call := range map[string]func() (int, error){
		"reader": func() (int, error) { return sqlitex.One[int](t.Context(), db, `PRAGMA wal_autocheckpoint`) },
		"writer": func() (int, error) { return sqlitex.ExecOne[int](t.Context(), db, `PRAGMA wal_autocheckpoint`) },
	} {
		pages, err := call()
		require.NoError(t, err, name)
		assert.Zero(t, pages, name)
	}
}

// With locking_mode EXCLUSIVE the log has no memory that another connection could see, and no other connection can copy it back.
func TestACommitCopiesTheLogBackWhereNoOtherConnectionCan(t *testing.T) {
	t.Parallel()
	exclusive := func(_ context.Context, c *sqlite.Conn) error { return run(c, `PRAGMA locking_mode = EXCLUSIVE`) }
	db, err := sqlitex.Open(t.Context(), filepath.Join(t.TempDir(), "alone.db"), &sqlitex.Options{
		Setup: exclusive, Pragmas: pragma.Config{WALAutoCheckpoint: 50},
	})
	require.NoError(t, err)
	defer func() { assert.NoError(t, db.Close()) }()
	_, err = db.Exec(t.Context(), blobs)
	require.NoError(t, err)
	fill(t, db, 500)
	assert.Less(t, logSize(t, db), int64(100*4096))
	require.NoError(t, db.WriteConn(t.Context(), func(*sqlite.Conn) error { return nil }))
	fill(t, db, 500)
	assert.Less(t, logSize(t, db), int64(100*4096), "nor does lending the connection undo it")
}

func TestExternalAndManualCheckpointsLeaveTheLogAlone(t *testing.T) {
	t.Parallel()
	for name, who := range map[string]sqlitex.Checkpoints{"external": sqlitex.CheckpointsExternal, "manual": sqlitex.CheckpointsManual} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, &sqlitex.Options{Checkpoints: who, Pragmas: pragma.Config{WALAutoCheckpoint: 10}}, blobs)
			fill(t, db, 1500) // more than SQLite's own thousand
			s := db.Stats().WAL
			assert.Greater(t, s.Pages, 1500)
			assert.Zero(t, s.Copied)
			require.NoError(t, db.Close())
			assert.Equal(t, who == sqlitex.CheckpointsExternal, logSize(t, db) > 0, "the last to close leaves it to the other program")
		})
	}
}

// case P5
func TestALongReadBlocksTheLogAndShowsInTheFigures(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{
		BusyTimeout: 200 * time.Millisecond,
		Pragmas:     pragma.Config{WALAutoCheckpoint: 20, JournalSizeLimit: 400 * pragma.KiB},
	}, blobs)
	reading, finish := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(finish) })
	t.Cleanup(end) // else a failure would leave Close waiting
	var wg sync.WaitGroup
	wg.Go(func() {
		err := db.Read(context.Background(), func(r *tx.Reader) error {
			n, err := tx.One[int](r, `SELECT count(*) FROM blobs`)
			assert.Zero(t, n)
			close(reading)
			<-finish
			return err
		})
		assert.NoError(t, err)
	})
	<-reading
	fill(t, db, 300)
	eventually(t, func() bool { return db.Stats().WAL.Blocked > 0 }, "blocked")
	info, err := db.Checkpoint(t.Context(), sqlitex.CheckpointTruncate)
	require.ErrorIs(t, err, sqlitex.ErrBusy, "a blocked checkpoint is no success")
	assert.True(t, info.Blocked)
	assert.Equal(t, 1, info.Readers)
	assert.Positive(t, info.Oldest)
	assert.Greater(t, logSize(t, db), int64(400*pragma.KiB))
	assert.Equal(t, 1, db.Stats().Readers.InUse)
	assert.Positive(t, db.Stats().Readers.Oldest)
	end()
	wg.Wait()
	eventually(t, func() bool {
		fill(t, db, 1) // the writer notices the log
		return db.Stats().WAL.Restarts > 0 && logSize(t, db) <= int64(400*pragma.KiB)
	}, "the log shrinks when the read has ended")
}

// case X5: the log stays within its limit beside busy readers, whose snapshots are kept, and a writer at full speed.
func TestTheLogStaysWithinItsLimitBesideBusyReaders(t *testing.T) {
	t.Parallel()
	const limit = 16 * pragma.MiB
	db := dbtest.Open(t, &sqlitex.Options{Pragmas: pragma.Config{WALAutoCheckpoint: 200, JournalSizeLimit: limit}}, blobs)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	enough := time.AfterFunc(dbtest.Stress(t, short), func() {
		for db.Stats().WAL.Restarts < 2 && ctx.Err() == nil { // however slow the machine is
			time.Sleep(time.Millisecond)
		}
		cancel()
	})
	defer enough.Stop()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, err := sqlitex.One[int](t.Context(), db, `SELECT coalesce(max(id), 0) FROM blobs`)
				assert.NoError(t, err)
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			_, err := db.Exec(t.Context(), `INSERT OR REPLACE INTO blobs (id, b) VALUES (abs(random()) % 500, randomblob(3000))`)
			assert.NoError(t, err)
		}
	})
	longest := int64(0)
	for ctx.Err() == nil {
		longest = max(longest, logSize(t, db))
		time.Sleep(5 * time.Millisecond) // between two looks at the file
	}
	wg.Wait()
	s := db.Stats()
	t.Logf("longest log %d KiB; %+v; %+v", longest>>10, s.WAL, s.Readers.Snapshots)
	assert.LessOrEqual(t, longest, 2*int64(limit), "with room for what is written until the restart comes through")
}

func TestNoCheckpointBeginsWhileTheyAreHeld(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{Pragmas: pragma.Config{WALAutoCheckpoint: 10}}, blobs)
	resume := db.HoldCheckpoints()
	before := db.Stats().WAL.Passive
	fill(t, db, 200)
	assert.Equal(t, before, db.Stats().WAL.Passive)
	assert.Greater(t, db.Stats().WAL.Pages, 200)
	resume()
	resume() // once more does no harm
	eventually(t, func() bool {
		fill(t, db, 1)
		return db.Stats().WAL.Passive > before
	}, "checkpoints go on")
}
