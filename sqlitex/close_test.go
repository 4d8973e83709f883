package sqlitex_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case P9
func TestCloseInsideACallbackIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"file", ":memory:"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if path == "file" {
				path = dbtest.Path(t)
			}
			db := dbtest.OpenAt(t, path, nil, schema)
			insert(t, db, "x")
			ctx := t.Context()
			refused := 0
			closes := func() error {
				for _, err := range []error{db.Close(), db.CloseContext(ctx)} {
					require.Error(t, err)
					require.NotErrorIs(t, err, sqlitex.ErrClosed)
					refused++
				}
				return nil
			}
			within(t, "no deadlock", func() {
				require.NoError(t, db.Read(ctx, func(*tx.Reader) error { return closes() }))
				require.NoError(t, db.Write(ctx, func(*tx.Writer) error { return closes() }))
				require.NoError(t, db.Write(ctx, func(w *tx.Writer) error { return w.Savepoint(func(*tx.Writer) error { return closes() }) }))
				require.NoError(t, db.ReadConn(ctx, func(*sqlite.Conn) error { return closes() }))
				require.NoError(t, db.WriteConn(ctx, func(*sqlite.Conn) error { return closes() }))
				for range sqlitex.Each[int](ctx, db, `SELECT id FROM t`) {
					require.NoError(t, closes())
				}
				require.NoError(t, db.Read(ctx, func(r *tx.Reader) error {
					for range tx.Each[int](r, `SELECT id FROM t`) {
						require.NoError(t, closes())
					}
					return nil
				}))
			})
			assert.Equal(t, 14, refused)
			usable(t, db)
			require.NoError(t, db.Write(ctx, func(w *tx.Writer) error {
				w.OnCommit(func() { assert.NoError(t, db.Close(), "here nothing is held any more") })
				return nil
			}))
			require.ErrorIs(t, db.Ping(ctx), sqlitex.ErrClosed)
		})
	}
}

// hangs are the places where a caller may be in a statement that never ends.
func hangs(db *sqlitex.DB) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"One":     func(ctx context.Context) error { _, err := sqlitex.One[int](ctx, db, endless); return err },
		"ExecOne": func(ctx context.Context) error { _, err := sqlitex.ExecOne[int](ctx, db, endless); return err },
		"Exec":    func(ctx context.Context) error { return execute(ctx, db, endless) },
		"Each": func(ctx context.Context) (err error) {
			for _, err = range sqlitex.Each[int](ctx, db, endless) {
			}
			return err
		},
		"Read": func(ctx context.Context) error {
			return db.Read(ctx, func(r *tx.Reader) error { _, err := tx.One[int](r, endless); return err })
		},
		"Write": func(ctx context.Context) error {
			return db.Write(ctx, func(w *tx.Writer) error { _, err := w.Exec(endless); return err })
		},
		"Savepoint": func(ctx context.Context) error {
			return db.Write(ctx, func(w *tx.Writer) error {
				return w.Savepoint(func(w *tx.Writer) error { _, err := w.Exec(endless); return err })
			})
		},
		"Script": func(ctx context.Context) error {
			return db.Write(ctx, func(w *tx.Writer) error { return w.Script(endless) })
		},
		"ReadConn": func(ctx context.Context) error {
			return db.ReadConn(ctx, func(c *sqlite.Conn) error { return run(c, endless) })
		},
		"WriteConn": func(ctx context.Context) error {
			return db.WriteConn(ctx, func(c *sqlite.Conn) error { return run(c, endless) })
		},
	}
}

// case P9
func TestCloseContextInterruptsTheStatementThatHangs(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"file", ":memory:"} {
		for name := range hangs(nil) {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				path := path
				if path == "file" {
					path = dbtest.Path(t)
				}
				db := dbtest.OpenAt(t, path, nil, schema)
				insert(t, db, "x")
				hanging := make(chan error, 1)
				go func() { hanging <- hangs(db)[name](context.Background()) }()
				eventually(t, func() bool { s := db.Stats(); return s.Readers.InUse > 0 || s.Writer.Held > 0 }, "it hangs")
				within(t, "50 ms", func() { assert.NoError(t, db.CloseContext(soon(t)), "released") })
				require.ErrorIs(t, <-hanging, sqlitex.ErrClosed)
				require.ErrorIs(t, db.Ping(t.Context()), sqlitex.ErrClosed)
			})
		}
	}
}

