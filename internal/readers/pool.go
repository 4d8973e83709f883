// Package readers is the pool of connections that read: opened when needed, closed after a while of idleness. A goroutine that
// comes back finds the reader that it had last, whose pages are still in the caches of its processor, without a lock.
//
// Each reader has an owner, one word in memory. It is free, or somebody's; taking it is a compare-and-swap, giving it back a
// store. All else is done with the lock held: opening, closing, waiting, and whatever must look at all readers. Where the two
// meet, both follow one rule: first say what you want (a bit of Pool.state, or an owner that becomes free), then look at
// what the other has said. Whoever comes second sees the first, since atomic operations have one order in all goroutines.
package readers

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/snapshot"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Config says how large a pool may become.
type Config struct {
	Open  func(context.Context) (*conn.Conn, error)
	Max   int           // readers at most
	Limit time.Duration // bound of every wait; negative: the context's alone
	Idle  time.Duration // an idle reader is closed after this; negative: never
}

// Pool hands out readers.
type Pool struct {
	cfg   Config
	keep  snapshot.Keep
	start time.Time

	open  atomic.Pointer[[]*Reader] // the oldest first; replaced as a whole, with the lock held
	state atomic.Uint32             // changed with the lock held
	clock atomic.Int64              // nanoseconds since start, good enough for the age of a read; right while ticking

	mu        sync.Mutex     // guards all below; connections are opened and closed outside of it
	opening   int            // connections being opened
	closing   int            // connections being closed
	waiting   []chan *Reader // in order of arrival; nil means "try again"
	suspended int            // calls of SuspendSnapshots that have not been resumed
	sweep     *time.Timer    // armed while readers are open
	tick      *time.Timer    // armed while a snapshot may be kept
	drained   chan struct{}  // closed when the pool is closed and all readers are gone
	stats     Stats          // without what the open readers count themselves
}

// Bits of Pool.state.
const (
	ticking       uint32    = 1 << iota // the age of kept snapshots is bounded, and clock goes on
	othersWait                          // a reader that comes back is for the first of waiting
	noneKept                            // a reader that comes back must give up its snapshot
	closed                              // a reader that comes back must be closed
	nothingToHeed = ticking             // and nothing else
)

// NewPool returns an empty pool.
func NewPool(cfg Config) *Pool {
	p := &Pool{cfg: cfg, start: time.Now(), drained: make(chan struct{})}
	p.open.Store(new([]*Reader))
	return p
}

func (p *Pool) is(bit uint32) bool { return p.state.Load()&bit != 0 }

func (p *Pool) set(bit uint32, to bool) {
	if to {
		p.state.Or(bit)
	} else {
		p.state.And(^bit)
	}
}

// Get returns a reader that the caller must Put or Discard. It waits while all are in use.
func (p *Pool) Get(ctx context.Context) (*Reader, error) {
	me := me()
	if p.state.Load() == nothingToHeed {
		for _, r := range *p.open.Load() {
			// A pool that closes meanwhile has won r before us, or waits for it as for any other reader in use.
			if r.last.Load() == me && r.owner.CompareAndSwap(free, me) {
				r.lent(p.clock.Load())
				return r, nil
			}
		}
	}
	return p.get(ctx, me)
}

// yields is how often a caller lets other goroutines run before it queues. A read by key is shorter than a wake-up: once a few
// wait, each reader that comes back would go to one that sleeps, new callers would have to wait behind, and the queue would never
// end. With 8 goroutines and 4 readers nearly every read waited, and took 2.7 times as long.
const yields = 4

func (p *Pool) get(ctx context.Context, me uintptr) (*Reader, error) {
	var begin time.Time
	for tries := 0; ; tries++ {
		p.mu.Lock()
		if p.is(closed) {
			p.mu.Unlock()
			return nil, sqlerr.ErrClosed
		}
		if r := p.takeFree(me); r != nil {
			p.mu.Unlock()
			return r, nil
		}
		if len(*p.open.Load())+p.opening < p.cfg.Max {
			p.opening++
			p.mu.Unlock()
			return p.openOne(ctx, me)
		}
		if tries < yields {
			p.mu.Unlock()
			runtime.Gosched()
			continue
		}
		ch := make(chan *Reader, 1)
		p.waiting = append(p.waiting, ch)
		p.set(othersWait, true)
		p.serve() // what came back before its owner could see that
		p.mu.Unlock()
		if begin.IsZero() {
			begin = time.Now()
		}
		if r, err := p.wait(ctx, ch, begin); r != nil || err != nil {
			return r, err
		}
	}
}

