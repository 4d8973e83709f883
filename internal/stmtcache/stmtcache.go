// Package stmtcache keeps the prepared statements of one connection, found by their text.
//
// The cache is bounded; the least recently used statement is finalized when a new one needs its place. A statement that
// is running is never handed out twice: the same SQL nested in its own loop gets a second one. Schema changes need no care
// here: SQLite compiles a stale statement anew at its first step, and capi.Stmt.Fresh tells.
package stmtcache

import (
	"strings"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/sqltext"
)

// longestText bounds the memory of the keys: a statement that long is generated, and hardly comes again.
const longestText = 16 << 10

// Stmt is a prepared statement with what was learnt about it.
type Stmt struct {
	*capi.Stmt
	Info  sqltext.Info
	Plans []any // row plans by type, see package query
	Rows  int   // returned last time, likewise

	// AsksRowID says that the text may call last_insert_rowid().
	AsksRowID bool

	write      bool // checked for use in a write transaction
	own        bool // the library's, not checked at all
	cached     bool
	prev, next *Stmt // ring of idle and busy cached statements, most recently used first
	busy       int   // index in Cache.busy; -1 when idle
}

// Cache belongs to one connection and is used by one goroutine at a time.
type Cache struct {
	conn  *capi.Conn
	max   int
	byTxt map[string]*Stmt
	ring  Stmt // sentinel
	busy  []*Stmt
}

// New returns a cache of at most limit statements; with zero or less nothing is kept.
func New(conn *capi.Conn, limit int) *Cache {
	c := &Cache{conn: conn, max: limit, byTxt: make(map[string]*Stmt)}
	c.ring.prev, c.ring.next = &c.ring, &c.ring
	return c
}

// Get returns a statement for sql that nobody else is using; give it back with Put. Text that is not exactly one statement,
// or one that is not allowed in a read (or write) transaction, is an error.
func (c *Cache) Get(sql string, write bool) (*Stmt, error) {
	if s := c.byTxt[sql]; s != nil && s.busy < 0 {
		if s.own || s.write && !write { // an in-memory database reads and writes on one connection
			if _, err := sqltext.Check(sql, false); err != nil {
				return nil, err
			}
		}
		c.use(s)
		return s, nil
	}
	s, err := c.prepare(sql, write)
	if err != nil {
		return nil, err
	}
	c.add(s)
	return s, nil
}

// use hands out an idle statement of the cache.
func (c *Cache) use(s *Stmt) {
	if c.ring.next != s {
		s.unlink()
		c.pushFront(s)
	}
	c.markBusy(s)
}

// add hands out a new statement, and keeps it for later where there is room for its kind.
func (c *Cache) add(s *Stmt) {
	sql := s.SQL()
	if c.max > 0 && len(sql) <= longestText && c.byTxt[sql] == nil {
		s.cached = true
		c.byTxt[sql] = s
		c.pushFront(s)
		c.evict()
	}
	c.markBusy(s)
}

func (c *Cache) prepare(sql string, write bool) (*Stmt, error) {
	info, err := sqltext.Check(sql, write)
	if err != nil {
		return nil, err
	}
	raw, tail, err := c.conn.Prepare(sql, true)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, sqlerr.Wrapf(sqlerr.ErrNotAllowed, "sqlite: empty statement %s", sqlerr.Shorten(sql))
	}
	if !sqltext.OnlySpace(tail) {
		raw.Finalize()
		return nil, sqlerr.Wrapf(sqlerr.ErrNotAllowed, "sqlite: more than one statement in %s: use Script", sqlerr.Shorten(sql))
	}
	asks := strings.Contains(strings.ToLower(sql), "last_insert_rowid")
	return &Stmt{Stmt: raw, Info: info, AsksRowID: asks, write: write, busy: -1}, nil
}

// At returns the statement of script that begins at byte offset, not kept for later, and the offset of what follows. text is
// the copy of script. The statement is nil where there is none; otherwise give it back with Put.
func (c *Cache) At(script string, text capi.Text, offset int) (s *Stmt, next int, err error) {
	info, err := sqltext.Check(script[offset:], true)
	if err != nil {
		return nil, 0, err
	}
	raw, next, err := c.conn.PrepareAt(text, offset)
	if err != nil || raw == nil {
		return nil, next, err
	}
	s = &Stmt{Stmt: raw, Info: info, write: true, busy: -1}
	c.markBusy(s)
	return s, next, nil
}

// Own is Get for statements of the library's own, which are not checked.
func (c *Cache) Own(sql string) (*Stmt, error) {
	if s := c.byTxt[sql]; s != nil && s.busy < 0 {
		c.use(s)
		return s, nil
	}
	raw, _, err := c.conn.Prepare(sql, true)
	if err != nil {
		return nil, err
	}
	s := &Stmt{Stmt: raw, own: true, busy: -1}
	c.add(s)
	return s, nil
}

// Put resets s, so that it keeps neither a snapshot nor a lock, and makes it available again.
func (c *Cache) Put(s *Stmt) {
	c.markIdle(s)
	if !s.cached {
		s.Finalize()
		return
	}
	s.Reset()
	c.evict() // while all were busy there may have been too many
}

// Busy reports how many statements were not given back.
func (c *Cache) Busy() int { return len(c.busy) }

// Reclaim finalizes the statements that were not given back: an iterator was left hanging. Its owner must not use them.
func (c *Cache) Reclaim() {
	for len(c.busy) > 0 {
		s := c.busy[len(c.busy)-1]
		c.markIdle(s)
		c.drop(s)
	}
}

// Close finalizes everything.
func (c *Cache) Close() {
	c.Reclaim()
	for c.ring.next != &c.ring {
		c.drop(c.ring.next)
	}
}

// Len returns the number of cached statements.
func (c *Cache) Len() int { return len(c.byTxt) }

// evict drops the least recently used idle statements beyond the bound.
func (c *Cache) evict() {
	for s := c.ring.prev; len(c.byTxt) > c.max && s != c.ring.next && s != &c.ring; {
		prev := s.prev
		if s.busy < 0 {
			c.drop(s)
		}
		s = prev
	}
}

func (c *Cache) drop(s *Stmt) {
	if s.cached {
		delete(c.byTxt, s.SQL())
		s.unlink()
		s.cached = false
	}
	s.Finalize()
}

func (c *Cache) markBusy(s *Stmt) {
	s.busy = len(c.busy)
	c.busy = append(c.busy, s)
}

func (c *Cache) markIdle(s *Stmt) {
	last := len(c.busy) - 1
	moved := c.busy[last]
	c.busy[s.busy], moved.busy = moved, s.busy
	c.busy[last] = nil
	c.busy = c.busy[:last]
	s.busy = -1
}

func (c *Cache) pushFront(s *Stmt) {
	s.prev, s.next = &c.ring, c.ring.next
	s.prev.next, s.next.prev = s, s
}

func (s *Stmt) unlink() {
	s.prev.next, s.next.prev = s.next, s.prev
	s.prev, s.next = nil, nil
}
