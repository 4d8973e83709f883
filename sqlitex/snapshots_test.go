package sqlitex_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case P4: a deferred transaction that reads first and writes later fails when somebody commits in between. Write has the lock
// from its first moment, and Read refuses to write.
func TestNoTransactionReadsFirstAndFailsToWriteLater(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, nil, schema)
	other := dbtest.OpenAt(t, path, &sqlitex.Options{BusyTimeout: time.Millisecond}, "")
	require.NoError(t, db.Write(t.Context(), func(w *tx.Writer) error {
		n, err := tx.One[int](w, `SELECT count(*) FROM t`)
		require.NoError(t, err)
		require.ErrorIs(t, execute(t.Context(), other, `INSERT INTO t (v) VALUES ('between')`), sqlitex.ErrBusy)
		_, err = w.Exec(`INSERT INTO t (v) VALUES (?)`, n)
		return err
	}))
	require.NoError(t, db.Read(t.Context(), func(r *tx.Reader) error {
		before, err := tx.One[int](r, `SELECT count(*) FROM t`)
		require.NoError(t, err)
		insert(t, other, "between")
		insert(t, db, "between")
		for _, sql := range []string{
			`INSERT INTO t (v) VALUES ('x') RETURNING id`, `DELETE FROM t RETURNING id`, `WITH x AS (SELECT 1) UPDATE t SET v = 1 RETURNING id`,
			`CREATE TABLE x (x)`, `REINDEX`, `ANALYZE`, `DROP TABLE t`, `ALTER TABLE t ADD COLUMN x`, `PRAGMA user_version = 1`,
		} {
			_, err := tx.All[int](r, sql)
			require.Error(t, err, sql)
		}
		after, err := tx.One[int](r, `SELECT count(*) FROM t`)
		require.NoError(t, err, "and it is still a snapshot")
		assert.Equal(t, before, after)
		return nil
	}))
	assert.Equal(t, 3, count(t, db))
}

// case P5: a reader that stays keeps the log from starting over. Its age is told; once it is gone the log can shrink.
func TestReaderThatStaysShowsAndTheLogShrinksAfterwards(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, nil, schema)
	log := func() int64 {
		info, err := os.Stat(path + "-wal")
		require.NoError(t, err)
		return info.Size()
	}
	insert(t, db, "first")
	stays, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.Read(context.Background(), func(r *tx.Reader) error {
			before, err := tx.One[int](r, `SELECT count(*) FROM t`)
			close(stays)
			<-leave
			after, e := tx.One[int](r, `SELECT count(*) FROM t`)
			assert.NoError(t, e)
			assert.Equal(t, before, after)
			return err
		})
	}()
	<-stays
	big := strings.Repeat("x", 100_000)
	for range 100 {
		insert(t, db, big)
	}
	grown := log()
	assert.Greater(t, grown, int64(8<<20), "longer than 1000 pages")
	eventually(t, func() bool { return db.Stats().Readers.Oldest > 20*time.Millisecond }, "the reader's age")
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, checkpoint(short, db, sqlitex.CheckpointTruncate), context.DeadlineExceeded)
	usable(t, db)
	close(leave)
	require.NoError(t, <-done)
	assert.Zero(t, db.Stats().Readers.Oldest)
	info, err := db.Checkpoint(t.Context(), sqlitex.CheckpointTruncate)
	require.NoError(t, err)
	assert.Equal(t, sqlitex.CheckpointInfo{}, info)
	assert.Zero(t, log())
}

func TestReadsSeeAllEarlierCommitsOfOtherConnections(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, &sqlitex.Options{MaxReaders: 2}, schema)
	raw := rawConn(t, path)
	for i := range 300 {
		switch i % 3 {
		case 0:
			insert(t, db, "x")
		case 1:
			require.NoError(t, run(raw, `INSERT INTO t (v) VALUES ('raw')`))
		case 2:
			require.NoError(t, db.WriteConn(t.Context(), func(c *sqlite.Conn) error { return run(c, `INSERT INTO t (v) VALUES ('lent')`) }))
		}
		require.Equal(t, i+1, count(t, db))
		if i%50 == 49 {
			require.NoError(t, run(raw, `PRAGMA wal_checkpoint(TRUNCATE)`))
			require.Equal(t, i+1, count(t, db))
		}
	}
}

// Schema changes by others reach statements that are already prepared.
func TestReadersFollowSchemaChangesOfOtherConnections(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, &sqlitex.Options{MaxReaders: 1}, schema)
	raw := rawConn(t, path)
	insert(t, db, "x")
	for i := range 20 {
		rows, err := sqlitex.All[struct {
			ID int
			V  string
		}](t.Context(), db, `SELECT id, v FROM t`)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		n, err := sqlitex.One[int](t.Context(), db, `SELECT count(*) FROM pragma_table_info('t')`)
		require.NoError(t, err)
		require.Equal(t, 2+i, n)
		column := "c" + string(rune('a'+i))
		if i%2 == 0 {
			require.NoError(t, run(raw, `ALTER TABLE t ADD COLUMN `+column))
		} else {
			require.NoError(t, execute(t.Context(), db, `ALTER TABLE t ADD COLUMN `+column))
		}
	}
}
