package tx_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

func TestOnCommitRunsInOrderOfRegistrationAfterTheCommit(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	var order []int
	note := func(n int) func() {
		return func() {
			order = append(order, n)
			assert.Equal(t, []int64{1}, ints(t, db, `SELECT id FROM t`), "not committed yet")
		}
	}
	write(t, db, func(w *tx.Writer) error {
		w.OnCommit(note(1))
		require.NoError(t, w.Savepoint(func(inner *tx.Writer) error {
			inner.OnCommit(note(2))
			w.OnCommit(note(3)) // the outer Writer, inside the savepoint
			return inner.Savepoint(func(w *tx.Writer) error { w.OnCommit(note(4)); return nil })
		}))
		require.NoError(t, insert(t, w, 1, nil))
		w.OnCommit(note(5))
		assert.Empty(t, order)
		return nil
	})
	assert.Equal(t, []int{1, 2, 3, 4, 5}, order)
}

func TestOnCommitIsForgottenWithItsSavepoint(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	var order []int
	note := func(n int) func() { return func() { order = append(order, n) } }
	write(t, db, func(w *tx.Writer) error {
		w.OnCommit(note(1))
		_ = w.Savepoint(func(w *tx.Writer) error {
			w.OnCommit(note(-1))
			_ = w.Savepoint(func(w *tx.Writer) error { w.OnCommit(note(-2)); return nil })
			return errTest
		})
		w.OnCommit(note(2))
		assert.Panics(t, func() { _ = w.Savepoint(func(w *tx.Writer) error { w.OnCommit(note(-3)); panic("boom") }) })
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = w.Savepoint(func(w *tx.Writer) error { w.OnCommit(note(-4)); runtime.Goexit(); return nil })
		}()
		<-done
		w.OnCommit(note(3))
		return nil
	})
	assert.Equal(t, []int{1, 2, 3}, order)
}

func TestOnCommitMayWriteAgain(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		w.OnCommit(func() {
			assert.NoError(t, db.Write(bg, func(w *tx.Writer) error {
				w.OnCommit(func() { _, err := db.Exec(bg, `INSERT INTO t (id) VALUES (3)`); assert.NoError(t, err) })
				return insert(t, w, 2, nil)
			}))
			assert.Equal(t, []int64{1, 2, 3}, ints(t, db, `SELECT id FROM t`))
		})
		return insert(t, w, 1, nil)
	})
	holds(t, db, 1, 2, 3)
}

func TestAPanicInOnCommitPassesThroughWithTheWriterFree(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	id := int64(0)
	for what, how := range leave {
		id++
		recovered, returned := outcome(func() {
			_ = db.Write(bg, func(w *tx.Writer) error {
				w.OnCommit(how.do)
				return insert(t, w, int(id), nil)
			})
		})
		assert.False(t, returned, what)
		how.check(t, recovered)
		assert.Equal(t, []int64{id}, ints(t, db, `SELECT max(id) FROM t`), "it was committed")
	}
	holds(t, db, 1, 2, 3, 4, 5, 6)
}

func TestOnCommitDoesNotRunWhenTheContextEndedInTime(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	ctx, cancel := context.WithCancel(bg)
	err := db.Write(ctx, func(w *tx.Writer) error {
		w.OnCommit(func() { t.Error("ran") })
		cancel()
		w.OnCommit(func() { t.Error("ran") })
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestOnCommitAfterTheEndIsNeverRun(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	var late []*tx.Writer
	write(t, db, func(w *tx.Writer) error {
		late = append(late, w)
		return w.Savepoint(func(w *tx.Writer) error { late = append(late, w); return nil })
	})
	write(t, db, func(*tx.Writer) error {
		for _, w := range late {
			w.OnCommit(func() { t.Error("ran") })
		}
		return nil
	})
	_, err := sqlitex.One[int64](bg, db, `SELECT 1`)
	require.NoError(t, err)
}

// A goroutine that goes on registering while fn returns: its functions run, or do not, but nothing is torn.
func TestOnCommitWhileTheFunctionReturns(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	for range 30 {
		var wg sync.WaitGroup
		ran, sure := 0, make(chan struct{})
		write(t, db, func(w *tx.Writer) error {
			wg.Go(func() {
				for i := 0; ; i++ {
					w.OnCommit(func() { ran++ })
					if i == 10 {
						close(sure)
					}
					if _, err := w.Exec(`SELECT 1`); err != nil {
						assert.ErrorIs(t, err, tx.ErrTxDone)
						return
					}
				}
			})
			<-sure
			return nil
		})
		assert.GreaterOrEqual(t, ran, 11)
		wg.Wait()
	}
}
