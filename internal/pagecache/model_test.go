package pagecache

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"

	"github.com/sanelite/sanelite/internal/cmem"
)

const (
	modelPageSize  = 512
	modelExtraSize = 136
)

// model is what a cache is meant to be, written with Go's own containers. The cache is driven through the functions that
// SQLite calls, and compared with it after every step.
type model struct {
	t   testing.TB
	tls *libc.TLS
	c   uintptr

	purgeable bool
	limit     int
	pages     map[uint32]*modelPage
	idle      []uint32 // keys of unpinned pages, the least recently used first

	renewal   *Renewal
	announced bool
	cleared   int

	stamps uint64
	base   int64
}

type modelPage struct {
	address uintptr
	stamp   uint64
	pinned  bool
	aside   bool
}

func newModel(t testing.TB, purgeable bool) *model {
	m := &model{t: t, tls: libc.NewTLS(), purgeable: purgeable, pages: map[uint32]*modelPage{}, base: Allocated()}
	var flag int32
	if purgeable {
		flag = 1
	}
	m.c = xCreate(m.tls, modelPageSize, modelExtraSize, flag)
	require.NotZero(t, m.c)
	m.setLimit(10)
	before := state
	state = Surviving
	m.renewal = Find(m.tls, func() { xTruncate(m.tls, m.c, 1) })
	state = before
	require.NotNil(t, m.renewal)
	return m
}

func (m *model) destroy() {
	xDestroy(m.tls, m.c)
	require.Nil(m.t, m.renewal.cache, "a destroyed cache is still known to its renewal")
	m.renewal.Announce()
	m.renewal.TakeBack([]uint32{1}, 1)
	m.renewal.Drop()
	require.Equal(m.t, m.base, Allocated(), "memory left")
	m.tls.Close()
}

