package sqlitex_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// Rule 6: one order for all, whatever is shared, repeated or refused.
func TestExecBatchAndWriteAreServedInTheOrderOfTheirArrival(t *testing.T) {
	t.Parallel()
	handles(t, nil, withRow, func(t *testing.T, db *sqlitex.DB) {
		for _, fails := range []string{`SELECT 1`, `INSERT INTO t (id) VALUES (1)`, orFail} {
			var calls []func() error
			var want []string
			for i := range 30 {
				v := fmt.Sprint(i)
				want = append(want, v)
				switch i % 5 {
				case 0, 1:
					calls = append(calls, adds(db, v))
				case 2:
					calls = append(calls, batches(db, func(w *tx.Writer) error { return addsIn(w, v) }))
				case 3:
					calls = append(calls, returns(db, `INSERT INTO t (v) VALUES (?) RETURNING id`, v))
				case 4:
					if i%2 == 0 {
						calls = append(calls, func() error {
							return db.Write(context.Background(), func(w *tx.Writer) error { return addsIn(w, v) })
						})
					} else {
						calls = append(calls, executes(db, `INSERT INTO t (v) VALUES (?) -- `+v, v))
					}
				}
				if i%7 == 3 {
					calls = append(calls, executes(db, fails))
				}
			}
			before := len(values(t, db))
			together(t, db, calls...)
			assert.Equal(t, want, values(t, db)[before:], fails)
		}
	})
}

// Rule 6: who does not want to wait any longer leaves the queue at once, from any place in it.
func TestACallerWhoseContextEndsInTheQueueLeavesItAndIsNotRun(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema, func(t *testing.T, db *sqlitex.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		never := func(*tx.Writer) error { t.Error("ran"); return nil }
		runs := 0
		leaving := []func() error{
			addsUnder(ctx, db, "never"),
			func() error { return db.Batch(ctx, never) },
			func() error { return db.Write(ctx, never) },
			func() error {
				_, err := sqlitex.ExecOne[int](ctx, db, `INSERT INTO t (v) VALUES ('never') RETURNING id`)
				return err
			},
		}
		var calls []func() error
		for _, call := range leaving {
			calls = append(calls, call, batchAdds(db, "x", &runs))
		}
		calls = append(calls, calls...)
		outcomes, goOn := queue(t, db, calls...)
		cancel()
		within(t, "at once", func() {
			for i := 0; i < len(calls); i += 2 {
				o := <-outcomes[i]
				require.ErrorIs(t, o.err, context.Canceled)
				require.NotErrorIs(t, o.err, sqlitex.ErrBusy)
			}
		})
		assert.Equal(t, len(calls)/2, db.Stats().Writer.Queued)
		n, callers := commits(db, func() {
			goOn()
			for i := 1; i < len(calls); i += 2 {
				succeeded(t, <-outcomes[i])
			}
		})
		assert.Equal(t, []int64{1, 8, 8}, []int64{n, callers, int64(runs)})
		assert.Len(t, values(t, db), 8)
	})
}

func TestTheBusyTimeoutBoundsTheWaitInTheQueue(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: 50 * time.Millisecond}, schema)
	release := holdWriter(t, db)
	for _, call := range []func() error{
		adds(db, "x"), returns(db, `SELECT 1`), batches(db, func(*tx.Writer) error { t.Error("ran"); return nil }),
	} {
		within(t, "50 ms", func() {
			busy := new(sqlitex.BusyError)
			require.ErrorAs(t, call(), &busy)
			assert.ErrorIs(t, busy, sqlitex.ErrBusy)
			assert.Equal(t, "the writer", busy.For)
			assert.Contains(t, busy.Holder, "helpers_test.go")
		})
	}
	release()
	assert.Empty(t, values(t, db))
}

