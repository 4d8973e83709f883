package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case B3: readers in this process and in another see the old content or the new.
func TestRestoreUnderReadersIsOldOrNewAndNeverAMixture(t *testing.T) {
	t.Parallel()
	db := open(t, 2000)
	small, large := beside(db, "small"), beside(db, "large")
	_, err := backup.To(t.Context(), db, small, nil)
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(w *tx.Writer) error {
		return w.Script(`UPDATE account SET amount = 50; CREATE TABLE added (v); INSERT INTO added VALUES (1), (2), (3)`)
	}))
	fill(t, db, 1000)
	_, err = backup.To(t.Context(), db, large, nil)
	require.NoError(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	var reads [2]atomic.Int64
	for range 3 {
		reading.Go(func() {
			for ctx.Err() == nil {
				err := db.Read(t.Context(), func(r *tx.Reader) error {
					for range 2 { // a snapshot stays what it is
						rows, err := tx.One[int](r, `SELECT count(*) FROM t`)
						if err != nil {
							return err
						}
						amounts, err := tx.All[int](r, `SELECT amount FROM account ORDER BY id`)
						if err != nil {
							return err
						}
						added, err := tx.One[int](r, `SELECT count(*) FROM sqlite_schema WHERE name = 'added'`)
						if err != nil {
							return err
						}
						switch {
						case rows == 2000 && amounts[0] == 100 && amounts[1] == 0 && added == 0:
							reads[0].Add(1)
						case rows == 3000 && amounts[0] == 50 && amounts[1] == 50 && added == 1:
							reads[1].Add(1)
						default:
							t.Errorf("a mixture: %d rows, %v, %d", rows, amounts, added)
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		for i, path := range []string{small, large} {
			result, err := backup.Restore(t.Context(), db, path, &backup.Options{StepPages: 10})
			require.NoError(t, err)
			assert.Equal(t, backup.VerifyFull, result.Verified)
			n := reads[i].Load()
			eventually(t, func() bool { return reads[i].Load() > n }, "the new content is read")
		}
	}
	cancel()
	reading.Wait()
	require.NoError(t, db.Check(t.Context()))
	assert.Equal(t, "3", ask(t, rawConn(t, db.Path()), `SELECT count(*) FROM added`), "another connection sees it, too")
	fill(t, db, 1)
	assert.Equal(t, 3001, count(t, db))
	assert.Equal(t, []string{"large", "small", "test.db"}, files(t, db.Path()), "no side files of what was restored")
}

func TestRestoredContentIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]pragma.JournalMode{"WAL": pragma.JournalWAL, "DELETE": pragma.JournalDelete, "TRUNCATE": pragma.JournalTruncate, "MEMORY": pragma.JournalMemory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := copied(t, 500)
			o := &sqlitex.Options{Pragmas: pragma.Config{JournalMode: mode}}
			db := dbtest.Open(t, o, schema)
			fill(t, db, 10)
			_, err := backup.Restore(t.Context(), db, path, nil)
			require.NoError(t, err)
			assert.Equal(t, 500, count(t, db))
			fill(t, db, 1)
			got := ""
			require.NoError(t, db.ReadConn(t.Context(), func(c *sqlite.Conn) error { got = ask(t, c, `PRAGMA journal_mode`); return nil }))
			assert.Equal(t, mode == pragma.JournalWAL, got == "wal", "the open database keeps its journal mode")
			require.NoError(t, db.Close())
			db = dbtest.OpenAt(t, db.Path(), o, "")
			assert.Equal(t, 501, count(t, db))
		})
	}
}

func TestMemoryDatabaseCanBeRestored(t *testing.T) {
	t.Parallel()
	path := copied(t, 500)
	db := dbtest.OpenAt(t, ":memory:", nil, schema)
	_, err := backup.Restore(t.Context(), db, path, nil)
	require.NoError(t, err)
	assert.Equal(t, 500, count(t, db))
	fill(t, db, 1)
	assert.Equal(t, 501, count(t, db))
}

// case B4
func TestRestoreOfAnotherPageSizeOrEncodingIsRefusedWithTheWayToDoIt(t *testing.T) {
	t.Parallel()
	path := copied(t, 10)
	db := dbtest.Open(t, &sqlitex.Options{Pragmas: pragma.Config{PageSize: 8192}}, schema)
	fill(t, db, 3)
	_, err := backup.Restore(t.Context(), db, path, nil)
	require.ErrorIs(t, err, backup.ErrPageSize)
	require.ErrorContains(t, err, "backup.RestoreFile")
	assert.Equal(t, 3, count(t, db))
	fill(t, db, 1)

	wide := filepath.Join(t.TempDir(), "utf16")
	c := rawConn(t, wide)
	runOn(t, c, `PRAGMA encoding = 'UTF-16le'`, `CREATE TABLE t (v)`)
	require.NoError(t, c.Close())
	db = open(t, 3)
	_, err = backup.Restore(t.Context(), db, wide, nil)
	require.ErrorIs(t, err, backup.ErrEncoding)
	assert.Equal(t, 3, count(t, db))
}

// A file with another setting of auto_vacuum comes as it is.
func TestRestoreOfAFileWithAutoVacuum(t *testing.T) {
	t.Parallel()
	from := dbtest.Open(t, &sqlitex.Options{Pragmas: pragma.Config{AutoVacuum: pragma.AutoVacuumIncremental}}, schema)
	fill(t, from, 100)
	path := beside(from, "copy")
	_, err := backup.To(t.Context(), from, path, nil)
	require.NoError(t, err)
	db := open(t, 3)
	_, err = backup.Restore(t.Context(), db, path, nil)
	require.NoError(t, err)
	assert.Equal(t, 100, count(t, db))
	fill(t, db, 5)
	assert.Equal(t, 105, count(t, db))
	require.NoError(t, db.Check(t.Context()))
}

func TestRestoreFromTheDatabaseItselfIsRefused(t *testing.T) {
	t.Parallel()
	db := open(t, 3)
	require.NoError(t, os.Symlink(db.Path(), beside(db, "link")))
	for _, path := range []string{db.Path(), beside(db, "link"), db.Path() + "-wal"} {
		_, err := backup.Restore(t.Context(), db, path, nil)
		require.ErrorIs(t, err, backup.ErrSame)
	}
	assert.Equal(t, 3, count(t, db))
}

func TestRestoreThatFailsLeavesTheOldContent(t *testing.T) {
	t.Parallel()
	path := copied(t, 2000)
	db := open(t, 3)
	enough := errors.New("enough")
	half := func(do func() error) *backup.Options {
		return &backup.Options{StepPages: 10, Progress: func(p backup.Progress) error {
			if p.PagesLeft < p.PagesTotal/2 && p.PagesLeft > 0 {
				return do()
			}
			return nil
		}}
	}
	old := func() {
		t.Helper()
		require.NoError(t, db.Check(t.Context()))
		n := count(t, db)
		fill(t, db, 1)
		assert.Equal(t, n+1, count(t, db))
		assert.Less(t, n, 20)
	}
	_, err := backup.Restore(t.Context(), db, path, half(func() error { return enough }))
	require.ErrorIs(t, err, enough)
	old()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = backup.Restore(ctx, db, path, half(func() error { cancel(); return nil }))
	require.ErrorIs(t, err, context.Canceled)
	old()
	_, err = backup.Restore(ctx, db, path, nil)
	require.ErrorIs(t, err, context.Canceled)
	assert.PanicsWithValue(t, "oh", func() { _, _ = backup.Restore(t.Context(), db, path, half(func() error { panic("oh") })) })
	old()
	_, err = backup.Restore(t.Context(), db, path, half(func() error { return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)) }))
	require.ErrorIs(t, err, backup.ErrInUse, "somebody wrote it")
	old()
	_, err = backup.Restore(t.Context(), db, filepath.Join(t.TempDir(), "missing"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	old()

	// When it is done, it is done.
	_, err = backup.Restore(t.Context(), db, path, &backup.Options{Progress: func(p backup.Progress) error {
		if p.PagesLeft == 0 {
			return enough
		}
		return nil
	}})
	require.NoError(t, err)
	assert.Equal(t, 2000, count(t, db))
}

// The lock of another process is waited for, within the bounds.
func TestRestoreWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	path := copied(t, 100)
	db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: 50 * time.Millisecond}, schema)
	release := start(t, "hold", db.Path(), `BEGIN IMMEDIATE`)
	_, err := backup.Restore(t.Context(), db, path, nil)
	require.ErrorIs(t, err, tx.ErrBusy)
	release()
	_, err = backup.Restore(t.Context(), db, path, nil)
	require.NoError(t, err)

	db = dbtest.Open(t, &sqlitex.Options{BusyTimeout: time.Minute}, schema)
	release = start(t, "hold", db.Path(), `BEGIN IMMEDIATE`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = backup.Restore(ctx, db, path, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	done := make(chan error, 1)
	go func() {
		_, err := backup.Restore(context.Background(), db, path, nil)
		done <- err
	}()
	release()
	require.NoError(t, <-done)
	assert.Equal(t, 100, count(t, db))
}

// A file that is in use itself, with a log beside it, is restored as a reader sees it.
func TestRestoreFromADatabaseInUse(t *testing.T) {
	t.Parallel()
	from := dbtest.Open(t, &sqlitex.Options{Checkpoints: sqlitex.CheckpointsManual}, schema)
	fill(t, from, 700)
	db := open(t, 3)
	_, err := backup.Restore(t.Context(), db, from.Path(), nil)
	require.NoError(t, err)
	assert.Equal(t, 700, count(t, db))
}