// case P9: what runs need not be a statement of a caller.
func TestCloseContextEndsSetupCheckAndWaitsForLocks(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(*sqlitex.DB) error{
		"reader being opened": func(db *sqlitex.DB) error { return db.Ping(context.Background()) },
		"check":               func(db *sqlitex.DB) error { return db.Check(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hang := make(chan bool, 8)
			entered := make(chan struct{})
			hang <- false // the writer
			if name == "check" {
				hang <- false
			}
			hang <- true
			db := dbtest.Open(t, &sqlitex.Options{Setup: func(_ context.Context, c *sqlite.Conn) error {
				if <-hang {
					close(entered)
					return run(c, endless)
				}
				return nil
			}}, schema)
			hanging := make(chan error, 1)
			go func() { hanging <- call(db) }()
			<-entered
			within(t, "50 ms", func() { assert.NoError(t, db.CloseContext(soon(t))) })
			require.ErrorIs(t, <-hanging, sqlitex.ErrClosed)
		})
	}
	t.Run("lock of another process", func(t *testing.T) {
		t.Parallel()
		path := dbtest.Path(t)
		db := dbtest.OpenAt(t, path, &sqlitex.Options{BusyTimeout: -1}, schema)
		release := hold(t, path, "BEGIN IMMEDIATE")
		hanging := make(chan error, 1)
		go func() { hanging <- execute(context.Background(), db, `DELETE FROM t`) }()
		eventually(t, func() bool { return db.Stats().Writer.Held > 0 }, "it waits")
		within(t, "50 ms", func() { assert.NoError(t, db.CloseContext(soon(t))) })
		require.ErrorIs(t, <-hanging, sqlitex.ErrClosed)
		release()
	})
}

// case P9: a function that is in no statement cannot be ended from outside. CloseContext says so, and the rest follows.
func TestCloseContextGivesUpOnAFunctionThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, nil, schema)
	release := holdReaders(t, db, 1)
	hung := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		failed <- db.Write(context.Background(), func(w *tx.Writer) error {
			<-hung
			_, err := w.Exec(`INSERT INTO t (v) VALUES ('too late')`)
			return err
		})
	}()
	eventually(t, func() bool { return db.Stats().Writer.Held > 0 }, "it writes")
	err := db.CloseContext(soon(t))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, sqlitex.ErrClosed)
	require.ErrorIs(t, db.Ping(t.Context()), sqlitex.ErrClosed)
	close(hung)
	release()
	assert.NoError(t, db.Close(), "waits for the rest")
	<-failed
	absent(t, path)
}

func TestEverythingAnswersErrClosedAfterClose(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"file", ":memory:"} {
		if path == "file" {
			path = dbtest.Path(t)
		}
		db := dbtest.OpenAt(t, path, nil, schema)
		count(t, db)
		require.NoError(t, db.Close())
		require.NoError(t, db.Close(), "again")
		for name, call := range calls(db, anything) {
			require.ErrorIs(t, call(t.Context()), sqlitex.ErrClosed, name)
		}
		_ = db.Stats()
	}
}

func TestCloseLetsRunningCallsFinishAndRefusesThoseThatWait(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, &sqlitex.Options{MaxReaders: 1, BusyTimeout: time.Hour}, schema)
	insert(t, db, "first")
	releaseReader := holdReaders(t, db, 1)
	started, proceed, written := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		written <- db.Write(context.Background(), func(w *tx.Writer) error {
			close(started)
			<-proceed
			_, err := w.Exec(`INSERT INTO t (v) VALUES ('finished')`)
			return err
		})
	}()
	<-started
	waits := make(chan error, 2)
	go func() { waits <- execute(context.Background(), db, `DELETE FROM t`) }()
	go func() { waits <- db.Ping(context.Background()) }()
	eventually(t, func() bool { s := db.Stats(); return s.Writer.Queued == 1 && s.Readers.Waiting == 1 }, "both wait")

	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() { assert.NoError(t, db.Close()) })
	}
	require.ErrorIs(t, <-waits, sqlitex.ErrClosed)
	require.ErrorIs(t, <-waits, sqlitex.ErrClosed)
	close(proceed)
	require.NoError(t, <-written, "it was running")
	releaseReader()
	closers.Wait()
	absent(t, path)
	assert.Equal(t, 2, count(t, dbtest.OpenAt(t, path, nil, "")))
}
