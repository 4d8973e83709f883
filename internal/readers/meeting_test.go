package readers_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/readers"
)

// Gets, cancellations, discards and failing opens meet at random. No reader is with two, none is lost, and the limit holds.
func TestNothingIsLostWhateverMeets(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	o := &opener{before: func(context.Context) error {
		if rand.N(10) == 0 {
			return boom
		}
		return nil
	}}
	const limit = 3
	p := newPool(t, o, limit, long)
	var mu sync.Mutex
	inUse := map[*readers.Reader]bool{}
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			for range rounds {
				ctx, cancel := context.WithCancel(context.Background())
				if i%3 == 0 {
					time.AfterFunc(rand.N(50*time.Microsecond), cancel)
				}
				r, err := p.Get(ctx)
				if err == nil {
					mu.Lock()
					assert.False(t, inUse[r], "a reader is with two")
					inUse[r] = true
					assert.LessOrEqual(t, len(inUse), limit)
					mu.Unlock()
					runtime.Gosched()
					mu.Lock()
					delete(inUse, r)
					mu.Unlock()
					if rand.N(20) == 0 {
						p.Discard(r)
					} else {
						p.Put(r)
					}
				} else if !errors.Is(err, boom) {
					assert.ErrorIs(t, err, context.Canceled)
				}
				cancel()
			}
		})
	}
	all.Wait()
	s := p.Stats()
	assert.Zero(t, s.InUse)
	assert.Zero(t, s.Waiting)
	assert.LessOrEqual(t, s.Open, limit)
	o.before = nil
	for range limit { // all places are there
		r := get(t, p)
		defer p.Put(r)
	}
}

func TestIdleReadersAreClosed(t *testing.T) {
	t.Parallel()
	o := new(opener)
	p := readers.NewPool(readers.Config{Open: o.open, Max: 4, Limit: long, Idle: 5 * time.Millisecond})
	for range 3 {
		a, b := get(t, p), get(t, p)
		p.Put(a)
		require.Eventually(t, func() bool { return p.Stats().Open == 1 }, 20*time.Second, time.Millisecond, "one is out")
		p.Put(b)
		require.Eventually(t, func() bool { return p.Stats().Open == 0 }, 20*time.Second, time.Millisecond)
	}
	r := get(t, p)
	p.Put(r)
	<-p.Close()
	assert.Zero(t, p.Stats().Open)
}
