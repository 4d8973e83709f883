// Package writer is the queue in front of the one connection that writes: first in, first out, every wait bounded, and
// an error that says who has the writer.
package writer

import (
	"cmp"
	"context"
	"sync"
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
	stats       Stats
}

// Stats counts since the handle was opened.
type Stats struct {
	Queued      int           // callers that wait now
	Held        time.Duration // for how long the writer has been held; 0 when free
	Acquired    int64         // times the writer was handed out
	Waits       int64         // of these, how many had to wait
	WaitTotal   time.Duration
	WaitLongest time.Duration
}

// waiter is one caller in the queue. Waiters are reused.
type waiter struct {
	prev, next *waiter
	granted    chan error // capacity 1: nil hands the writer over
	timer      *time.Timer
}

var waiters = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &waiter{granted: make(chan error, 1), timer: t}
}}

// Acquire waits for the writer, at most for limit (negative: as long as ctx lives). The caller must Release it.
func (q *Queue) Acquire(ctx context.Context, limit time.Duration) error {
	q.mu.Lock()
	switch {
	case q.closed:
		q.mu.Unlock()
		return sqlerr.ErrClosed
	case !q.held:
		q.held = true
		q.stats.Acquired++
		q.take()
		q.mu.Unlock()
		return nil
	case q.holder.goroutine != 0 && q.holder.goroutine == goroutine.ID():
		err := q.busy("the writer, which this goroutine itself holds", 0)
		q.mu.Unlock()
		return err
	}
	w := waiters.Get().(*waiter)
	q.push(w)
	q.mu.Unlock()
	return q.wait(ctx, limit, w)
}

func (q *Queue) wait(ctx context.Context, limit time.Duration, w *waiter) error {
	start := time.Now()
	var expired <-chan time.Time
	if limit >= 0 {
		w.timer.Reset(limit)
		expired = w.timer.C
	}
	var err error
	select {
	case err = <-w.granted:
		return q.waited(w, start, err)
	case <-ctx.Done():
		err = ctx.Err()
	case <-expired:
	}
	q.mu.Lock()
	if !q.remove(w) { // granted in the meantime: the writer is ours, whatever else happened
		q.mu.Unlock()
		return q.waited(w, start, <-w.granted)
	}
	busy := q.busy("the writer", time.Since(start))
	if err != nil {
		busy = q.describe(sqlerr.NewContextBusy("the writer", time.Since(start), err))
	}
	q.mu.Unlock()
	w.recycle()
	return busy
}

// waited ends a wait that was answered.
func (q *Queue) waited(w *waiter, start time.Time, err error) error {
	w.recycle()
	if err != nil {
		return err
	}
	took := time.Since(start)
	q.mu.Lock()
	q.stats.Acquired++
	q.stats.Waits++
	q.stats.WaitTotal += took
	q.stats.WaitLongest = max(q.stats.WaitLongest, took)
	q.take()
	q.mu.Unlock()
	return nil
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
		w.granted <- nil
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
		w.granted <- sqlerr.ErrClosed
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
	w.prev, w.next = q.last, nil
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
}

// remove takes w out of the queue and reports whether it was still in it.
func (q *Queue) remove(w *waiter) bool {
	if w.prev == nil && q.first != w {
		return false
	}
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

// recycle returns a waiter that is in no queue and whose channel is empty.
func (w *waiter) recycle() {
	w.timer.Stop()
	waiters.Put(w)
}
