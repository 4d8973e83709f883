package pagecache

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// These are the functions that SQLite calls. https://www.sqlite.org/c3ref/pcache_methods2.html

// builtin is SQLite's own page cache. Its xInit sets up an allocator that SQLite also uses elsewhere (pcache1Alloc), so it
// is called from ours.
var builtin *lib.Tsqlite3_pcache_methods2

func xInit(tls *libc.TLS, _ uintptr) int32 {
	return cmem.Call[func(*libc.TLS, uintptr) int32](builtin.FxInit)(tls, builtin.FpArg)
}

func xShutdown(tls *libc.TLS, _ uintptr) {
	cmem.Call[func(*libc.TLS, uintptr)](builtin.FxShutdown)(tls, builtin.FpArg)
}

func xCreate(tls *libc.TLS, pageSize, extraSize, purgeable int32) uintptr {
	return uintptr(unsafe.Pointer(newCache(tls, pageSize, extraSize, purgeable != 0)))
}

func xCachesize(tls *libc.TLS, c uintptr, limit int32) {
	cmem.At[cache](c).setLimit(tls, uint32(max(0, limit)))
}

func xPagecount(_ *libc.TLS, c uintptr) int32 { return int32(cmem.At[cache](c).pages) }

func xFetch(tls *libc.TLS, c uintptr, key uint32, create int32) uintptr {
	return uintptr(unsafe.Pointer(cmem.At[cache](c).fetch(tls, key, create)))
}

func xUnpin(tls *libc.TLS, c, p uintptr, discard int32) {
	cmem.At[cache](c).unpin(tls, cmem.At[page](p), discard != 0)
}

func xRekey(tls *libc.TLS, c, p uintptr, _, key uint32) {
	cmem.At[cache](c).rekey(tls, cmem.At[page](p), key)
}

func xTruncate(tls *libc.TLS, c uintptr, first uint32) {
	if first <= 1 && seeking.Load() {
		seen(tls, cmem.At[cache](c))
	}
	cmem.At[cache](c).clear(tls, first)
}

func xDestroy(tls *libc.TLS, c uintptr) { cmem.At[cache](c).destroy(tls) }

func xShrink(tls *libc.TLS, c uintptr) { cmem.At[cache](c).shrink(tls) }
