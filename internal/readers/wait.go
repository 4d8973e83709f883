package readers

import (
	"context"
	"time"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

// serve gives readers that are free to those who wait, in order.
func (p *Pool) serve() {
	p.claimed(func(r *Reader) {
		if ch := p.next(); ch != nil {
			r.owner.Store(nobody) // until whoever it is has received it
			r.lent(p.now())
			ch <- r
		}
	})
}

// freed lets the next waiter try again: a place in the pool has become free.
func (p *Pool) freed() {
	if ch := p.next(); ch != nil {
		ch <- nil
	}
	p.finishIfDrained()
}

func (p *Pool) next() chan *Reader {
	if len(p.waiting) == 0 {
		return nil
	}
	ch := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	p.set(othersWait, len(p.waiting) > 0)
	return ch
}

func (p *Pool) forget(ch chan *Reader) bool {
	for i, c := range p.waiting {
		if c == ch {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			p.set(othersWait, len(p.waiting) > 0)
			return true
		}
	}
	return false
}

// wait returns a reader, an error, or neither when it is worth trying again.
func (p *Pool) wait(ctx context.Context, ch chan *Reader, begin time.Time) (*Reader, error) {
	var expired <-chan time.Time
	if p.cfg.Limit >= 0 {
		t := time.NewTimer(p.cfg.Limit - time.Since(begin))
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
	e := &sqlerr.BusyError{For: "a reader", Waited: time.Since(begin)}
	if cause != nil {
		e = sqlerr.NewContextBusy("a reader", time.Since(begin), cause)
	}
	e.Readers, e.Oldest = p.inUse()
	return nil, e
}

// received notes that a reader given by another goroutine has arrived; nil was only a chance to try again.
func (p *Pool) received(r *Reader) *Reader {
	if r != nil {
		p.stats.Waits++
		r.last.Store(me())
		r.owner.Store(me())
	}
	return r
}
