package readers

import (
	"time"

	"github.com/sanelite/sanelite/internal/snapshot"
)

// armTick starts the timer that bounds the age of kept snapshots. It runs only while one may be kept.
func (p *Pool) armTick() {
	if !p.is(ticking) {
		p.clock.Store(int64(time.Since(p.start)))
		p.set(ticking, true)
		p.tick = time.AfterFunc(snapshot.Tick, p.onTick)
	}
}

func (p *Pool) onTick() {
	p.keep.Tick()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set(ticking, false) // before the look at the readers: a Put that this look misses sees it
	if p.is(closed) {
		return
	}
	// Readers in use look at the epoch themselves, but may be put, with a young snapshot, before the timer runs again.
	if p.giveUpSnapshots((*Reader).expired) {
		p.armTick()
	}
}

func (r *Reader) expired() bool { return r.Snapshot.Expired() }

// giveUpSnapshots closes those snapshots of free readers that which chooses, one system call each, and reports whether any may be left.
func (p *Pool) giveUpSnapshots(which func(*Reader) bool) (left bool) {
	busy := p.claimed(func(r *Reader) {
		if which(r) {
			r.Snapshot.GiveUp()
		}
		left = left || r.Snapshot.Kept()
	})
	return left || busy > 0
}

// SuspendSnapshots closes the snapshots of idle readers and lets none be kept until the returned function is called: the log
// can then start over as soon as the reads that run have ended.
func (p *Pool) SuspendSnapshots() (resume func()) {
	p.keep.Suspend()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.suspended++
	p.set(noneKept, true) // before the look at the readers, as in onTick
	p.giveUpSnapshots(func(*Reader) bool { return true })
	return func() {
		p.keep.Resume()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.suspended--
		p.set(noneKept, p.suspended > 0)
	}
}