// Rule 6: once the part has begun the answer is the truth, whatever has become of the context.
func TestTheEndOfAContextThatComesTooLateChangesNothing(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema, func(t *testing.T, db *sqlitex.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		outcomes := together(t, db,
			addsUnder(ctx, db, "leader"),
			addsUnder(ctx, db, "follower"),
			func() error { return db.Batch(ctx, func(w *tx.Writer) error { return addsIn(w, "batch") }) },
			batches(db, func(w *tx.Writer) error { cancel(); return nil }),
			addsUnder(ctx, db, "too late"),
			adds(db, "last"),
		)
		succeeded(t, outcomes[:4]...)
		require.ErrorIs(t, outcomes[4].err, context.Canceled)
		succeeded(t, outcomes[5])
		assert.Equal(t, []string{"leader", "follower", "batch", "last"}, values(t, db))
	})
}

// The part was undone with all others, and is not to be waited for a second time.
func TestAContextThatEndsWhileAllIsUndoneEndsTheCall(t *testing.T) {
	t.Parallel()
	handles(t, nil, withRow, func(t *testing.T, db *sqlitex.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		runs := 0
		cancels := batches(db, func(w *tx.Writer) error {
			cancel()
			for range 10_000 { // time enough for the callers to notice
				runtime.Gosched()
			}
			return addsIn(w, "x")
		})
		outcomes := together(t, db,
			adds(db, "leader"),
			addsUnder(ctx, db, "never"),
			func() error { return db.Batch(ctx, func(w *tx.Writer) error { runs++; return addsIn(w, "never") }) },
			cancels,
			executes(db, orFail),
			adds(db, "last"),
		)
		for _, i := range []int{1, 2} {
			require.ErrorIs(t, outcomes[i].err, context.Canceled)
		}
		require.ErrorIs(t, outcomes[4].err, tx.ErrUnique)
		succeeded(t, outcomes[0], outcomes[3], outcomes[5])
		assert.Equal(t, 1, runs)
		assert.Equal(t, []string{"there", "leader", "x", "last"}, values(t, db))
	})
}

// As in Write: what a function passes over under a context that has ended is not committed.
func TestABatchThatPassesOverTheEndOfItsContextIsNotCommitted(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, schema)
	runs := 0
	swallows := func() error {
		ctx, cancel := context.WithCancel(context.Background())
		return db.Batch(ctx, func(w *tx.Writer) error {
			require.NoError(t, addsIn(w, "half"))
			cancel()
			require.ErrorIs(t, addsIn(w, "other half"), context.Canceled)
			return nil
		})
	}
	require.ErrorIs(t, swallows(), context.Canceled)
	outcomes := together(t, db, swallows, adds(db, "x"), swallows, batchAdds(db, "x", &runs))
	require.ErrorIs(t, outcomes[0].err, context.Canceled)
	require.ErrorIs(t, outcomes[2].err, context.Canceled)
	succeeded(t, outcomes[1], outcomes[3])
	assert.Equal(t, 1, runs)
	assert.Equal(t, []string{"x", "x"}, values(t, db))
}

// Nobody starves, whoever else writes and how.
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: time.Minute}, schema)
	ways := []func() error{
		adds(db, "x"),
		batches(db, func(w *tx.Writer) error { return addsIn(w, "x") }),
		func() error {
			return db.Write(context.Background(), func(w *tx.Writer) error { return addsIn(w, "x") })
		},
		returns(db, `INSERT INTO t (v) VALUES ('x') RETURNING id`),
	}
	var all sync.WaitGroup
	var finished atomic.Int32
	served := make([]int, 4*len(ways))
	for i := range served {
		all.Go(func() {
			for finished.Load() < int32(len(served)) {
				if !assert.NoError(t, ways[i%len(ways)]()) {
					return
				}
				if served[i]++; served[i] == 50 {
					finished.Add(1)
				}
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range served {
		assert.GreaterOrEqual(t, n, 50)
		total += n
	}
	assert.Equal(t, total, count(t, db))
	s := db.Stats().Writer
	assert.Less(t, s.WaitLongest, 10*time.Second)
	t.Logf("%v, longest wait %v", served, s.WaitLongest)
}
