package pagecache

import (
	"unsafe"

	"modernc.org/libc"

	"github.com/sanelite/sanelite/internal/cmem"
)

// cache holds the pages of one database of one connection. It lies in C memory and points only there.
type cache struct {
	pageSize, extraSize int32
	purgeable           bool // false for in-memory databases: their pages have no other home

	limit  uint32 // pages wanted at most, from PRAGMA cache_size
	pages  uint32
	idle   uint32 // of these, unpinned: in the list
	maxKey uint32 // no page has a higher number

	buckets  unsafe.Pointer // nBuckets pointers to pages
	nBuckets uint32         // a power of two

	list page // sentinel of the ring of unpinned pages; newer is the least recently used, older the most recently used

	aside
	watched bool // a Renewal belongs to this cache
}

const firstBuckets = 256

// newCache returns an empty cache, or nil when there is no memory.
func newCache(tls *libc.TLS, pageSize, extraSize int32, purgeable bool) *cache {
	m := libc.Xcalloc(tls, 1, uint64(unsafe.Sizeof(cache{})))
	if m == 0 {
		return nil
	}
	buckets := libc.Xcalloc(tls, firstBuckets, 8)
	if buckets == 0 {
		libc.Xfree(tls, m)
		return nil
	}
	c := cmem.At[cache](m)
	c.pageSize, c.extraSize, c.purgeable = pageSize, extraSize, purgeable
	c.buckets, c.nBuckets = cmem.Pointer(buckets), firstBuckets
	c.list.newer, c.list.older = &c.list, &c.list
	return c
}

func (c *cache) destroy(tls *libc.TLS) {
	if c.watched {
		forget(c)
	}
	c.truncate(tls, 0)
	libc.Xfree(tls, uintptr(c.buckets))
	libc.Xfree(tls, uintptr(unsafe.Pointer(c)))
}

// bucket is the head of the chain for key.
func (c *cache) bucket(key uint32) **page {
	return (**page)(unsafe.Add(c.buckets, uintptr(key&(c.nBuckets-1))*8))
}

func (c *cache) lookup(key uint32) *page {
	p := *c.bucket(key)
	for p != nil && p.key != key {
		p = p.next
	}
	return p
}

// fetch returns the page with the given number, pinned. If it is not there, create says what to do: 0 return nil, 1 make it
// unless most of the cache is pinned already, so that SQLite writes dirty pages out first, 2 make it if at all possible.
func (c *cache) fetch(tls *libc.TLS, key uint32, create int32) *page {
	if p := c.lookup(key); p != nil {
		if p.generation < c.oldest {
			return c.fetchAside(p, create)
		}
		c.pin(p)
		return p
	}
	if create == 0 || create == 1 && c.crowded() {
		return nil
	}
	if c.pages >= c.nBuckets {
		c.grow(tls)
	}
	p := c.recycle()
	if p == nil {
		if p = c.newPage(tls); p == nil {
			return nil
		}
	}
	p.key, p.pinned, p.generation = key, true, c.generation
	c.hash(p)
	clearExtra(p)
	return p
}

// clearExtra tells SQLite that the page is new: the first word of its data about it is zero.
func clearExtra(p *page) { *cmem.At[uintptr](p.extra) = 0 }

// crowded reports that nine tenths of the limit are pinned.
func (c *cache) crowded() bool {
	return c.purgeable && uint64(c.pages-c.idle)*10 >= uint64(c.limit)*9
}

// recycle takes the least recently used page out of a full cache, to be used for another.
func (c *cache) recycle() *page {
	if !c.purgeable || c.pages < c.limit || c.idle == 0 {
		return nil
	}
	p := c.list.newer
	c.unlist(p)
	c.unhash(p)
	return p
}

// unpin ends the use of a page by SQLite. A page that is to be discarded, or of which there are too many, goes at once.
func (c *cache) unpin(tls *libc.TLS, p *page, discard bool) {
	if discard || c.purgeable && c.pages > c.limit {
		c.unhash(p)
		c.freePage(tls, p)
		return
	}
	p.pinned = false
	p.older, p.newer = c.list.older, &c.list
	p.older.newer, c.list.older = p, p
	c.idle++
}

// rekey gives a pinned page another number. A page that has it already is discarded.
func (c *cache) rekey(tls *libc.TLS, p *page, key uint32) {
	if old := c.lookup(key); old != nil && old != p {
		c.remove(tls, old)
	}
	c.unhash(p)
	p.key = key
	c.hash(p)
}

// truncate discards all pages from number first on, pinned or not.
func (c *cache) truncate(tls *libc.TLS, first uint32) {
	if first > c.maxKey {
		return
	}
	if uint64(c.maxKey-first) < uint64(c.nBuckets) {
		for key := first; ; key++ {
			if p := c.lookup(key); p != nil {
				c.remove(tls, p)
			}
			if key == c.maxKey {
				break
			}
		}
	} else {
		c.removeIf(tls, func(p *page) bool { return p.key >= first })
	}
	c.maxKey = max(first, 1) - 1
}

// removeIf discards the pages for which drop answers true.
func (c *cache) removeIf(tls *libc.TLS, drop func(*page) bool) {
	for i := range c.nBuckets {
		for at := c.bucket(i); *at != nil; {
			p := *at
			if !drop(p) {
				at = &p.next
				continue
			}
			*at = p.next
			c.pages--
			c.release(tls, p)
		}
	}
}

// remove discards one page.
func (c *cache) remove(tls *libc.TLS, p *page) {
	c.unhash(p)
	c.release(tls, p)
}

func (c *cache) release(tls *libc.TLS, p *page) {
	if !p.pinned {
		c.unlist(p)
	}
	c.freePage(tls, p)
}

// setLimit changes the number of pages wanted, and drops unpinned ones beyond it.
func (c *cache) setLimit(tls *libc.TLS, limit uint32) {
	c.limit = limit
	if c.purgeable {
		c.trim(tls, limit)
	}
}

// shrink frees what can be freed.
func (c *cache) shrink(tls *libc.TLS) {
	if c.purgeable {
		c.trim(tls, 0)
	}
}

func (c *cache) trim(tls *libc.TLS, limit uint32) {
	for c.pages > limit && c.idle > 0 {
		c.remove(tls, c.list.newer)
	}
}

func (c *cache) pin(p *page) {
	if !p.pinned {
		c.unlist(p)
		p.pinned = true
	}
}

func (c *cache) unlist(p *page) {
	p.newer.older, p.older.newer = p.older, p.newer
	p.newer, p.older = nil, nil
	c.idle--
}

func (c *cache) hash(p *page) {
	at := c.bucket(p.key)
	p.next, *at = *at, p
	c.pages++
	c.maxKey = max(c.maxKey, p.key)
}

func (c *cache) unhash(p *page) {
	at := c.bucket(p.key)
	for *at != p {
		at = &(*at).next
	}
	*at = p.next
	c.pages--
}

// grow doubles the hash table; without memory for that, chains become longer.
func (c *cache) grow(tls *libc.TLS) {
	n := c.nBuckets * 2
	m := libc.Xcalloc(tls, uint64(n), 8)
	if m == 0 || n == 0 {
		return
	}
	old, nOld := c.buckets, c.nBuckets
	c.buckets, c.nBuckets = cmem.Pointer(m), n
	for i := range nOld {
		for p := *(**page)(unsafe.Add(old, uintptr(i)*8)); p != nil; {
			next := p.next
			at := c.bucket(p.key)
			p.next, *at = *at, p
			p = next
		}
	}
	libc.Xfree(tls, uintptr(old))
}
