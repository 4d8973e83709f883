package pagecache

import (
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"

	"github.com/sanelite/sanelite/internal/cmem"
)

// page heads a block of C memory, in which the content and SQLite's own data about the page follow. SQLite takes its
// address for a sqlite3_pcache_page, whose two fields must therefore come first.
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
	m := libc.Xmalloc(tls, uint64(c.blockSize()))
	if m == 0 {
		return nil
	}
	allocated.Add(int64(c.blockSize()))
	p := cmem.At[page](m)
	*p = page{content: m + headerSize, extra: m + headerSize + uintptr(c.pageSize)}
	return p
}

func (c *cache) freePage(tls *libc.TLS, p *page) {
	allocated.Add(-int64(c.blockSize()))
	libc.Xfree(tls, uintptr(unsafe.Pointer(p)))
}

func (c *cache) blockSize() uintptr { return headerSize + uintptr(c.pageSize) + uintptr(c.extraSize) }
