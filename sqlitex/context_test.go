package sqlitex_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case P8: cancellations that come about when a query ends, in time or late. None may hit the query that follows on the same
// connection.
func TestCancellationNeverHitsTheNextQuery(t *testing.T) {
	t.Parallel()
	total := 10_000
	if testing.Short() || underRace {
		total = 280
	}
	const busyQuery = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT count(*) FROM n`
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, schema)
	insert(t, db, "x")
	ways := map[string]func(context.Context) error{
		"One": func(ctx context.Context) error { _, err := sqlitex.One[int](ctx, db, busyQuery); return err },
		"Read": func(ctx context.Context) error {
			return db.Read(ctx, func(r *tx.Reader) error { _, err := tx.One[int](r, busyQuery); return err })
		},
		"Each": func(ctx context.Context) error {
			for _, err := range sqlitex.Each[int](ctx, db, busyQuery) {
				return err
			}
			return nil
		},
		"ReadConn": func(ctx context.Context) error {
			return db.ReadConn(ctx, func(c *sqlite.Conn) error { return run(c, busyQuery) })
		},
		"Exec": func(ctx context.Context) error {
			_, err := db.Exec(ctx, `UPDATE t SET v = (`+busyQuery+`)`)
			return err
		},
		"Write": func(ctx context.Context) error {
			return db.Write(ctx, func(w *tx.Writer) error { _, err := w.Exec(`UPDATE t SET v = (` + busyQuery + `)`); return err })
		},
		"WriteConn": func(ctx context.Context) error {
			return db.WriteConn(ctx, func(c *sqlite.Conn) error { return run(c, busyQuery) })
		},
	}
	for name, query := range ways {
		start := time.Now()
		for range 10 {
			require.NoError(t, query(t.Context()), name)
		}
		usual := time.Since(start) / 10
		cancelled := 0
		for i := range total / len(ways) {
			ctx, done := endsDuring(t, i, usual)
			if err := query(ctx); err != nil {
				require.ErrorIs(t, err, context.Canceled, name)
				cancelled++
			}
			n, err := sqlitex.One[int](t.Context(), db, busyQuery)
			require.NoError(t, err, "after %s", name)
			require.Equal(t, 500, n)
			_, err = db.Exec(t.Context(), `UPDATE t SET v = (`+busyQuery+`)`)
			require.NoError(t, err, "after %s", name)
			done()
		}
		t.Logf("%s: %v each, %d of %d cancelled", name, usual, cancelled, total/len(ways))
	}
	assert.EqualValues(t, 1, db.Stats().Readers.Opened, "no connection had to be replaced")
}

// endsDuring returns a context that ends about when a query ends: every other time at the query's i-th look at it, otherwise
// at some time, by another goroutine, and maybe when the query has long gone.
func endsDuring(t *testing.T, i int, usual time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	if i%2 == 0 {
		looks := new(atomic.Int64)
		looks.Store(int64(i / 2 % 30))
		return lookedAt{ctx, looks}, cancel
	}
	var spinner sync.WaitGroup
	spinner.Go(func() {
		for start, d := time.Now(), rand.N(2*usual); time.Since(start) < d; { // a timer would be too coarse
		}
		cancel()
	})
	return ctx, spinner.Wait
}

// lookedAt is a context that has ended after a number of looks at it.
type lookedAt struct {
	context.Context
	looks *atomic.Int64
}

func (c lookedAt) Err() error {
	if c.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// case P8: the same from many goroutines, whose queries follow each other on shared connections.
func TestCancellationNeverHitsAnotherCaller(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 2}, schema)
	insert(t, db, "x")
	each := 300
	if testing.Short() || underRace {
		each = 40
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range each {
				ctx, cancel := context.WithCancel(context.Background())
				if i%2 == 0 {
					time.AfterFunc(rand.N(100*time.Microsecond), cancel)
				}
				_, err := sqlitex.One[int](ctx, db, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT count(*) FROM n`)
				if i%2 == 0 && errors.Is(err, context.Canceled) {
					err = nil
				}
				assert.NoError(t, err)
				_, err = db.Exec(ctx, `UPDATE t SET v = v || 'x' WHERE length(v) < 10`)
				if i%2 == 0 && errors.Is(err, context.Canceled) {
					err = nil
				}
				assert.NoError(t, err)
				cancel()
			}
		})
	}
	all.Wait()
}

func TestDeadlineInterruptsEveryKindOfCall(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"file", ":memory:"} {
		if path == "file" {
			path = dbtest.Path(t)
		}
		db := dbtest.OpenAt(t, path, &sqlitex.Options{MaxReaders: 1}, schema)
		for name, hang := range hangs(db) {
			within(t, name, func() { require.ErrorIs(t, hang(soon(t)), context.DeadlineExceeded, name) })
			usable(t, db)
		}
	}
}

// foreignContext is none of package context's own types: a library that derived a context from it, or waited for it, would have
// to start a goroutine.
type foreignContext struct{ context.Context }

func (c foreignContext) Done() <-chan struct{} { return c.Context.Done() }

// Not parallel: it counts what the whole process does.
func TestContextCostsNeitherGoroutineNorMemory(t *testing.T) {
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, schema)
	insert(t, db, "x")
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	contexts := map[string]context.Context{"WithCancel": parent, "foreign": foreignContext{parent}}
	for name, call := range map[string]func(context.Context){
		"One":  func(ctx context.Context) { _, _ = sqlitex.One[int](ctx, db, `SELECT id FROM t`) },
		"Exec": func(ctx context.Context) { _, _ = db.Exec(ctx, `UPDATE t SET v = 'y'`) },
		"Read": func(ctx context.Context) { _ = db.Read(ctx, func(*tx.Reader) error { return nil }) },
	} {
		base := testing.AllocsPerRun(200, func() { call(context.Background()) })
		for kind, ctx := range contexts {
			before := runtime.NumGoroutine()
			allocations := testing.AllocsPerRun(200, func() { call(ctx) })
			assert.LessOrEqual(t, allocations, base, "%s under a context of kind %s", name, kind)
			assert.LessOrEqual(t, settledGoroutines(before), before, "%s under a context of kind %s", name, kind)
		}
	}
	during := make(chan int, 1)
	before := runtime.NumGoroutine()
	require.NoError(t, db.Read(foreignContext{parent}, func(r *tx.Reader) error {
		_, err := tx.One[int](r, `SELECT 1`)
		during <- runtime.NumGoroutine()
		return err
	}))
	assert.LessOrEqual(t, <-during, before+1, "a timer may be firing")
}

// settledGoroutines counts the goroutines once there are not more than wanted; timers of the handle may just be firing.
func settledGoroutines(wanted int) (n int) {
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if n = runtime.NumGoroutine(); n <= wanted {
			return n
		}
	}
	return n
}

func TestReaderAndWriterPassTheirContextOn(t *testing.T) {
	t.Parallel()
	type key struct{}
	db := dbtest.Open(t, nil, schema)
	ctx := context.WithValue(t.Context(), key{}, "value")
	require.NoError(t, db.Read(ctx, func(r *tx.Reader) error { assert.Equal(t, "value", r.Context().Value(key{})); return nil }))
	require.NoError(t, db.Write(ctx, func(w *tx.Writer) error { assert.Equal(t, "value", w.Context().Value(key{})); return nil }))
}