// takeFree takes the reader that this goroutine had last, else the oldest one, whose page cache is the fullest; the youngest
// can so become idle. Those who wait go first.
func (p *Pool) takeFree(me uintptr) *Reader {
	if len(p.waiting) > 0 {
		return nil
	}
	open := *p.open.Load()
	for _, r := range open {
		if r.last.Load() == me && p.lend(r, me) {
			return r
		}
	}
	for _, r := range open {
		if p.lend(r, me) {
			return r
		}
	}
	return nil
}

// lend makes owner the owner of r, if it is free.
func (p *Pool) lend(r *Reader, owner uintptr) bool {
	if !r.owner.CompareAndSwap(free, owner) {
		return false
	}
	r.last.Store(owner)
	r.lent(p.now())
	return true
}

// now is the time since start, as exact as the age of a read needs it.
func (p *Pool) now() int64 {
	if !p.is(ticking) {
		p.clock.Store(int64(time.Since(p.start)))
	}
	return p.clock.Load()
}

// openOne makes a new reader, for which the caller has reserved a place.
func (p *Pool) openOne(ctx context.Context, me uintptr) (r *Reader, err error) {
	var c *conn.Conn
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { // also when the user's Setup panics
		p.opening--
		if r == nil {
			p.freed()
		}
	}()
	p.unlocked(func() { c, err = p.cfg.Open(ctx) })
	if err == nil && p.is(closed) {
		_ = c.Close()
		err = sqlerr.ErrClosed
	}
	if err != nil {
		return nil, err
	}
	p.stats.Opened++
	r = newReader(c, &p.keep)
	p.stats.Keeping = r.Snapshot.Keeps()
	p.lend(r, me)
	all := append(slices.Clone(*p.open.Load()), r)
	p.open.Store(&all)
	p.armSweep()
	return r, nil
}

// unlocked runs fn without the lock that the caller holds.
func (p *Pool) unlocked(fn func()) {
	p.mu.Unlock()
	defer p.mu.Lock()
	fn()
}

// Put returns a reader to the pool.
func (p *Pool) Put(r *Reader) {
	if r.Snapshot.Expired() {
		r.Snapshot.GiveUp()
	}
	kept := r.Snapshot.Kept()
	r.owner.Store(free)
	// It may be somebody else's from here on. What others asked for before it became free, they have seen.
	if state := p.state.Load(); state == nothingToHeed || state == 0 && !kept {
		return
	}
	p.heed(kept)
}

// heed does what the bits of state ask of whoever has put a reader. Another goroutine may have done it by now.
func (p *Pool) heed(kept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.is(closed) {
		p.closeFree(func(*Reader) bool { return true })
		return
	}
	if p.is(noneKept) {
		p.giveUpSnapshots(func(*Reader) bool { return true })
	}
	p.serve()
	if kept {
		p.armTick()
	}
}

// claimed runs fn on each reader that is free, which nobody can take meanwhile, and tells how many were not.
func (p *Pool) claimed(fn func(*Reader)) (busy int) {
	for _, r := range *p.open.Load() {
		if !r.owner.CompareAndSwap(free, itself) {
			busy++
			continue
		}
		fn(r)
		r.owner.CompareAndSwap(itself, free) // unless fn has given it to somebody
	}
	return busy
}

// Discard closes a reader that must not be used again; a later Get opens another.
func (p *Pool) Discard(r *Reader) {
	r.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(r)
	p.freed()
}

// remove takes a reader that has an owner off the list.
func (p *Pool) remove(r *Reader) {
	r.owner.Store(closing)
	p.stats.add(r)
	all := slices.DeleteFunc(slices.Clone(*p.open.Load()), func(other *Reader) bool { return other == r })
	p.open.Store(&all)
}

// HeldByMe reports whether the calling goroutine has a reader; for diagnostics.
func (p *Pool) HeldByMe() bool {
	me := me()
	return me != nobody && slices.ContainsFunc(*p.open.Load(), func(r *Reader) bool { return r.owner.Load() == me })
}
