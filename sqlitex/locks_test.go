package sqlitex_test

import (
	"context"
	"errors"
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

// case O8: closing any descriptor of a file drops all locks that the process has on it. Whatever the library offers is called
// while a write transaction is open; another process must then still find the lock.
func TestNothingDropsTheLocksOfTheProcess(t *testing.T) {
	t.Parallel()
	for _, journal := range []pragma.JournalMode{pragma.JournalWAL, pragma.JournalDelete} {
		t.Run(string(journal), func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			quick := &sqlitex.Options{BusyTimeout: time.Millisecond, Pragmas: pragma.Config{JournalMode: journal}}
			db := dbtest.OpenAt(t, path, quick, schema)
			link := filepath.Join(t.TempDir(), "link.db")
			require.NoError(t, os.Symlink(path, link))
			ctx := t.Context()
			again := func(path string, o sqlitex.Options) func() error {
				return func() error {
					o.BusyTimeout = time.Millisecond
					if o.Pragmas.JournalMode == "" {
						o.Pragmas.JournalMode = journal
					}
					second, err := sqlitex.Open(ctx, path, &o)
					if err != nil {
						return err
					}
					return errors.Join(second.Ping(ctx), second.Close())
				}
			}
			helpers := map[string]func() error{
				"Ping":                     func() error { return db.Ping(ctx) },
				"Check":                    func() error { return db.Check(ctx) },
				"Stats":                    func() error { db.Stats(); return nil },
				"Checkpoint":               func() error { _, err := db.Checkpoint(ctx, sqlitex.CheckpointPassive); return err },
				"Vacuum":                   func() error { return db.Vacuum(ctx) },
				"Optimize":                 func() error { return db.Optimize(ctx) },
				"Close":                    db.Close,
				"ReadConn":                 func() error { return db.ReadConn(ctx, func(*sqlite.Conn) error { return nil }) },
				"Open again":               again(path, sqlitex.Options{}),
				"Open a link":              again(link, sqlitex.Options{}),
				"Open to read":             again(path, sqlitex.Options{Mode: sqlitex.ReadOnly}),
				"Open with a FileMode":     again(path, sqlitex.Options{FileMode: 0o600}),
				"Open, another page size":  again(path, sqlitex.Options{Pragmas: pragma.Config{PageSize: 65536}}),
				"Open, a setup that fails": again(path, sqlitex.Options{Setup: func(context.Context, *sqlite.Conn) error { return errors.New("boom") }}),
				"Open, another journal":    again(path, sqlitex.Options{Pragmas: pragma.Config{JournalMode: pragma.JournalPersist}}),
			}
			require.NoError(t, db.Write(ctx, func(w *tx.Writer) error {
				_, err := w.Exec(`INSERT INTO t (v) VALUES ('x')`)
				require.NoError(t, err)
				require.Equal(t, busyCode, try(t, path, "BEGIN IMMEDIATE"), "before")
				for name, helper := range helpers {
					err := helper()
					require.Equal(t, busyCode, try(t, path, "BEGIN IMMEDIATE"), "after %s, which returned %v", name, err)
				}
				return nil
			}))
			assert.Equal(t, okCode, try(t, path, "BEGIN IMMEDIATE"), "afterwards it is free")
			assert.Equal(t, 1, count(t, db))
		})
	}
}

// case O8: a new file is made by one of several that open it at once; none of the others may lose a lock by that.
func TestOpeningANewDatabaseManyTimesAtOnceDropsNoLocks(t *testing.T) {
	t.Parallel()
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		path := dbtest.Path(t)
		const n = 6
		start := make(chan struct{})
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				<-start
				db, err := sqlitex.Open(context.Background(), path, nil)
				if !assert.NoError(t, err) {
					return
				}
				defer func() { assert.NoError(t, db.Close()) }()
				_, err = db.Exec(context.Background(), `CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v TEXT)`)
				assert.NoError(t, err)
				for range 5 {
					_, err = db.Exec(context.Background(), `INSERT INTO t (v) VALUES ('x')`)
					assert.NoError(t, err)
				}
			})
		}
		close(start)
		all.Wait()
		db := dbtest.OpenAt(t, path, nil, "")
		assert.Equal(t, 5*n, count(t, db))
	}
}

func TestTwoHandlesOnOneFileWaitForEachOther(t *testing.T) {
	t.Parallel()
	for _, journal := range []pragma.JournalMode{pragma.JournalWAL, pragma.JournalTruncate} {
		t.Run(string(journal), func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			o := &sqlitex.Options{BusyTimeout: 30 * time.Second, Pragmas: pragma.Config{JournalMode: journal, Synchronous: pragma.SyncOff}}
			handles := []*sqlitex.DB{dbtest.OpenAt(t, path, o, schema), dbtest.OpenAt(t, path, o, "")}
			const each = 30
			var all sync.WaitGroup
			for i := range 8 {
				db := handles[i%2]
				all.Go(func() {
					for range each {
						before, err := sqlitex.One[int](context.Background(), db, `SELECT count(*) FROM t`)
						assert.NoError(t, err)
						after, err := tx.Write(context.Background(), db, func(w *tx.Writer) (int, error) {
							if _, err := w.Exec(`INSERT INTO t (v) VALUES ('x')`); err != nil {
								return 0, err
							}
							return tx.One[int](w, `SELECT count(*) FROM t`)
						})
						assert.NoError(t, err)
						assert.Greater(t, after, before)
						seen, err := sqlitex.One[int](context.Background(), db, `SELECT count(*) FROM t`)
						assert.NoError(t, err)
						assert.GreaterOrEqual(t, seen, after, "a read sees every earlier commit")
					}
				})
			}
			all.Wait()
			assert.Equal(t, 8*each, count(t, handles[0]))
			assert.Equal(t, 8*each, count(t, handles[1]))
		})
	}
}

// The second handle meets the lock of the first within its own bound, and says that it is not its own writer.
func TestSecondHandleIsBusyWhileTheFirstWrites(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	first := dbtest.OpenAt(t, path, nil, schema)
	second := dbtest.OpenAt(t, path, &sqlitex.Options{BusyTimeout: 30 * time.Millisecond}, "")
	release := holdWriter(t, first)
	within(t, "30 ms", func() {
		_, err := second.Exec(t.Context(), `INSERT INTO t (v) VALUES ('x')`)
		require.ErrorIs(t, err, sqlitex.ErrBusy)
		busy := new(sqlitex.BusyError)
		require.ErrorAs(t, err, &busy)
		assert.Contains(t, busy.For, "another")
		assert.GreaterOrEqual(t, busy.Waited, 30*time.Millisecond)
	})
	assert.Equal(t, 0, count(t, second), "readers are not concerned")
	release()
	usable(t, second)
}
