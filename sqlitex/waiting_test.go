package sqlitex_test

import (
	"context"
	"strconv"
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

// case P1: every reader is taken, and each closure reads again.
func TestReadInsideReadWhileAllReadersAreTakenIsBusyWithinTheBound(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 2, BusyTimeout: 40 * time.Millisecond}, schema)
	var together, tried, done sync.WaitGroup
	together.Add(2)
	tried.Add(2)
	within(t, "40 ms", func() {
		for range 2 {
			done.Go(func() {
				assert.NoError(t, db.Read(context.Background(), func(*tx.Reader) error {
					together.Done()
					together.Wait()
					_, err := sqlitex.One[int](context.Background(), db, `SELECT 1`)
					assert.ErrorIs(t, err, sqlitex.ErrBusy)
					busy := new(sqlitex.BusyError)
					if assert.ErrorAs(t, err, &busy) {
						assert.Equal(t, "a reader", busy.For)
						assert.Equal(t, 2, busy.Readers)
						assert.GreaterOrEqual(t, busy.Waited, 40*time.Millisecond)
						assert.Positive(t, busy.Oldest)
					}
					tried.Done()
					tried.Wait()
					return nil
				}))
			})
		}
		done.Wait()
	})
	assert.Zero(t, db.Stats().Readers.Waiting)
	usable(t, db)
}

// case P1
func TestReadInsideReadWorksWhileAReaderIsFree(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 3}, schema)
	require.NoError(t, db.Read(t.Context(), func(*tx.Reader) error {
		return db.Read(t.Context(), func(*tx.Reader) error {
			for range sqlitex.Each[int](t.Context(), db, `SELECT 1`) {
			}
			return db.Ping(t.Context())
		})
	}))
}

// case P1
func TestWriteInsideWriteNamesTheHolder(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: time.Hour}, schema)
	ctx := t.Context()
	within(t, "nothing to wait for", func() {
		require.NoError(t, db.Write(ctx, func(*tx.Writer) error {
			for name, err := range map[string]error{
				"Write":      db.Write(ctx, func(*tx.Writer) error { return nil }),
				"WriteConn":  db.WriteConn(ctx, func(*sqlite.Conn) error { return nil }),
				"Exec":       execute(ctx, db, `DELETE FROM t`),
				"Optimize":   db.Optimize(ctx),
				"Vacuum":     db.Vacuum(ctx),
				"Checkpoint": checkpoint(ctx, db, sqlitex.CheckpointPassive),
			} {
				require.ErrorIs(t, err, sqlitex.ErrBusy, name)
				assert.ErrorContains(t, err, "waiting_test.go", "%s: names the holder", name)
			}
			return nil
		}))
	})
	usable(t, db)
}

// case P1: the holder is another goroutine, which the bound alone can tell from one that will soon be done.
func TestWriteBesideWriteIsBusyWithinTheBound(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: 40 * time.Millisecond}, schema)
	release := holdWriter(t, db)
	within(t, "40 ms", func() {
		err := execute(t.Context(), db, `DELETE FROM t`)
		require.ErrorIs(t, err, sqlitex.ErrBusy)
		busy := new(sqlitex.BusyError)
		require.ErrorAs(t, err, &busy)
		assert.Contains(t, busy.Holder, "helpers_test.go")
		assert.GreaterOrEqual(t, busy.Held, busy.Waited)
	})
	release()
	usable(t, db)
}

// case P1
func TestReadInsideWriteSeesWhatWasCommitted(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, schema)
	require.NoError(t, db.Write(t.Context(), func(w *tx.Writer) error {
		_, err := w.Exec(`INSERT INTO t (v) VALUES ('not yet')`)
		require.NoError(t, err)
		assert.Zero(t, count(t, db))
		return nil
	}))
	assert.Equal(t, 1, count(t, db))
}

// case P1
func TestWriteInsideReadWorks(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, schema)
	insert(t, db, "first")
	require.NoError(t, db.Read(t.Context(), func(r *tx.Reader) error {
		before, err := tx.One[int](r, `SELECT count(*) FROM t`)
		require.NoError(t, err)
		insert(t, db, "second")
		after, err := tx.One[int](r, `SELECT count(*) FROM t`)
		assert.Equal(t, before, after, "one snapshot")
		return err
	}))
	for v, err := range sqlitex.Each[string](t.Context(), db, `SELECT v FROM t`) {
		require.NoError(t, err)
		insert(t, db, v)
	}
	assert.Equal(t, 4, count(t, db))
}

// case P1: without a write-ahead log this cannot work. It must not hang.
func TestWriteInsideReadWithARollbackJournalIsBusyWithinTheBound(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: 40 * time.Millisecond, Pragmas: pragma.RollbackFull()}, schema)
	within(t, "40 ms", func() {
		require.NoError(t, db.Read(t.Context(), func(r *tx.Reader) error {
			require.ErrorIs(t, execute(t.Context(), db, `INSERT INTO t (v) VALUES ('x')`), sqlitex.ErrBusy)
			return nil
		}))
	})
	assert.Zero(t, count(t, db))
	usable(t, db)
}

