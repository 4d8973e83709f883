package readers_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/readers"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"
)

const long = time.Minute

var config = conn.Config{
	Path:       ":memory:",
	Flags:      sqlite.OpenReadWrite | sqlite.OpenMemory,
	Pragmas:    pragma.Config{JournalMode: pragma.JournalMemory},
	Statements: 1,
}

// opener opens connections, and counts them.
type opener struct {
	opened atomic.Int64
	before func(context.Context) error // runs first; may be nil
}

func (o *opener) open(ctx context.Context) (*conn.Conn, error) {
	if o.before != nil {
		if err := o.before(ctx); err != nil {
			return nil, err
		}
	}
	o.opened.Add(1)
	return conn.Open(ctx, &config)
}

func newPool(t *testing.T, o *opener, limit int, bound time.Duration) *readers.Pool {
	t.Helper()
	p := readers.NewPool(readers.Config{Open: o.open, Max: limit, Limit: bound, Idle: -1})
	t.Cleanup(func() { <-p.Close() })
	return p
}

func get(t testing.TB, p *readers.Pool) *readers.Reader {
	t.Helper()
	r, err := p.Get(t.Context())
	require.NoError(t, err)
	return r
}

func waiting(t *testing.T, p *readers.Pool, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return p.Stats().Waiting == n }, 20*time.Second, 50*time.Microsecond)
}

func TestReadersAreOpenedWhenNeededAndTheOldestGoesFirst(t *testing.T) {
	t.Parallel()
	o := new(opener)
	p := newPool(t, o, 3, long)
	a := get(t, p)
	b := get(t, p)
	p.Put(a)
	p.Put(b)
	assert.Same(t, a, get(t, p))
	assert.Same(t, b, get(t, p))
	assert.EqualValues(t, 2, o.opened.Load())
	p.Put(a)
	assert.Same(t, a, get(t, p))
	p.Put(a)
	p.Put(b)
	s := p.Stats()
	assert.Equal(t, 2, s.Open)
	assert.Zero(t, s.InUse)
	assert.EqualValues(t, 5, s.Acquired)
}

func TestWaitersGetReadersInTheOrderOfTheirArrival(t *testing.T) {
	t.Parallel()
	p := newPool(t, new(opener), 1, long)
	r := get(t, p)
	const n = 20
	order := make(chan int, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			r, err := p.Get(context.Background())
			assert.NoError(t, err)
			assert.True(t, p.HeldByMe(), "whoever put it is not the one who has it")
			order <- i
			p.Put(r)
			assert.False(t, p.HeldByMe())
		})
		waiting(t, p, i+1)
	}
	assert.True(t, p.HeldByMe())
	p.Put(r)
	all.Wait()
	for i := range n {
		require.Equal(t, i, <-order)
	}
	assert.EqualValues(t, n, p.Stats().Waits)
}

func TestWaitIsBound(t *testing.T) {
	t.Parallel()
	p := newPool(t, new(opener), 1, time.Millisecond)
	r := get(t, p)
	_, err := p.Get(t.Context())
	require.ErrorIs(t, err, sqlerr.ErrBusy)
	busy := new(sqlerr.BusyError)
	require.ErrorAs(t, err, &busy)
	assert.Equal(t, 1, busy.Readers)
	assert.GreaterOrEqual(t, busy.Oldest, busy.Waited)
	p.Put(r)

	p = newPool(t, new(opener), 1, -1)
	r = get(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() { _, err := p.Get(ctx); result <- err }()
	waiting(t, p, 1)
	cancel()
	err = <-result
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, sqlerr.ErrBusy)
	assert.Zero(t, p.Stats().Waiting)
	p.Put(r)
}

func TestDiscardMakesRoomForWhoWaits(t *testing.T) {
	t.Parallel()
	o := new(opener)
	p := newPool(t, o, 1, long)
	r := get(t, p)
	next := make(chan *readers.Reader)
	go func() {
		r, err := p.Get(context.Background())
		assert.NoError(t, err)
		next <- r
	}()
	waiting(t, p, 1)
	p.Discard(r)
	fresh := <-next
	assert.NotSame(t, r, fresh)
	assert.EqualValues(t, 2, o.opened.Load())
	p.Put(fresh)
}

// A connection that cannot be opened takes nobody's place, however it fails.
func TestOpenThatFailsLetsTheNextOneTry(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, fail := range map[string]func() error{
		"error":  func() error { return boom },
		"panic":  func() error { panic(boom) },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trying, proceed := make(chan struct{}), make(chan struct{})
			var tries atomic.Int32
			o := &opener{before: func(context.Context) error {
				if tries.Add(1) > 1 {
					return nil
				}
				close(trying)
				<-proceed
				return fail()
			}}
			p := newPool(t, o, 1, long)
			var failed sync.WaitGroup
			failed.Go(func() {
				defer func() { _ = recover() }()
				_, err := p.Get(context.Background())
				assert.ErrorIs(t, err, boom)
			})
			<-trying
			next := make(chan error)
			go func() {
				r, err := p.Get(context.Background())
				if err == nil {
					p.Put(r)
				}
				next <- err
			}()
			waiting(t, p, 1)
			close(proceed)
			require.NoError(t, <-next)
			failed.Wait()
			assert.Equal(t, 1, p.Stats().Open)
		})
	}
}

func TestCloseWaitsForReadersThatAreOutOrBeingOpened(t *testing.T) {
	t.Parallel()
	opening, proceed := make(chan struct{}), make(chan struct{})
	var tries atomic.Int32
	o := &opener{before: func(context.Context) error {
		if tries.Add(1) == 2 {
			close(opening)
			<-proceed
		}
		return nil
	}}
	p := newPool(t, o, 2, -1)
	out := get(t, p)
	results := make(chan error, 2)
	go func() { _, err := p.Get(context.Background()); results <- err }()
	<-opening
	go func() { _, err := p.Get(context.Background()); results <- err }()
	waiting(t, p, 1)

	drained := p.Close()
	assert.Equal(t, drained, p.Close())
	require.ErrorIs(t, <-results, sqlerr.ErrClosed, "the one who waits")
	_, err := p.Get(t.Context())
	require.ErrorIs(t, err, sqlerr.ErrClosed)
	p.Put(out)
	select {
	case <-drained:
		require.Fail(t, "a connection is still being opened")
	default:
	}
	close(proceed)
	require.ErrorIs(t, <-results, sqlerr.ErrClosed, "the one who opened")
	<-drained
	assert.Zero(t, p.Stats().Open)
}
