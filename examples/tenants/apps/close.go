package apps

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sanelite/sanelite/sqlitex"
)

// closeIdle is the one goroutine that a registry has.
func (r *Registry) closeIdle() {
	every := time.NewTicker(max(r.opts.Idle/4, time.Millisecond))
	defer every.Stop()
	for {
		select {
		case <-every.C:
			r.sweep(r.now().Add(-r.opts.Idle))
		case <-r.closing:
			return
		}
	}
}

// sweep closes what nobody has used since then, and returns how many those were.
func (r *Registry) sweep(since time.Time) (n int) {
	for ; ; n++ {
		a := r.unusedSince(since)
		if a == nil {
			return n
		}
		r.finishClose(a)
		r.freePlace()
		r.end()
	}
}

// unusedSince takes one app to be closed, which counts as a call.
func (r *Registry) unusedSince(since time.Time) *app {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.leastRecentlyUsed()
	if a == nil || a.lastUsed.After(since) || r.isClosed() {
		return nil
	}
	r.calls++
	r.startClose(a)
	return a
}

// closers is how many databases are closed at once: each waits for the disk, since what its log holds is synced then.
const closers = 8

// Close closes all databases. New calls answer ErrClosed from now on, and calls that wait for a place do, too; those that use a
// database are waited for. When ctx ends first, the statements that still run are interrupted, and the error of ctx is
// returned. A second Close waits for the first.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	first := !r.isClosed()
	if first {
		close(r.closing)
		if r.calls == 0 {
			close(r.drained)
		}
	}
	r.mu.Unlock()
	if !first {
		select {
		case <-r.closed:
			return r.closeErr
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	defer close(r.closed)
	select {
	case <-r.drained:
	case <-ctx.Done():
		r.closeErr = fmt.Errorf("apps: databases are still in use: %w", ctx.Err())
	}
	r.closeErr = errors.Join(r.closeErr, r.closeAll(ctx))
	r.janitor.Wait()
	return r.closeErr
}

func (r *Registry) closeAll(ctx context.Context) error {
	r.mu.Lock()
	r.abandoned = true // what is opened at this moment is closed by its user
	todo := make(chan *sqlitex.DB, r.open.Len())
	for e := r.open.Front(); e != nil; e = e.Next() {
		todo <- e.Value.(*app).db
	}
	close(todo)
	r.mu.Unlock()

	var workers sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range closers {
		workers.Go(func() {
			for db := range todo {
				err := db.CloseContext(ctx)
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return failed
}
