package writer

import (
	"context"
	"time"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/goroutine"
)

// Work is what a caller wants done on the connection that writes.
type Work interface {
	Do(c *conn.Conn) error
}

// Part is one caller's share in a transaction with others. Enter queues it. It is used for one call at a time, and may be
// reused after that.
type Part struct {
	// Work is done by the leader of the transaction on its own goroutine. Where it is nil the work is done on the goroutine
	// that entered, when Enter answers Run.
	Work Work

	// Context is that of the caller.
	Context context.Context

	// Alone says that the part must not share: it cannot, or it was in a shared transaction that failed as a whole.
	Alone bool

	// Err is how the work ended. Whether that counts, the end of the transaction decides.
	Err error

	waiter *waiter
}

// Turn is what Enter answers.
type Turn int

const (
	Lead Turn = iota // the caller has the writer: it opens a transaction, does its own part and those of Next, and Releases
	Run              // the caller does its part on the connection now, calls Return, and then Outcome
	Done             // the leader has done the part: see Outcome
)

// Enter waits for the writer as Acquire does, or for another caller to do p with its own.
func (q *Queue) Enter(ctx context.Context, limit time.Duration, p *Part) (Turn, error) {
	q.mu.Lock()
	w, err := q.tryAcquire()
	if w == nil {
		q.mu.Unlock()
		return Lead, err
	}
	w.part, p.waiter = p, w
	q.push(w)
	q.mu.Unlock()
	return q.wait(ctx, limit, w)
}

// Next takes the part of the caller that waits longest out of the queue, if it may be shared: the leader must do it, and Finish
// it or PutBack.
func (q *Queue) Next() *Part {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.first
	if w == nil || w.part == nil || w.part.Alone {
		return nil
	}
	q.remove(w)
	return w.part
}

// crowdedFor is how many transactions a queue counts as crowded after somebody has waited in it.
const crowdedFor = 64

// Crowded reports whether others have waited for the writer lately. It is asked once for each transaction.
func (q *Queue) Crowded() bool {
	left := q.crowded.Load()
	if left > 0 {
		q.crowded.Store(left - 1)
	}
	return left > 0
}

// PutBack returns parts, in their order, to the head of the queue, each to be done alone. Those whose callers would not wait
// any longer are told so.
func (q *Queue) PutBack(parts []*Part) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		if p.waiter.gaveUp != nil {
			p.waiter.answer <- answer{err: p.waiter.gaveUp}
			continue
		}
		p.Alone = true
		q.pushFirst(p.waiter)
	}
}

// Committed counts a commit that served n callers.
func (q *Queue) Committed(n int) {
	q.mu.Lock()
	q.stats.Commits++
	q.stats.Callers += int64(n)
	q.mu.Unlock()
}

// Invoke has the part done by the goroutine that entered it, and returns when it has called Return.
func (q *Queue) Invoke(p *Part) {
	p.waiter.answer <- answer{turn: Run}
	<-p.waiter.returned
	q.Moved()
}

// Moved notes that the writer has come to the calling goroutine, for diagnostics.
func (q *Queue) Moved() {
	q.mu.Lock()
	q.holder.goroutine = goroutine.ID()
	q.mu.Unlock()
}

// Return gives the connection back to the leader.
func (p *Part) Return() { p.waiter.returned <- struct{}{} }

// Outcome waits, after Return, for the end of the transaction. Done means that it was committed, Lead that it was undone as
// a whole and that p is to be done again. The wait for that has the bounds that Enter has.
func (q *Queue) Outcome(limit time.Duration, p *Part) (Turn, error) {
	return q.wait(p.Context, limit, p.waiter)
}

// Finish tells the caller of p how it ended.
func (p *Part) Finish(err error) { p.waiter.answer <- answer{turn: Done, err: err} }
