package writer_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/writer"
)

type entered struct {
	part *writer.Part
	turn chan writer.Turn
	err  chan error
}

// enter queues n parts, one after the other, behind whoever holds the writer.
func enter(t *testing.T, q *writer.Queue, n int, limit time.Duration) []entered {
	t.Helper()
	all := make([]entered, n)
	for i := range all {
		e := entered{part: &writer.Part{Context: context.Background()}, turn: make(chan writer.Turn, 1), err: make(chan error, 1)}
		all[i] = e
		go func() {
			turn, err := q.Enter(e.part.Context, limit, e.part)
			e.turn <- turn
			e.err <- err
		}()
		queued(t, q, i+1)
	}
	return all
}

func TestFirstToEnterLeads(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	turn, err := q.Enter(t.Context(), long, &writer.Part{Context: t.Context()})
	require.NoError(t, err)
	assert.Equal(t, writer.Lead, turn)
	assert.True(t, q.HeldByMe())
	assert.Nil(t, q.Next(), "nobody waits")
	q.Release()
}

func TestLeaderTakesPartsInOrderUpToOneThatMustBeAlone(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	require.NoError(t, q.Acquire(t.Context(), long))
	parts := enter(t, &q, 3, -1)
	exclusive := make(chan error, 1)
	go func() { exclusive <- q.Acquire(context.Background(), -1) }()
	queued(t, &q, 4)
	for i := range parts {
		require.Same(t, parts[i].part, q.Next())
	}
	assert.Nil(t, q.Next(), "a Write does not share")
	boom := errors.New("boom")
	parts[0].part.Finish(nil)
	parts[1].part.Finish(boom)
	require.NoError(t, <-parts[0].err)
	require.ErrorIs(t, <-parts[1].err, boom)
	assert.Equal(t, writer.Done, <-parts[0].turn)
	assert.Equal(t, writer.Done, <-parts[1].turn)

	// The last one is to be done again, alone, and before the Write that came after it.
	q.PutBack([]*writer.Part{parts[2].part})
	assert.Nil(t, q.Next())
	q.Release()
	assert.Equal(t, writer.Lead, <-parts[2].turn)
	require.NoError(t, <-parts[2].err)
	q.Release()
	require.NoError(t, <-exclusive)
	q.Release()
	<-q.Close()
}

func TestPartRunsOnTheGoroutineThatEntered(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	require.NoError(t, q.Acquire(t.Context(), long))
	p := &writer.Part{Context: t.Context()}
	ended := make(chan error, 1)
	go func() {
		turn, err := q.Enter(context.Background(), -1, p)
		if !assert.NoError(t, err) || !assert.Equal(t, writer.Run, turn) {
			return
		}
		assert.True(t, q.HeldByMe(), "it has the connection")
		p.Return()
		turn, err = q.Outcome(-1, p)
		assert.Equal(t, writer.Done, turn)
		ended <- err
	}()
	queued(t, &q, 1)
	require.Same(t, p, q.Next())
	q.Invoke(p)
	assert.True(t, q.HeldByMe(), "it has come back")
	p.Finish(nil)
	require.NoError(t, <-ended)
	q.Release()
}

func TestPartThatGaveUpBeforeItWasTakenIsNotDone(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	require.NoError(t, q.Acquire(t.Context(), long))
	ended := make(chan error)
	go func() {
		_, err := q.Enter(context.Background(), time.Millisecond, &writer.Part{Context: context.Background()})
		ended <- err
	}()
	require.ErrorIs(t, <-ended, sqlerr.ErrBusy)
	assert.Nil(t, q.Next())
	q.Release()
}

func TestCloseRefusesPartsThatWait(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	require.NoError(t, q.Acquire(t.Context(), long))
	parts := enter(t, &q, 2, -1)
	require.Same(t, parts[0].part, q.Next())
	drained := q.Close()
	require.ErrorIs(t, <-parts[1].err, sqlerr.ErrClosed)
	parts[0].part.Finish(nil)
	require.NoError(t, <-parts[0].err, "its work was begun, and committed")
	q.Release()
	<-drained
}

// A part that is undone is not to be waited for a second time by a caller who would not wait any longer.
func TestPutBackTellsThoseWhoGaveUpMeanwhile(t *testing.T) {
	t.Parallel()
	for _, began := range []bool{false, true} {
		var q writer.Queue
		require.NoError(t, q.Acquire(t.Context(), long))
		ctx, cancel := context.WithCancel(t.Context())
		p := &writer.Part{Context: ctx}
		ended := make(chan error, 1)
		go func() {
			turn, err := q.Enter(ctx, -1, p)
			if turn == writer.Run && err == nil {
				p.Return()
				_, err = q.Outcome(-1, p)
			}
			ended <- err
		}()
		queued(t, &q, 1)
		require.Same(t, p, q.Next())
		if began {
			q.Invoke(p)
		}
		cancel()
		for range 10_000 { // time enough for the caller to notice; otherwise it leaves the queue by itself
			runtime.Gosched()
		}
		q.PutBack([]*writer.Part{p})
		require.ErrorIs(t, <-ended, context.Canceled)
		queued(t, &q, 0)
		q.Release()
		<-q.Close()
	}
}

// The busy timeout counts again while a part waits to be done alone.
func TestPartThatIsPutBackWaitsNoLongerThanItsLimit(t *testing.T) {
	t.Parallel()
	var q writer.Queue
	require.NoError(t, q.Acquire(t.Context(), long))
	p := &writer.Part{Context: t.Context()}
	ended := make(chan error, 1)
	go func() {
		turn, err := q.Enter(p.Context, long, p)
		if turn == writer.Run && err == nil {
			p.Return()
			_, err = q.Outcome(time.Millisecond, p)
		}
		ended <- err
	}()
	queued(t, &q, 1)
	require.Same(t, p, q.Next())
	q.Invoke(p)
	q.PutBack([]*writer.Part{p})
	require.ErrorIs(t, <-ended, sqlerr.ErrBusy)
	q.Release()
	<-q.Close()
}
