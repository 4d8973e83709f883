package sqlitex_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
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

func TestReadersAreOpenedWhenNeededAndReusedLastInFirstOut(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 3}, schema)
	assert.Zero(t, db.Stats().Readers.Open)
	for range 20 {
		count(t, db)
	}
	assert.EqualValues(t, 1, db.Stats().Readers.Opened, "one after the other needs one")
	holdReaders(t, db, 3)()
	assert.Equal(t, 3, db.Stats().Readers.Open)

	used := map[*sqlite.Conn]int{}
	for range 20 {
		require.NoError(t, db.ReadConn(t.Context(), func(c *sqlite.Conn) error { used[c]++; return nil }))
	}
	assert.Len(t, used, 1, "the one used last is warm")
}

func TestNeverMoreThanMaxReadersRead(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 3}, schema)
	var now, most atomic.Int32
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			for range 30 {
				assert.NoError(t, db.Read(context.Background(), func(r *tx.Reader) error {
					defer now.Add(-1)
					for n := now.Add(1); ; {
						if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
							break
						}
					}
					s := db.Stats().Readers
					assert.LessOrEqual(t, s.InUse, 3)
					assert.LessOrEqual(t, s.Open, 3)
					_, err := tx.One[int](r, `SELECT count(*) FROM t`)
					return err
				}))
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, most.Load(), int32(3))
	s := db.Stats().Readers
	assert.LessOrEqual(t, s.Opened, int64(3))
	assert.EqualValues(t, 360, s.Acquired)
	assert.Zero(t, s.InUse)
	assert.Zero(t, s.Oldest)
}

func TestIdleReadersAreClosedAndOpenedAgain(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 3, ReaderIdle: 20 * time.Millisecond}, schema)
	for round := range 3 {
		holdReaders(t, db, 3)()
		eventually(t, func() bool { return db.Stats().Readers.Open == 0 }, "closed")
		assert.Equal(t, 0, count(t, db), round)
	}
	kept := dbtest.Open(t, &sqlitex.Options{ReaderIdle: -1}, schema)
	count(t, kept)
	assert.Equal(t, 1, kept.Stats().Readers.Open)
}

// case P2
func TestLeavingInTheMiddleOfRowsGivesEverythingBack(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"file", ":memory:"} {
		if path == "file" {
			path = dbtest.Path(t)
		}
		db := dbtest.OpenAt(t, path, &sqlitex.Options{MaxReaders: 1, BusyTimeout: time.Second}, schema)
		for range 10 {
			insert(t, db, "x")
		}
		ctx := t.Context()
		boom := errors.New("boom")
		const rows = `SELECT id FROM t`
		leave := map[string]func(){
			"Each, panic": func() {
				for range sqlitex.Each[int](ctx, db, rows) {
					panic(boom)
				}
			},
			"tx.Each in Read, panic": func() {
				_ = db.Read(ctx, func(r *tx.Reader) error {
					for range tx.Each[int](r, rows) {
						panic(boom)
					}
					return nil
				})
			},
			"tx.Each in Write, panic": func() {
				_ = db.Write(ctx, func(w *tx.Writer) error {
					for range tx.Each[int](w, `UPDATE t SET v = 'lost' RETURNING id`) {
						panic(boom)
					}
					return nil
				})
			},
			"ReadConn, panic": func() {
				_ = db.ReadConn(ctx, func(c *sqlite.Conn) error {
					_, err := c.Prep(rows).Step()
					assert.NoError(t, err)
					panic(boom)
				})
			},
			"WriteConn, panic": func() {
				_ = db.WriteConn(ctx, func(c *sqlite.Conn) error {
					_, err := c.Prep(rows).Step()
					assert.NoError(t, err)
					panic(boom)
				})
			},
		}
		for name, f := range leave {
			require.PanicsWithValue(t, boom, f, name)
			usable(t, db)
			var ended sync.WaitGroup
			ended.Go(func() {
				defer func() { _ = recover() }()
				f()
			})
			ended.Wait()
			usable(t, db)
		}
		func() {
			for _, err := range sqlitex.Each[int](ctx, db, rows) {
				require.NoError(t, err)
				return
			}
		}()
		for range sqlitex.Each[int](ctx, db, rows) {
			break
		}
		var exits sync.WaitGroup
		exits.Go(func() {
			for range sqlitex.Each[int](ctx, db, rows) {
				goexit()
			}
		})
		exits.Go(func() { _ = db.Write(ctx, func(*tx.Writer) error { goexit(); return nil }) })
		exits.Wait()
		usable(t, db)
		lost, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM t WHERE v = 'lost'`)
		require.NoError(t, err)
		assert.Zero(t, lost)
		s := db.Stats()
		assert.Zero(t, s.Readers.InUse)
		assert.Zero(t, s.Writer.Held)
		within(t, "Close", func() { assert.NoError(t, db.Close()) })
	}
}

func TestReadOnlyHandleNeverWrites(t *testing.T) {
	t.Parallel()
	for _, journal := range []string{"wal", "delete"} {
		path := dbtest.Path(t)
		database(t, path, journal)
		db := dbtest.OpenAt(t, path, &sqlitex.Options{Mode: sqlitex.ReadOnly}, "")
		assert.Equal(t, 1, count(t, db))
		mode, err := sqlitex.One[string](t.Context(), db, "PRAGMA journal_mode")
		require.NoError(t, err)
		assert.Equal(t, journal, mode, "as the file has it")
		for name, call := range calls(db, writes) {
			require.ErrorIs(t, call(t.Context()), sqlitex.ErrReadOnly, name)
		}
		require.ErrorIs(t, db.WriteConn(t.Context(), func(*sqlite.Conn) error { return nil }), sqlitex.ErrReadOnly)
		require.Error(t, db.ReadConn(t.Context(), func(c *sqlite.Conn) error { return run(c, "DELETE FROM t") }))
		require.ErrorIs(t, db.Read(t.Context(), func(r *tx.Reader) error {
			_, err := tx.All[int](r, "DELETE FROM t RETURNING id")
			return err
		}), sqlitex.ErrReadOnly)
		assert.NoError(t, db.Check(t.Context()))
		assert.Equal(t, 1, count(t, db))

		// Another handle writes; this one follows.
		other := dbtest.OpenAt(t, path, &sqlitex.Options{Pragmas: pragma.Config{JournalMode: pragma.JournalMode(journal)}}, "")
		insert(t, other, "second")
		assert.Equal(t, 2, count(t, db))
	}
}

// A reader that is opened later must not read another file than the one that is being written.
func TestFileThatIsReplacedWhileOpenIsNoticed(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, &sqlitex.Options{MaxReaders: 2}, schema)
	release := holdReaders(t, db, 1)
	require.NoError(t, os.Rename(path, path+".old"))
	_, err := sqlitex.One[int](t.Context(), db, `SELECT count(*) FROM t`)
	require.ErrorIs(t, err, sqlitex.ErrCannotOpen, "deleted")
	require.NoFileExists(t, path, "and not made anew")
	database(t, path, "delete")
	_, err = sqlitex.One[int](t.Context(), db, `SELECT count(*) FROM t`)
	require.ErrorIs(t, err, sqlitex.ErrCannotOpen, "replaced")
	require.ErrorIs(t, db.Check(t.Context()), sqlitex.ErrCannotOpen)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Rename(path+".old", path))
	release()
	usable(t, db)
}
