// Package wait waits for locks that other connections and processes hold. SQLite's own wait sleeps in C and cannot be
// cancelled, so it is switched off around the statements that take locks, and the waiting is done here.
package wait

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

// The first retries come quickly, since most writers hold the lock for microseconds; the later ones are spread, so that
// several processes do not knock in step.
const (
	firstPause = 100 * time.Microsecond
	longPause  = 10 * time.Millisecond
)

// Lock calls try until it answers something else than busy, ctx ends, or limit has passed since the start; a negative
// limit leaves it to the context alone. what names the lock in the error.
func Lock(ctx context.Context, limit time.Duration, what string, try func() error) error {
	err := try()
	if err == nil || !sqlerr.IsBusy(err) {
		return err
	}
	start := time.Now()
	pause := firstPause
	timer := time.NewTimer(jitter(pause))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return sqlerr.NewContextBusy(what, time.Since(start), ctx.Err())
		case <-timer.C:
		}
		if err = try(); err == nil || !sqlerr.IsBusy(err) {
			return err
		}
		waited := time.Since(start)
		if limit >= 0 && waited >= limit {
			return &sqlerr.BusyError{For: what, Waited: waited, Err: err}
		}
		pause = min(pause*2, longPause)
		next := jitter(pause)
		if limit >= 0 {
			next = min(next, limit-waited)
		}
		timer.Reset(next)
	}
}

// jitter spreads d over its upper half.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
