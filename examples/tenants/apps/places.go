package apps

import (
	"context"
	"fmt"
	"log/slog"
)

// takePlace waits until the caller may open a database: there is room for another, or one that nobody uses is closed for it,
// the least recently used first. An app that is used without a gap is never closed.
func (r *Registry) takePlace(ctx context.Context) error {
	r.mu.Lock()
	if r.places < r.opts.MaxOpen {
		r.places++
		r.mu.Unlock()
		return nil
	}
	if a := r.leastRecentlyUsed(); a != nil {
		r.startClose(a)
		r.counters.Evictions++
		r.mu.Unlock()
		r.finishClose(a) // its place is the caller's now
		return nil
	}
	r.counters.Waits++
	turn := make(chan *app, 1)
	waiting := r.waiting.PushBack(turn)
	r.mu.Unlock()

	var err error
	select {
	case a := <-turn:
		r.inherit(a)
		return nil
	case <-ctx.Done():
		err = fmt.Errorf("apps: all %d databases that may be open are in use: %w", r.opts.MaxOpen, ctx.Err())
	case <-r.closing:
		err = ErrClosed
	}
	r.mu.Lock()
	r.waiting.Remove(waiting) // does nothing where the turn has come meanwhile
	r.mu.Unlock()
	select {
	case a := <-turn:
		r.inherit(a)
		r.freePlace()
	default:
	}
	return err
}

// inherit takes the place over: from an app that is to be closed first, or from nobody.
func (r *Registry) inherit(a *app) {
	if a != nil {
		r.finishClose(a)
	}
}

// freePlace gives a place to who waits longest, if there is somebody.
func (r *Registry) freePlace() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.handOver(nil) {
		r.places--
	}
}

// offer closes an app that nobody uses any more if somebody waits for its place. The caller holds mu.
func (r *Registry) offer(a *app) {
	if r.waiting.Len() > 0 {
		r.startClose(a)
		r.counters.Evictions++
		r.handOver(a)
	}
}

func (r *Registry) handOver(a *app) bool {
	first := r.waiting.Front()
	if first == nil {
		return false
	}
	r.waiting.Remove(first).(chan *app) <- a
	return true
}

// leastRecentlyUsed returns an app that nobody uses, or nil. The caller holds mu.
func (r *Registry) leastRecentlyUsed() *app {
	for e := r.open.Front(); e != nil; e = e.Next() {
		if a := e.Value.(*app); a.users == 0 && a.state == isOpen {
			return a
		}
	}
	return nil
}

// startClose makes others wait for finishClose. The caller holds mu, nobody uses the app.
func (r *Registry) startClose(a *app) {
	a.state, a.left = isClosing, make(chan struct{})
	r.open.Remove(a.place)
}

// finishClose closes the database. The place goes on to who called startClose, or to whom that gave the app.
func (r *Registry) finishClose(a *app) {
	if err := a.db.Close(); err != nil {
		r.opts.Logger.Error("closing an app", "app", a.name, "error", err)
	}
	r.mu.Lock()
	delete(r.apps, a.name)
	close(a.left)
	r.counters.Closes++
	r.mu.Unlock()
	r.opts.Logger.LogAttrs(context.Background(), slog.LevelDebug, "app closed", slog.String("app", a.name))
}
