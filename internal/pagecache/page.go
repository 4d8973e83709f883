package pagecache

import (
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"

	"github.com/sanelite/sanelite/internal/cmem"
)

// page heads a block of C memory, in which SQLite's own data about the page follow. SQLite takes its address for a
// sqlite3_pcache_page, whose two fields must therefore come first.
//
// The content is a block of its own. modernc's malloc rounds up to powers of two: one block for both, a little more than 4 KiB,
// would take 8.
type page struct {
	content, extra uintptr

	next         *page // in the bucket
	newer, older *page // in the list of unpinned pages; nil while pinned
	generation   uint64
	key          uint32 // page number
	pinned       bool
}

const headerSize = (unsafe.Sizeof(page{}) + 15) &^ 15

// allocated counts the bytes of all pages of the process.
var allocated atomic.Int64

// Allocated returns the bytes that the pages of all caches take.
func Allocated() int64 { return allocated.Load() }

// newPage returns a page with nothing in it, or nil when there is no memory.
func (c *cache) newPage(tls *libc.TLS) *page {
	m := libc.Xmalloc(tls, uint64(headerSize)+uint64(c.extraSize))
	if m == 0 {
		return nil
	}
	content := libc.Xmalloc(tls, uint64(c.pageSize))
	if content == 0 {
		libc.Xfree(tls, m)
		return nil
	}
	allocated.Add(int64(c.bytesOfPage()))
	p := cmem.At[page](m)
	*p = page{content: content, extra: m + headerSize}
	return p
}

func (c *cache) freePage(tls *libc.TLS, p *page) {
	allocated.Add(-int64(c.bytesOfPage()))
	libc.Xfree(tls, p.content)
	libc.Xfree(tls, uintptr(unsafe.Pointer(p)))
}

func (c *cache) bytesOfPage() uintptr { return headerSize + uintptr(c.pageSize) + uintptr(c.extraSize) }
