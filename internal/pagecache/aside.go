package pagecache

import "modernc.org/libc"

// aside is the part of a cache that lets it survive the clearing which SQLite orders when a reader renews its snapshot.
//
// Pages carry the generation in which they were put in. Setting all pages aside is to begin a new generation and to raise
// oldest: pages below it are in memory, but absent for SQLite. Taking them back is to lower oldest again. 64 bits do not
// wrap around: 32 would, within days, and then old pages would count as new ones.
type aside struct {
	generation uint64
	oldest     uint64 // pages of earlier generations are set aside
	announced  bool   // a renewal has begun: the next clearing sets aside
	cleared    int    // clearings since it was announced
}

// fetchAside answers a fetch of a page that is set aside: as if it were not there. Where one is to be made, its memory is
// used for it.
func (c *cache) fetchAside(p *page, create int32) *page {
	if create == 0 || create == 1 && c.crowded() {
		return nil
	}
	c.pin(p)
	p.generation = c.generation
	clearExtra(p)
	return p
}

// clear is xTruncate. Only a clearing of everything (SQLite truncates to one page where page 1 is in use, and then it is
// no renewal) that was announced, is the first one, and finds no page in use, sets aside.
func (c *cache) clear(tls *libc.TLS, first uint32) {
	if !c.announced {
		c.truncate(tls, first)
		return
	}
	c.cleared++
	if first <= 1 && c.cleared == 1 && c.idle == c.pages {
		c.generation++
		c.oldest = c.generation
		return
	}
	c.dropAside(tls)
	c.truncate(tls, first)
}

// takeBack ends a renewal: the pages set aside are there again, but for those that changed and those beyond the end of
// the database.
func (c *cache) takeBack(tls *libc.TLS, changed []uint32, end uint32) {
	for _, key := range changed {
		if p := c.lookup(key); p != nil && p.generation < c.oldest && !p.pinned {
			c.remove(tls, p)
		}
	}
	if c.maxKey > end {
		c.removeIf(tls, func(p *page) bool { return p.key > end && p.generation < c.oldest && !p.pinned })
	}
	c.oldest = 0
	c.announced = false
}

// dropAside discards what is set aside, if anything.
func (c *cache) dropAside(tls *libc.TLS) {
	if c.oldest > 0 {
		c.removeIf(tls, func(p *page) bool { return p.generation < c.oldest })
		c.oldest = 0
	}
	c.announced = false
}
