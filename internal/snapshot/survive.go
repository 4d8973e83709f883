package snapshot

import "github.com/sanelite/sanelite/internal/capi"

// The page cache of a reader survives the renewal of its snapshot from A to B under these conditions. Each was found by
// breaking a version without it.
//
//  1. The headers of A and B are known, not guessed: from sqlite3_snapshot_get, or whole and equal before and after.
//  2. The transaction of A was ended by a COMMIT that succeeded, after which none was left open: a statement or blob that
//     stays active keeps A although the header looks newer. After any error, and after others had the connection, A is unknown.
//  3. SQLite has cleared exactly this cache exactly once. Not at all: there is nothing to take back. Twice: drop.
//  4. B continues A in the same generation of the log, by a bounded number of frames (capi.WALIndex.Changed).
//  5. The log did not start over while the numbers of the changed pages were read (likewise).
//  6. A renewal that ends by an error or a panic gives nothing back, and a new one first drops what is still set aside.

// announce tells the cache that it is about to be cleared by a renewal of ours.
func (s *Snapshot) announce(known bool) {
	switch {
	case s.cache == nil:
	case known:
		s.cache.Announce()
	default:
		s.cache.Drop()
	}
}

// takeBack gives the cache what has not changed since the snapshot with header a.
func (s *Snapshot) takeBack(a *capi.Header) {
	if s.cache == nil || s.cache.Cleared() == 0 {
		return
	}
	var ok bool
	if s.changed, ok = s.index.Changed(a, &s.header, s.changed[:0]); !ok || s.cache.Cleared() > 1 {
		count(&s.uses.dropped)
		return
	}
	s.cache.TakeBack(s.changed, s.header.Pages())
	count(&s.uses.survived)
}

// finish drops what was not taken back.
func (s *Snapshot) finish() {
	if s.cache != nil {
		s.cache.Drop()
	}
}
