package readers

import (
	"time"

	"github.com/sanelite/sanelite/internal/snapshot"
)

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

// Stats returns the figures of this moment.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	open := *p.open.Load()
	for _, r := range open {
		s.add(r)
	}
	s.Open, s.Max, s.Waiting = len(open), p.cfg.Max, len(p.waiting)
	s.InUse, s.Oldest = p.inUse()
	return s
}

// add adds what a reader has counted.
func (s *Stats) add(r *Reader) {
	u := r.Snapshot.Uses()
	s.Acquired += r.acquired.Load()
	s.Snapshots.Reused += u.Reused
	s.Snapshots.Survived += u.Survived
	s.Snapshots.Dropped += u.Dropped
}

// inUse counts the readers in use, and tells the age of the longest use.
func (p *Pool) inUse() (n int, oldest time.Duration) {
	now := time.Since(p.start)
	for _, r := range *p.open.Load() {
		if r.inUse() {
			n++
			oldest = max(oldest, now-time.Duration(r.since.Load()))
		}
	}
	return n, oldest
}
