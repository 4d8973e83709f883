package sqlitex_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// foreign are locks of another process, and what they bar.
var foreign = []struct {
	name    string
	journal pragma.JournalMode
	hold    []string
	bars    []kind
}{
	{"write lock, WAL", pragma.JournalWAL, []string{"BEGIN IMMEDIATE"}, []kind{writes}},
	{"write lock, rollback journal", pragma.JournalDelete, []string{"BEGIN IMMEDIATE"}, []kind{writes}},
	{"exclusive lock, rollback journal", pragma.JournalDelete, []string{"BEGIN EXCLUSIVE"}, []kind{writes, reads}},
	{"exclusive lock, truncated journal", pragma.JournalTruncate, []string{"BEGIN EXCLUSIVE"}, []kind{writes, reads}},
}

// case P7
func TestContextEndsTheWaitForAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, test := range foreign {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			db := dbtest.OpenAt(t, path, &sqlitex.Options{BusyTimeout: 10 * time.Second, Pragmas: pragma.Config{JournalMode: test.journal}}, schema)
			insert(t, db, "first")
			release := hold(t, path, test.hold...)
			for _, k := range test.bars {
				for name, call := range calls(db, k) {
					if name == "Checkpoint" && test.journal != pragma.JournalWAL {
						continue // nothing to do
					}
					within(t, name, func() {
						err := call(soon(t))
						require.ErrorIs(t, err, context.DeadlineExceeded, name)
						assert.ErrorAs(t, err, new(*sqlitex.BusyError), "%s: says what it waited for", name)
					})
				}
			}
			release()
			usable(t, db)
			assert.Equal(t, 1, count(t, db))
		})
	}
}

// case P7: the busy timeout, where the context has no end.
func TestBusyTimeoutEndsTheWaitForAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, test := range foreign {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			db := dbtest.OpenAt(t, path, &sqlitex.Options{BusyTimeout: 30 * time.Millisecond, Pragmas: pragma.Config{JournalMode: test.journal}}, schema)
			release := hold(t, path, test.hold...)
			for _, k := range test.bars {
				for name, call := range calls(db, k) {
					if name == "Checkpoint" && test.journal != pragma.JournalWAL {
						continue
					}
					within(t, name, func() { require.ErrorIs(t, call(t.Context()), sqlitex.ErrBusy, name) })
				}
			}
			release()
			usable(t, db)
		})
	}
}

// case P7
func TestOpenIsBoundWhileAnotherProcessHasTheFile(t *testing.T) {
	t.Parallel()
	for _, mode := range []sqlitex.Mode{sqlitex.ReadWrite, sqlitex.ReadOnly} {
		path := dbtest.Path(t)
		database(t, path, "delete")
		release := hold(t, path, "BEGIN EXCLUSIVE")
		within(t, "the context", func() {
			_, err := sqlitex.Open(soon(t), path, &sqlitex.Options{Mode: mode, BusyTimeout: time.Minute})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, path)
		})
		within(t, "the busy timeout", func() {
			_, err := sqlitex.Open(t.Context(), path, &sqlitex.Options{Mode: mode, BusyTimeout: 30 * time.Millisecond})
			require.ErrorIs(t, err, sqlitex.ErrBusy)
		})
		opened := make(chan error, 1)
		go func() {
			db, err := sqlitex.Open(context.Background(), path, &sqlitex.Options{Mode: mode, Pragmas: pragma.RollbackFull()})
			if err == nil {
				err = db.Close()
			}
			opened <- err
		}()
		release()
		require.NoError(t, <-opened, "it waits")
	}
}

// case P7: a reader of another process stands in the way of a COMMIT, where there is no write-ahead log.
func TestCommitThatWaitsForReadersOfAnotherProcessIsBound(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	o := &sqlitex.Options{BusyTimeout: 10 * time.Second, Pragmas: pragma.Config{JournalMode: pragma.JournalDelete, CacheSize: 64 * pragma.KiB}}
	db := dbtest.OpenAt(t, path, o, schema)
	insert(t, db, "first")
	release := hold(t, path, "BEGIN", "SELECT * FROM t")
	within(t, "commit", func() {
		require.ErrorIs(t, execute(soon(t), db, `INSERT INTO t (v) VALUES ('lost')`), context.DeadlineExceeded)
	})
	assert.Equal(t, 1, count(t, db), "rolled back")
	within(t, "more than fits the cache", func() {
		err := db.Write(soon(t), func(w *tx.Writer) error {
			_, err := w.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO t (v) SELECT hex(randomblob(500)) FROM n`)
			return err
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	assert.Equal(t, 1, count(t, db), "rolled back")
	release()
	usable(t, db)
}

// A reader that was here first is served: SQLite lets it in beside a waiting writer only until the writer has its turn.
func TestWaitForAnotherProcessEndsWithItsLock(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, &sqlitex.Options{BusyTimeout: time.Minute}, schema)
	release := hold(t, path, "BEGIN IMMEDIATE", "INSERT INTO t (v) VALUES ('theirs')", "COMMIT", "BEGIN IMMEDIATE")
	done := make(chan error, 1)
	go func() { done <- execute(context.Background(), db, `INSERT INTO t (v) VALUES ('ours')`) }()
	eventually(t, func() bool { return db.Stats().Writer.Held > 0 }, "it waits for the lock")
	assert.Equal(t, 1, count(t, db), "reads go on")
	release()
	require.NoError(t, <-done)
	assert.Equal(t, 2, count(t, db))
}
