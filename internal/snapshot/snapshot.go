// Package snapshot holds the read transaction of a reader: what its statements see is one state of the database, which
// contains every commit that had succeeded before Acquire was called, in this process or another.
//
// Half of the cost of a small read is taking and dropping the read lock of the write-ahead log, two system calls. A snapshot
// is therefore kept open between uses and taken again while it is still the newest: as long as the header of the WAL-index
// in shared memory is word for word the one of the snapshot, nobody has committed. SQLite decides by the same comparison
// whether a new transaction has to look at anything anew.
package snapshot

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/pagecache"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"
)

// Snapshot is the read transaction of one connection. It is used by whoever has the connection.
type Snapshot struct {
	conn  *conn.Conn
	keep  *Keep
	index *capi.WALIndex // nil: the transaction is closed after every use

	open   bool
	header capi.Header // of the transaction that is open, or was last
	known  bool        // header is the truth about it, and about the page cache
	epoch  uint32      // of keep, when the transaction was begun

	cache   *pagecache.Renewal // nil: the page cache does not survive a renewal
	changed []uint32           // scratch

	uses counters
}

// Uses counts how snapshots were acquired, since the reader was opened.
type Uses struct {
	Reused   int64 // the one before was still current
	Survived int64 // a new one, and the page cache survived
	Dropped  int64 // a new one, and the page cache was dropped where it might have survived
}

// counters are what Uses tells.
type counters struct{ reused, survived, dropped atomic.Int64 }

// count is for the one goroutine that may, which needs no locked addition.
func count(n *atomic.Int64) { n.Store(n.Load() + 1) }

// Init makes s the snapshot of c, not yet taken. With a nil keep it is never kept.
//
// Keeping needs a write-ahead log in shared memory whose header covers all that c can see: not with
// locking_mode = EXCLUSIVE, which has no shared memory, and not with a second database attached.
func (s *Snapshot) Init(c *conn.Conn, keep *Keep) {
	s.conn, s.keep = c, keep
	if keep != nil && c.Pragmas().JournalMode == pragma.JournalWAL && c.OnlyMain() && c.SharesLocks() {
		if s.index = c.WALIndex(); s.index != nil {
			s.cache = c.Renewal()
		}
	}
}

// Acquire takes the newest snapshot. It waits for locks of other connections, bounded by ctx and the busy timeout. Until
// Release, statements end when ctx does.
func (s *Snapshot) Acquire(ctx context.Context) error {
	s.conn.SetContext(ctx)
	if s.current() {
		count(&s.uses.reused)
		return nil
	}
	s.GiveUp()
	s.conn.SetContext(ctx)
	if err := s.renew(ctx); err != nil {
		s.conn.ClearContext()
		return err
	}
	return nil
}

// current reports whether the transaction that is open may be used again: its header is known, still the newest, and
// not too old to go on pinning the log.
func (s *Snapshot) current() bool {
	return s.open && s.known && s.keep.fresh(s.epoch) && s.index.Is(&s.header)
}

func (s *Snapshot) renew(ctx context.Context) error {
	if s.index == nil {
		err := s.conn.BeginRead(ctx)
		s.open = err == nil
		return err
	}
	old, known := s.header, s.known
	s.known = false // until the end, whatever happens in between
	s.announce(known)
	defer s.finish() // nothing may stay set aside
	s.epoch = s.keep.now()
	before, okBefore := s.index.Load()
	if err := s.conn.BeginRead(ctx); err != nil {
		return err
	}
	s.open = true
	if s.header, s.known = s.conn.SnapshotHeader(); !s.known {
		// A log without a commit has no snapshot to ask for. Then the header counts if it was the same, and whole, before the
		// transaction began and after it had read.
		after, okAfter := s.index.Load()
		s.header, s.known = before, okBefore && okAfter && before == after && before.Valid()
	}
	if known && s.known {
		s.takeBack(&old)
	}
	return nil
}

// Release ends a use, which failed with err or succeeded. The transaction stays open if it may be kept.
func (s *Snapshot) Release(err error) {
	if s.index == nil || !s.known || s.conn.Autocommit() || s.keep.suspended() || err != nil && ofSQLite(err) {
		s.GiveUp()
		s.known = s.known && err == nil // after an error SQLite may have rolled back by itself
		return
	}
	s.conn.ClearContext()
}

func ofSQLite(err error) bool {
	var e *sqlerr.Error
	return errors.As(err, &e)
}

// GiveUp closes the transaction. What is known of it stays known, for the page cache is still that of its snapshot, unless
// something went wrong.
func (s *Snapshot) GiveUp() {
	if s.open {
		s.open = false
		s.known = s.conn.EndRead() && s.known
	}
	s.conn.ClearContext()
}

// Forget is for when others had the connection: nothing is known of its page cache any more.
func (s *Snapshot) Forget() { s.known = false }

// Kept reports whether a transaction is open between uses.
func (s *Snapshot) Kept() bool { return s.open }

// Uses may be called while another goroutine has the snapshot.
func (s *Snapshot) Uses() Uses {
	return Uses{s.uses.reused.Load(), s.uses.survived.Load(), s.uses.dropped.Load()}
}

// Keeps reports whether this snapshot can be kept at all.
func (s *Snapshot) Keeps() bool { return s.index != nil }

// Expired reports whether an open transaction has been kept for as long as it may.
func (s *Snapshot) Expired() bool { return s.open && !s.keep.fresh(s.epoch) }
