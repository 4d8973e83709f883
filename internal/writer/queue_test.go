package writer_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/writer"
)

const long = time.Minute

// queued waits until n callers wait.
func queued(t *testing.T, q *writer.Queue, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return q.Stats().Queued == n }, 20*time.Second, 50*time.Microsecond)
}

func TestFreeWriterIsHandedOutAtOnce(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	require.NoError(t, q.Acquire(t.Context(), 0))
	assert.True(t, q.HeldByMe())
	q.Release()
	assert.False(t, q.HeldByMe())
	s := q.Stats()
	assert.EqualValues(t, 1, s.Acquired)
	assert.Zero(t, s.Waits)
	assert.Zero(t, s.Held)
}

func TestWaitersAreServedFirstInFirstOut(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	require.NoError(t, q.Acquire(t.Context(), long))
	const n = 50
	order := make(chan int, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			assert.NoError(t, q.Acquire(context.Background(), long))
			order <- i
			q.Release()
		})
		queued(t, &q, i+1)
	}
	q.Release()
	all.Wait()
	for i := range n {
		require.Equal(t, i, <-order)
	}
	s := q.Stats()
	assert.EqualValues(t, n+1, s.Acquired)
	assert.EqualValues(t, n, s.Waits)
	assert.GreaterOrEqual(t, s.WaitTotal, s.WaitLongest)
}

func TestHolderIsToldApartFromOthers(t *testing.T) {
	t.Parallel()
	q := writer.Queue{Holder: func() string { return "main.go:7" }}
	require.NoError(t, q.Acquire(t.Context(), long))
	err := q.Acquire(t.Context(), long)
	require.ErrorIs(t, err, sqlerr.ErrBusy)
	require.ErrorContains(t, err, "this goroutine itself")
	require.ErrorContains(t, err, "main.go:7")

	other := make(chan error)
	go func() {
		assert.False(t, q.HeldByMe())
		other <- q.Acquire(context.Background(), time.Millisecond)
	}()
	err = <-other
	require.ErrorIs(t, err, sqlerr.ErrBusy)
	busy := new(sqlerr.BusyError)
	require.ErrorAs(t, err, &busy)
	assert.Equal(t, "the writer", busy.For)
	assert.Equal(t, "main.go:7", busy.Holder)
	assert.GreaterOrEqual(t, busy.Held, busy.Waited)
	q.Release()
}

func TestWaiterLeavesWithItsContextFromAnyPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	for leaver := range 3 {
		var q writer.Queue
		require.NoError(t, q.Acquire(t.Context(), long))
		ctx, cancel := context.WithCancel(t.Context())
		results := make([]chan error, 3)
		order := make(chan int, 3)
		for i := range results {
			results[i] = make(chan error, 1)
			mine := context.Background()
			if i == leaver {
				mine = ctx
			}
			go func() {
				err := q.Acquire(mine, -1)
				results[i] <- err
				if err == nil {
					order <- i
					q.Release()
				}
			}()
			queued(t, &q, i+1)
		}
		cancel()
		err := <-results[leaver]
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, sqlerr.ErrBusy)
		queued(t, &q, 2)
		q.Release()
		before := -1
		for range 2 {
			next := <-order
			assert.Greater(t, next, before, "the others keep their order")
			before = next
		}
	}
}

func TestCloseRefusesAllButTheHolder(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	require.NoError(t, q.Acquire(t.Context(), long))
	waits := make(chan error, 2)
	for i := range 2 {
		go func() { waits <- q.Acquire(context.Background(), -1) }()
		queued(t, &q, i+1)
	}
	drained := q.Close()
	assert.Equal(t, drained, q.Close(), "again")
	require.ErrorIs(t, <-waits, sqlerr.ErrClosed)
	require.ErrorIs(t, <-waits, sqlerr.ErrClosed)
	require.ErrorIs(t, q.Acquire(t.Context(), long), sqlerr.ErrClosed)
	select {
	case <-drained:
		require.Fail(t, "the writer is still held")
	default:
	}
	q.Release()
	<-drained

	var free writer.Queue
	<-free.Close()
}

// Cancellations, limits and grants meet at random. The writer is never with two, and never lost.
func TestGrantsAndCancellationsNeverLoseTheWriter(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	var holders, granted, refused atomic.Int64
	var all sync.WaitGroup
	rounds := 2000
	if testing.Short() {
		rounds = 300
	}
	for i := range 16 {
		all.Go(func() {
			for range rounds {
				ctx, cancel := context.WithCancel(context.Background())
				limit := time.Duration(-1)
				switch i % 4 {
				case 0:
					limit = rand.N(20 * time.Microsecond)
				case 1:
					go cancel()
				case 2:
					time.AfterFunc(rand.N(20*time.Microsecond), cancel)
				}
				if err := q.Acquire(ctx, limit); err != nil {
					refused.Add(1)
					if i%4 == 3 {
						assert.NoError(t, err, "nothing ends this one's wait")
					}
				} else {
					if holders.Add(1) != 1 {
						assert.Fail(t, "two have the writer")
					}
					granted.Add(1)
					holders.Add(-1)
					q.Release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	t.Logf("%d granted, %d refused", granted.Load(), refused.Load())
	s := q.Stats()
	assert.Zero(t, s.Queued)
	assert.Zero(t, s.Held)
	assert.Equal(t, granted.Load(), s.Acquired)
	require.NoError(t, q.Acquire(t.Context(), 0), "it is free")
	q.Release()
	<-q.Close()
}

func TestCloseMeetsGrantsAndCancellations(t *testing.T) {
	t.Parallel()
	for range 100 {
		var q writer.Queue
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if i%2 == 0 {
					go cancel()
				}
				for q.Acquire(ctx, -1) == nil {
					q.Release()
					if ctx.Err() != nil {
						return
					}
				}
			})
		}
		<-q.Close()
		all.Wait()
		require.ErrorIs(t, q.Acquire(t.Context(), -1), sqlerr.ErrClosed)
	}
}

func TestWaitingAllocatesNothing(t *testing.T) {
	var q writer.Queue
	n := testing.AllocsPerRun(100, func() {
		if err := q.Acquire(context.Background(), long); err != nil {
			t.Error(err)
		}
		q.Release()
	})
	assert.Zero(t, n)
}
