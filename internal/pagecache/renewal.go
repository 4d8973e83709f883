package pagecache

import (
	"sync"
	"sync/atomic"

	"modernc.org/libc"
)

// Renewal lets the cache of one reader survive the renewal of its snapshot from A to B. The caller announces it before it
// begins the new read transaction. SQLite then clears the cache; the pages are only set aside. When the caller has learnt
// which pages differ between A and B it finishes: with their numbers, or by dropping everything, which is always right.
//
// Within one generation of the write-ahead log frames are only appended, and committed ones never change. So if A and B
// lie in the same generation, the pages that differ are exactly those whose frames stand between A's last and B's. All
// the conditions are checked in package snapshot, next to where A and B come from.
//
// It belongs to the goroutine that has the connection.
type Renewal struct {
	cache *cache // nil after SQLite destroyed it
	tls   *libc.TLS
}

// The cache of the main database of a connection is found by asking SQLite to clear it and watching which one is. The C
// stack (TLS) of the caller tells its own call apart from those of other goroutines.
var (
	seeking atomic.Bool
	search  struct {
		sync.Mutex            // held during a search
		others     sync.Mutex // guards the fields below against clearings by other goroutines
		tls        *libc.TLS
		found      []*cache
	}
	watched struct {
		sync.Mutex
		by map[*cache]*Renewal
	}
)

// Find returns a Renewal for the cache that clear clears, or nil: clear must make SQLite call xTruncate, on the given C
// stack, for that cache and for no other.
func Find(tls *libc.TLS, clear func()) *Renewal {
	if state != Surviving {
		return nil
	}
	search.Lock()
	defer search.Unlock()
	startSearch(tls)
	seeking.Store(true)
	clear()
	seeking.Store(false)
	found := startSearch(nil)
	if len(found) != 1 || found[0].watched {
		return nil
	}
	r := &Renewal{cache: found[0], tls: tls}
	r.cache.watched = true
	watched.Lock()
	defer watched.Unlock()
	if watched.by == nil {
		watched.by = map[*cache]*Renewal{}
	}
	watched.by[r.cache] = r
	return r
}

// startSearch looks for the caches cleared on a C stack, and returns what the search before it found.
func startSearch(tls *libc.TLS) (found []*cache) {
	search.others.Lock()
	defer search.others.Unlock()
	found = search.found
	search.tls, search.found = tls, nil
	return found
}

func seen(tls *libc.TLS, c *cache) {
	search.others.Lock()
	defer search.others.Unlock()
	if search.tls == tls {
		search.found = append(search.found, c)
	}
}

// forget cuts the tie before a cache is destroyed.
func forget(c *cache) {
	watched.Lock()
	defer watched.Unlock()
	watched.by[c].cache = nil
	delete(watched.by, c)
}

// Announce begins a renewal. What an earlier one, which was never finished, had set aside is dropped first.
func (r *Renewal) Announce() {
	if c := r.cache; c != nil {
		c.dropAside(r.tls)
		c.announced, c.cleared = true, 0
	}
}

// Cleared reports how often SQLite has cleared the cache since Announce.
func (r *Renewal) Cleared() int {
	if r.cache == nil {
		return 0
	}
	return r.cache.cleared
}

// TakeBack finishes a renewal by which the given pages changed, to a database of end pages.
func (r *Renewal) TakeBack(changed []uint32, end uint32) {
	if r.cache != nil {
		r.cache.takeBack(r.tls, changed, end)
	}
}

// Drop finishes a renewal, or whatever is left of one, by dropping all that is set aside.
func (r *Renewal) Drop() {
	if r.cache != nil {
		r.cache.dropAside(r.tls)
	}
}
