// Package writer is the queue in front of the one connection that writes: first in, first out, every wait bounded, and
// an error that says who has the writer.
package writer

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanelite/sanelite/internal/goroutine"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Queue hands the writer from one caller to the next. Its zero value is ready for use.
type Queue struct {
	// Holder describes who has the writer; it may be nil, and is set before the first Acquire.
	Holder func() string

	mu      sync.Mutex // guards all below; held for a few instructions only
	held    bool
	closed  bool
	drained chan struct{} // closed when the queue is closed and nobody holds the writer

	holder struct {
		since     time.Time
		goroutine uintptr
	}
	first, last *waiter
	crowded     atomic.Int32 // see Crowded
	stats       Stats
}

// Stats counts since the handle was opened.
type Stats struct {
	Queued      int           // callers that wait now
	Held        time.Duration // for how long the writer has been held; 0 when free
	Acquired    int64         // callers who got the writer, or their part done
	Waits       int64         // of these, how many had to wait
	WaitTotal   time.Duration
	WaitLongest time.Duration
	Commits     int64 // shared transactions committed, those of one caller included
	Callers     int64 // calls that they served
}

// waiter is one caller in the queue. Waiters are reused.
type waiter struct {
	prev, next *waiter
	queued     bool
	part       *Part         // nil: wants the writer for itself
	answer     chan answer   // capacity 1
	returned   chan struct{} // capacity 1
	timer      *time.Timer
	begun      bool  // counted: what it waits for now is the outcome
	gaveUp     error // its wait ended, but a leader had its part by then
}

// answer is what a waiter waits for.
type answer struct {
	turn Turn
	err  error
}

var waiters = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &waiter{answer: make(chan answer, 1), returned: make(chan struct{}, 1), timer: t}
}}

// Acquire waits for the writer, at most for limit (negative: as long as ctx lives). The caller must Release it.
func (q *Queue) Acquire(ctx context.Context, limit time.Duration) error {
	q.mu.Lock()
	w, err := q.tryAcquire()
	if w == nil {
		q.mu.Unlock()
		return err
	}
	q.push(w)
	q.mu.Unlock()
	_, err = q.wait(ctx, limit, w)
	return err
}

// TryAcquire takes the writer if it is free, and never waits. open is false when the queue is closed.
func (q *Queue) TryAcquire() (acquired, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held || q.closed {
		return false, !q.closed
	}
	q.held = true
	q.take()
	return true, true
}

// tryAcquire takes the writer if it is free. Otherwise it answers a waiter to be queued, or why waiting is useless. The caller
// holds mu.
func (q *Queue) tryAcquire() (*waiter, error) {
	switch {
	case q.closed:
		return nil, sqlerr.ErrClosed
	case !q.held:
		q.held = true
		q.stats.Acquired++
		q.take()
		return nil, nil
	case q.holder.goroutine != 0 && q.holder.goroutine == goroutine.ID():
		return nil, q.busy("the writer, which this goroutine itself holds (inside Write, use its w, and w.Savepoint)", 0)
	}
	return waiters.Get().(*waiter), nil
}

func (q *Queue) wait(ctx context.Context, limit time.Duration, w *waiter) (Turn, error) {
	start := time.Now()
	var expired <-chan time.Time
	if limit >= 0 {
		w.timer.Reset(limit)
		expired = w.timer.C
	}
	var err error
	select {
	case a := <-w.answer:
		return q.waited(w, start, a)
	case <-ctx.Done():
		err = ctx.Err()
	case <-expired:
	}
	q.mu.Lock()
	busy := q.busy("the writer", time.Since(start))
	if err != nil {
		busy = q.describe(sqlerr.NewContextBusy("the writer", time.Since(start), err))
	}
	if !q.remove(w) { // answered, or taken by a leader, in the meantime: that answer is the truth
		w.gaveUp = busy
		q.mu.Unlock()
		return q.waited(w, start, <-w.answer)
	}
	q.mu.Unlock()
	w.recycle()
	return Lead, busy
}

// waited ends a wait that was answered.
func (q *Queue) waited(w *waiter, start time.Time, a answer) (Turn, error) {
	q.mu.Lock()
	if !w.begun {
		took := time.Since(start)
		q.stats.Waits++
		q.stats.WaitTotal += took
		q.stats.WaitLongest = max(q.stats.WaitLongest, took)
		if w.begun = a.err == nil || a.turn == Done; w.begun {
			q.stats.Acquired++
		}
	}
	switch {
	case a.err != nil:
	case a.turn == Lead:
		q.take()
	case a.turn == Run:
		q.holder.goroutine = goroutine.ID()
		w.gaveUp = nil // it waits anew, for the outcome
	}
	q.mu.Unlock()
	if a.turn != Run { // otherwise there is an answer to come
		w.recycle()
	}
	return a.turn, a.err
}

// take notes who has the writer now.
func (q *Queue) take() {
	q.holder.since = time.Now()
	q.holder.goroutine = goroutine.ID()
}

// Release hands the writer to the one who waits longest.
func (q *Queue) Release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holder.goroutine = 0
	if w := q.first; w != nil {
		q.remove(w)
		w.answer <- answer{turn: Lead}
		return
	}
	q.held = false
	if q.closed {
		close(q.drained)
	}
}

// Close refuses new callers and those who wait. The channel is closed when nobody holds the writer any more.
func (q *Queue) Close() (drained <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return q.drained
	}
	q.closed = true
	q.drained = make(chan struct{})
	for w := q.first; w != nil; w = q.first {
		q.remove(w)
		w.answer <- answer{err: sqlerr.ErrClosed}
	}
	if !q.held {
		close(q.drained)
	}
	return q.drained
}

// HeldByMe reports whether the calling goroutine holds the writer; for diagnostics.
func (q *Queue) HeldByMe() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held && q.holder.goroutine != 0 && q.holder.goroutine == goroutine.ID()
}

// Stats returns the figures of this moment.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	for w := q.first; w != nil; w = w.next {
		s.Queued++
	}
	if q.held {
		s.Held = time.Since(q.holder.since)
	}
	return s
}

func (q *Queue) busy(what string, waited time.Duration) *sqlerr.BusyError {
	return q.describe(&sqlerr.BusyError{For: what, Waited: waited})
}

func (q *Queue) describe(e *sqlerr.BusyError) *sqlerr.BusyError {
	if q.held {
		e.Held = time.Since(q.holder.since)
		if e.Holder = "somebody"; q.Holder != nil {
			e.Holder = cmp.Or(q.Holder(), e.Holder)
		}
	}
	return e
}

func (q *Queue) push(w *waiter) {
	q.crowded.Store(crowdedFor)
	w.queued = true
	w.prev, w.next = q.last, nil
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
}

func (q *Queue) pushFirst(w *waiter) {
	w.queued = true
	w.prev, w.next = nil, q.first
	if q.first == nil {
		q.last = w
	} else {
		q.first.prev = w
	}
	q.first = w
}

// remove takes w out of the queue and reports whether it was still in it.
func (q *Queue) remove(w *waiter) bool {
	if !w.queued {
		return false
	}
	w.queued = false
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	return true
}

// recycle returns a waiter that is in no queue and whose channels are empty.
func (w *waiter) recycle() {
	w.timer.Stop()
	w.part, w.begun, w.gaveUp = nil, false, nil
	waiters.Put(w)
}
