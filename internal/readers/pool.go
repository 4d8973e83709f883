// Package readers is the pool of connections that read: opened when needed, taken and returned last in, first out so
// that warm caches are used, closed after a while of idleness.
package readers

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/goroutine"
	"github.com/sanelite/sanelite/internal/snapshot"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Reader is a connection of the pool with its snapshot.
type Reader struct {
	Conn     *conn.Conn
	Snapshot snapshot.Snapshot

	since     time.Time
	goroutine uintptr
	index     int // in Pool.out
	rested    int // sweeps since it was put
}

// New returns a reader around c that belongs to no pool and keeps no snapshot.
func New(c *conn.Conn) *Reader { return &Reader{Conn: c, Snapshot: snapshot.Of(c, nil)} }

// close closes the connection.
func (r *Reader) close() {
	r.Snapshot.GiveUp()
	_ = r.Conn.Close()
}

// Config says how large a pool may become.
type Config struct {
	Open  func(context.Context) (*conn.Conn, error)
	Max   int           // readers at most
	Limit time.Duration // bound of every wait; negative: the context's alone
	Idle  time.Duration // an idle reader is closed after this; negative: never
}

// Pool hands out readers.
type Pool struct {
	cfg  Config
	keep snapshot.Keep

	mu      sync.Mutex // guards all below; connections are opened and closed outside of it
	idle    []*Reader  // the last one was used last
	out     []*Reader
	opening int            // connections being opened
	closing int            // connections being closed
	waiting []chan *Reader // in order of arrival; nil means "try again"
	sweep   *time.Timer    // armed while readers are idle
	tick    *time.Timer    // armed while a snapshot may be kept
	clock   time.Time      // of the last tick, while it is armed: good enough for the age of a read
	closed  bool
	drained chan struct{} // closed when the pool is closed and all readers are back
	stats   Stats
}

// Stats counts since the handle was opened.
type Stats struct {
	Open     int // connections
	InUse    int
	Max      int
	Waiting  int           // callers that wait now
	Oldest   time.Duration // age of the longest use that is going on
	Acquired int64
	Waits    int64
	Opened   int64 // connections opened, replacements included

	Snapshots snapshot.Uses
	Keeping   bool // the last reader opened can keep snapshots
}

// NewPool returns an empty pool.
func NewPool(cfg Config) *Pool { return &Pool{cfg: cfg, drained: make(chan struct{})} }

// Get returns a reader that the caller must Put or Discard. It waits while all are in use.
func (p *Pool) Get(ctx context.Context) (*Reader, error) {
	var start time.Time
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, sqlerr.ErrClosed
		}
		if n := len(p.idle); n > 0 {
			r := p.takeIdle()
			p.lend(r)
			p.mu.Unlock()
			return r, nil
		}
		if len(p.out)+p.opening < p.cfg.Max {
			p.opening++
			p.mu.Unlock()
			return p.open(ctx)
		}
		ch := make(chan *Reader, 1)
		p.waiting = append(p.waiting, ch)
		p.mu.Unlock()
		if start.IsZero() {
			start = time.Now()
		}
		if r, err := p.wait(ctx, ch, start); r != nil || err != nil {
			return r, err
		}
	}
}

// takeIdle takes an idle reader: the one that this goroutine had last, whose pages may still be in the caches of its processor,
// else the one that was used last.
func (p *Pool) takeIdle() *Reader {
	at := len(p.idle) - 1
	for i, me := at, goroutine.ID(); i >= 0; i-- {
		if p.idle[i].goroutine == me {
			at = i
			break
		}
	}
	r := p.idle[at]
	p.idle = slices.Delete(p.idle, at, at+1)
	return r
}

// open makes a new reader, for which the caller has reserved a place.
func (p *Pool) open(ctx context.Context) (r *Reader, err error) {
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
	if err == nil && p.closed {
		_ = c.Close()
		err = sqlerr.ErrClosed
	}
	if err != nil {
		return nil, err
	}
	p.stats.Opened++
	r = &Reader{Conn: c, Snapshot: snapshot.Of(c, &p.keep)}
	p.stats.Keeping = r.Snapshot.Keeps()
	p.lend(r)
	return r, nil
}

// unlocked runs fn without the lock that the caller holds.
func (p *Pool) unlocked(fn func()) {
	p.mu.Unlock()
	defer p.mu.Lock()
	fn()
}