// soon is a context that ends after 50 ms.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// case P7: a full pool, and a busy writer.
func TestContextEndsTheWaitInsideTheProcess(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1, BusyTimeout: time.Hour}, schema)
	defer holdReaders(t, db, 1)()
	defer holdWriter(t, db)()
	for name, call := range calls(db, anything) {
		within(t, name, func() {
			err := call(soon(t))
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			assert.NotErrorIs(t, err, sqlitex.ErrBusy, name)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error, 2)
	go func() { waits <- execute(ctx, db, `DELETE FROM t`) }()
	go func() { waits <- db.Ping(ctx) }()
	eventually(t, func() bool { s := db.Stats(); return s.Writer.Queued == 1 && s.Readers.Waiting == 1 }, "both wait")
	cancel()
	require.ErrorIs(t, <-waits, context.Canceled)
	require.ErrorIs(t, <-waits, context.Canceled)
	s := db.Stats()
	assert.Zero(t, s.Writer.Queued)
	assert.Zero(t, s.Readers.Waiting)
}

// kind of call: what it needs from others.
type kind int

const (
	anything kind = iota // all of them
	writes               // those that need the write lock of the file
	reads                // those that need to read the file
)

// calls are the ways into db, by what they wait for.
func calls(db *sqlitex.DB, k kind) map[string]func(context.Context) error {
	all := map[string]func(context.Context) error{}
	if k != reads {
		all["Exec"] = func(ctx context.Context) error { return execute(ctx, db, `INSERT INTO t (v) VALUES ('x')`) }
		all["ExecOne"] = func(ctx context.Context) error {
			_, err := sqlitex.ExecOne[int](ctx, db, `INSERT INTO t (v) VALUES ('x') RETURNING id`)
			return err
		}
		all["Write"] = func(ctx context.Context) error { return db.Write(ctx, func(*tx.Writer) error { return nil }) }
		all["Vacuum"] = db.Vacuum
		all["Checkpoint"] = func(ctx context.Context) error { return checkpoint(ctx, db, sqlitex.CheckpointTruncate) }
	}
	if k != writes {
		all["One"] = func(ctx context.Context) error {
			_, err := sqlitex.One[int](ctx, db, `SELECT count(*) FROM t`)
			return err
		}
		all["All"] = func(ctx context.Context) error { _, err := sqlitex.All[int](ctx, db, `SELECT id FROM t`); return err }
		all["Each"] = func(ctx context.Context) (err error) {
			for _, err = range sqlitex.Each[int](ctx, db, `SELECT id FROM t`) {
			}
			return err
		}
		all["Read"] = func(ctx context.Context) error { return db.Read(ctx, func(*tx.Reader) error { return nil }) }
		all["Ping"] = db.Ping
		all["Check"] = db.Check
	}
	if k == anything {
		all["ReadConn"] = func(ctx context.Context) error { return db.ReadConn(ctx, func(*sqlite.Conn) error { return nil }) }
		all["WriteConn"] = func(ctx context.Context) error { return db.WriteConn(ctx, func(*sqlite.Conn) error { return nil }) }
		all["Optimize"] = db.Optimize
	}
	return all
}

func execute(ctx context.Context, db *sqlitex.DB, sql string) error {
	_, err := db.Exec(ctx, sql)
	return err
}

func checkpoint(ctx context.Context, db *sqlitex.DB, mode sqlitex.CheckpointMode) error {
	_, err := db.Checkpoint(ctx, mode)
	return err
}

// A context that is done on entry does nothing, also where there is nothing to wait for.
func TestCallUnderADoneContextDoesNothing(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, schema)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	before := db.Stats()
	for name, call := range calls(db, anything) {
		require.ErrorIs(t, call(done), context.Canceled, name)
	}
	after := db.Stats()
	assert.Equal(t, before.Readers.Acquired, after.Readers.Acquired)
	assert.Equal(t, before.Writer.Acquired, after.Writer.Acquired)
	assert.Zero(t, count(t, db))
}

func TestWritersAreServedInTheOrderOfTheirArrival(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, schema)
	release := holdWriter(t, db)
	const n = 20
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			assert.NoError(t, db.Write(context.Background(), func(w *tx.Writer) error {
				_, err := w.Exec(`INSERT INTO t (v) VALUES (?)`, i)
				return err
			}))
		})
		eventually(t, func() bool { return db.Stats().Writer.Queued == i+1 }, "queued")
	}
	release()
	all.Wait()
	order, err := sqlitex.All[string](t.Context(), db, `SELECT v FROM t ORDER BY id`)
	require.NoError(t, err)
	require.Len(t, order, n)
	for i, v := range order {
		assert.Equal(t, strconv.Itoa(i), v)
	}
	s := db.Stats().Writer
	assert.GreaterOrEqual(t, s.Waits, int64(n))
	assert.GreaterOrEqual(t, s.WaitTotal, s.WaitLongest)
	assert.Zero(t, s.Held)
}
