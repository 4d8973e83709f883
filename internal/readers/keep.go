package readers

import (
	"time"

	"github.com/sanelite/sanelite/internal/snapshot"
)

// boundAge sees to it that the snapshot of a reader that comes back does not outlive its time. SuspendSnapshots, which looks
// at idle readers only, may have been called since its owner decided to keep it.
func (p *Pool) boundAge(r *Reader) {
	switch {
	case r.Snapshot.Expired():
		r.Snapshot.GiveUp()
	case r.Snapshot.Kept():
		p.armTick()
	}
}

// armTick starts the timer that bounds the age of kept snapshots. It runs only while one may be kept.
func (p *Pool) armTick() {
	if p.tick == nil {
		p.tick, p.clock = time.AfterFunc(snapshot.Tick, p.onTick), time.Now()
	}
}

func (p *Pool) onTick() {
	p.keep.Tick()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick, p.clock = nil, time.Now()
	if p.closed {
		return
	}
	kept := len(p.out) > 0 // readers in use look at the epoch themselves
	for _, r := range p.idle {
		if r.Snapshot.Expired() {
			r.Snapshot.GiveUp() // one system call
		}
		kept = kept || r.Snapshot.Kept()
	}
	if kept {
		p.armTick()
	}
}

// SuspendSnapshots closes the snapshots of idle readers and lets none be kept until the returned function is called: the log
// can then start over as soon as the reads that run have ended.
func (p *Pool) SuspendSnapshots() (resume func()) {
	p.keep.Suspend()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.idle {
		r.Snapshot.GiveUp()
	}
	return p.keep.Resume
}