// wait returns a reader, an error, or neither when it is worth trying again.
func (p *Pool) wait(ctx context.Context, ch chan *Reader, start time.Time) (*Reader, error) {
	var expired <-chan time.Time
	if p.cfg.Limit >= 0 {
		t := time.NewTimer(p.cfg.Limit - time.Since(start))
		defer t.Stop()
		expired = t.C
	}
	var cause error
	select {
	case r := <-ch:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.received(r), nil
	case <-ctx.Done():
		cause = ctx.Err()
	case <-expired:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.forget(ch) { // answered meanwhile
		if r := <-ch; r != nil {
			return p.received(r), nil
		}
		p.freed() // the chance to try again goes to the next one
	}
	e := &sqlerr.BusyError{For: "a reader", Waited: time.Since(start)}
	if cause != nil {
		e = sqlerr.NewContextBusy("a reader", time.Since(start), cause)
	}
	e.Readers, e.Oldest = len(p.out), p.oldest()
	return nil, e
}

// received notes that a reader which another goroutine has put, and lent, has arrived; nil was only a chance to try again.
func (p *Pool) received(r *Reader) *Reader {
	if r != nil {
		p.stats.Waits++
		r.goroutine = goroutine.ID()
	}
	return r
}

// Put returns a reader to the pool.
func (p *Pool) Put(r *Reader) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.Discard(r)
		return
	}
	defer p.mu.Unlock()
	p.takeBack(r)
	u := r.Snapshot.TakeUses()
	p.stats.Snapshots.Reused += u.Reused
	p.stats.Snapshots.Survived += u.Survived
	p.stats.Snapshots.Dropped += u.Dropped
	p.boundAge(r)
	if ch := p.next(); ch != nil {
		p.lend(r)
		r.goroutine = 0 // not this one
		ch <- r
		return
	}
	r.rested = 0
	p.idle = append(p.idle, r)
	p.armSweep()
}

// Discard closes a reader that must not be used again; a later Get opens another.
func (p *Pool) Discard(r *Reader) {
	r.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takeBack(r)
	p.freed()
}

// freed lets the next waiter try again: a place in the pool has become free.
func (p *Pool) freed() {
	if ch := p.next(); ch != nil {
		ch <- nil
	}
	p.finishIfDrained()
}

// Close refuses new callers and those who wait, and closes what is idle. The channel is closed when all readers are back.
func (p *Pool) Close() (drained <-chan struct{}) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return p.drained
	}
	p.closed = true
	for _, t := range []*time.Timer{p.sweep, p.tick} {
		if t != nil {
			t.Stop()
		}
	}
	idle := p.idle
	p.idle = nil
	for ch := p.next(); ch != nil; ch = p.next() {
		ch <- nil
	}
	p.closing += len(idle)
	p.mu.Unlock()
	p.closeAll(idle)
	return p.drained
}

func (p *Pool) finishIfDrained() {
	if !p.closed || len(p.out)+p.opening+p.closing > 0 {
		return
	}
	select {
	case <-p.drained:
	default:
		close(p.drained)
	}
}

// HeldByMe reports whether the calling goroutine has a reader; for diagnostics.
func (p *Pool) HeldByMe() bool {
	me := goroutine.ID()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.out {
		if me != 0 && r.goroutine == me {
			return true
		}
	}
	return false
}

// Stats returns the figures of this moment.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Open, s.InUse, s.Max = len(p.idle)+len(p.out), len(p.out), p.cfg.Max
	s.Waiting, s.Oldest = len(p.waiting), p.oldest()
	return s
}

func (p *Pool) oldest() (age time.Duration) {
	for _, r := range p.out {
		age = max(age, time.Since(r.since))
	}
	return age
}

func (p *Pool) lend(r *Reader) {
	p.stats.Acquired++
	if p.tick == nil {
		p.clock = time.Now()
	}
	r.since, r.goroutine = p.clock, goroutine.ID()
	r.index = len(p.out)
	p.out = append(p.out, r)
}

func (p *Pool) takeBack(r *Reader) {
	last := len(p.out) - 1
	moved := p.out[last]
	p.out[r.index], moved.index = moved, r.index
	p.out[last] = nil
	p.out = p.out[:last]
}

func (p *Pool) next() chan *Reader {
	if len(p.waiting) == 0 {
		return nil
	}
	ch := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	return ch
}

func (p *Pool) forget(ch chan *Reader) bool {
	for i, c := range p.waiting {
		if c == ch {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// closeAll closes readers that have left the lists and were counted in closing.
func (p *Pool) closeAll(readers []*Reader) {
	for _, r := range readers {
		r.close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closing -= len(readers)
	p.finishIfDrained()
}