func (m *model) pinnedKeys() (keys []uint32) {
	for k, p := range m.pages {
		if p.pinned {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func (m *model) forget(key uint32) {
	if i := slices.Index(m.idle, key); i >= 0 {
		m.idle = slices.Delete(m.idle, i, i+1)
	}
	delete(m.pages, key)
}

func (m *model) forgetIf(drop func(key uint32, p *modelPage) bool) {
	for key, p := range m.pages {
		if drop(key, p) {
			m.forget(key)
		}
	}
}

func (m *model) crowded() bool {
	return m.purgeable && (len(m.pages)-len(m.idle))*10 >= m.limit*9
}

func (m *model) fetch(key uint32, create int32) {
	p := m.pages[key]
	refused := create == 0 || create == 1 && m.crowded()
	got := xFetch(m.tls, m.c, key, create)
	switch {
	case p != nil && !p.aside:
		require.Equal(m.t, p.address, got, "page %d is there", key)
		require.Equal(m.t, [4]uint64{p.stamp, p.stamp, p.stamp, p.stamp}, m.words(got), "content of page %d", key)
	case refused:
		require.Zero(m.t, got, "page %d, create %d", key, create)
		return
	default:
		require.NotZero(m.t, got, "page %d, create %d", key, create)
		require.Zero(m.t, m.words(got)[2], "page %d is new, but its extra bytes do not say so", key)
		if p == nil && m.purgeable && len(m.pages) >= m.limit && len(m.idle) > 0 {
			m.forget(m.idle[0])
		}
		m.stamps++
		p = &modelPage{address: got, stamp: m.stamps}
		m.stamp(got, m.stamps)
	}
	if i := slices.Index(m.idle, key); i >= 0 {
		m.idle = slices.Delete(m.idle, i, i+1)
	}
	p.pinned = true
	m.pages[key] = p
}

// words returns the first and last word of the content and of the extra bytes.
func (m *model) words(address uintptr) [4]uint64 {
	p := cmem.At[page](address)
	return [4]uint64{
		*cmem.At[uint64](p.content), *cmem.At[uint64](p.content + modelPageSize - 8),
		*cmem.At[uint64](p.extra), *cmem.At[uint64](p.extra + modelExtraSize - 8),
	}
}

func (m *model) stamp(address uintptr, stamp uint64) {
	p := cmem.At[page](address)
	for i := range modelPageSize / 8 {
		*cmem.At[uint64](p.content + uintptr(i)*8) = stamp
	}
	for i := range modelExtraSize / 8 {
		*cmem.At[uint64](p.extra + uintptr(i)*8) = stamp
	}
}

func (m *model) unpin(key uint32, discard bool) {
	p := m.pages[key]
	var flag int32
	if discard {
		flag = 1
	}
	gone := discard || m.purgeable && len(m.pages) > m.limit
	xUnpin(m.tls, m.c, p.address, flag)
	if gone {
		m.forget(key)
		return
	}
	p.pinned = false
	m.idle = append(m.idle, key)
}

func (m *model) rekey(key, to uint32) {
	p := m.pages[key]
	xRekey(m.tls, m.c, p.address, key, to)
	if to != key {
		m.forget(to)
		delete(m.pages, key)
		m.pages[to] = p
	}
}

func (m *model) dropAside() {
	m.forgetIf(func(_ uint32, p *modelPage) bool { return p.aside })
	m.announced = false
}

func (m *model) truncate(first uint32) {
	xTruncate(m.tls, m.c, first)
	if m.announced {
		m.cleared++
		if first <= 1 && m.cleared == 1 && len(m.pinnedKeys()) == 0 {
			for _, p := range m.pages {
				p.aside = true
			}
			return
		}
		m.dropAside()
	}
	m.forgetIf(func(key uint32, _ *modelPage) bool { return key >= first })
}

func (m *model) trim(limit int) {
	for m.purgeable && len(m.pages) > limit && len(m.idle) > 0 {
		m.forget(m.idle[0])
	}
}

func (m *model) setLimit(limit int) {
	xCachesize(m.tls, m.c, int32(limit))
	m.limit = max(0, limit)
	m.trim(m.limit)
}

func (m *model) shrink() {
	xShrink(m.tls, m.c)
	m.trim(0)
}

func (m *model) announce() {
	m.renewal.Announce()
	m.dropAside()
	m.announced, m.cleared = true, 0
}

func (m *model) takeBack(changed []uint32, end uint32) {
	m.renewal.TakeBack(changed, end)
	m.forgetIf(func(key uint32, p *modelPage) bool {
		return p.aside && (key > end || slices.Contains(changed, key))
	})
	for _, p := range m.pages {
		p.aside = false
	}
	m.announced = false
}

func (m *model) drop() {
	m.renewal.Drop()
	m.dropAside()
}

// check compares the cache with the model, and its parts with each other.
func (m *model) check() {
	c := cmem.At[cache](m.c)
	require.EqualValues(m.t, len(m.pages), xPagecount(m.tls, m.c), "pages")
	require.EqualValues(m.t, len(m.idle), c.idle, "unpinned pages")
	require.Equal(m.t, m.base+int64(len(m.pages))*int64(c.bytesOfPage()), Allocated(), "allocated")
	require.Zero(m.t, c.nBuckets&(c.nBuckets-1), "buckets")
	found := 0
	for i := range c.nBuckets {
		for p := *c.bucket(i); p != nil; p = p.next {
			found++
			want := m.pages[p.key]
			if want == nil || want.address != uintptr(unsafe.Pointer(p)) || want.pinned != p.pinned ||
				want.aside != (p.generation < c.oldest) || p.key&(c.nBuckets-1) != i || p.key > c.maxKey {
				require.FailNow(m.t, "a page is wrong", "%+v, want %+v, maxKey %d, oldest %d", *p, want, c.maxKey, c.oldest)
			}
		}
	}
	require.Equal(m.t, len(m.pages), found, "pages in the table")
	i := 0
	for p := c.list.newer; p != &c.list; p = p.newer {
		if i >= len(m.idle) || p.key != m.idle[i] || p.newer.older != p || p.older.newer != p {
			require.FailNow(m.t, "the list is wrong", "place %d, page %d, want %v", i, p.key, m.idle)
		}
		i++
	}
	require.Equal(m.t, len(m.idle), i, "pages in the list")
	require.Equal(m.t, m.announced, c.announced)
	if m.announced {
		require.Equal(m.t, m.cleared, m.renewal.Cleared())
	}
}

// step does what two bytes say, or nothing where it makes no sense.
func (m *model) step(op, arg byte) {
	key := uint32(arg)%48 + 1
	pinned := m.pinnedKeys()
	pick := func() uint32 { return pinned[int(arg)%len(pinned)] }
	switch op % 24 {
	case 0, 1, 2:
		m.fetch(key, 0)
	case 3, 4, 5:
		m.fetch(key, 1)
	case 6, 7, 8:
		m.fetch(key, 2)
	case 9: // far away: chains of the hash table, and a range that is searched page by page
		m.fetch(key*4_000_037, 2)
	case 10, 11, 12, 13:
		if len(pinned) > 0 {
			m.unpin(pick(), false)
		}
	case 14:
		if len(pinned) > 0 {
			m.unpin(pick(), true)
		}
	case 15:
		if len(pinned) > 0 {
			m.rekey(pick(), uint32(op/24)*5+1)
		}
	case 16:
		m.truncate(uint32(arg) % 64)
	case 17:
		m.setLimit([]int{-1, 0, 1, 2, 5, 10, 20, 40, 1000}[arg%9])
	case 18:
		if arg%4 == 0 {
			m.shrink()
		}
	case 19:
		m.announce()
	case 20: // a clearing as SQLite orders it, of everything while nothing is in use, mostly in a renewal
		if op/24%4 != 0 {
			m.announce()
		}
		for _, k := range pinned {
			m.unpin(k, arg%8 == 7)
		}
		m.truncate(1)
	case 21:
		m.takeBack([]uint32{key, key + 1, key + 7, uint32(op)}, uint32(arg))
	case 22:
		m.takeBack(nil, ^uint32(0))
	case 23:
		m.drop()
	}
}

func (m *model) run(ops []byte) {
	for i := 0; i+1 < len(ops); i += 2 {
		m.step(ops[i], ops[i+1])
		m.check()
	}
	m.destroy()
}

func TestACacheDoesWhatAMapWouldDo(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		ops := make([]byte, 2*(50+r.IntN(600)))
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		newModel(t, seed%4 != 0).run(ops)
	}
}

func FuzzACacheDoesWhatAMapWouldDo(f *testing.F) {
	f.Add(true, []byte{6, 1, 6, 2, 10, 0, 10, 0, 19, 0, 20, 0, 6, 1, 21, 1, 0, 2, 23, 0})
	f.Add(true, []byte{17, 3, 6, 1, 6, 2, 6, 3, 10, 0, 19, 0, 20, 0, 6, 9, 19, 0, 16, 1, 22, 0})
	f.Add(false, []byte{6, 1, 6, 2, 15, 0, 9, 1, 16, 0})
	f.Fuzz(func(t *testing.T, purgeable bool, ops []byte) {
		newModel(t, purgeable).run(ops[:min(len(ops), 4000)])
	})
}
