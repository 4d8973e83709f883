package capi

import (
	"runtime/debug"
	"sync/atomic"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
	"github.com/sanelite/sanelite/internal/pagecache"
)

// Header is the header of the WAL-index: twelve words that every commit changes, in whichever process. Two snapshots
// with the same header are the same snapshot. https://www.sqlite.org/walformat.html#the_wal_index_header
type Header [12]uint32

// Words of the header by their place.
const (
	headerChange     = 2 // iChange: counts transactions
	headerFormat     = 3 // isInit, bigEndCksum, szPage
	headerFrames     = 4 // mxFrame: frames in the log
	headerPages      = 5 // nPage: size of the database
	headerFrameCksum = 6 // two words
	headerSalt       = 8 // two words, new with every restart of the log
	headerCksum      = 10
)

// Valid reports that h is initialised and not torn: its checksum, over all words before it, is right.
func (h *Header) Valid() bool {
	var s1, s2 uint32
	for i := 0; i < headerCksum; i += 2 {
		s1 += h[i] + s2
		s2 += h[i+1] + s1
	}
	return s1 == h[headerCksum] && s2 == h[headerCksum+1] && h[headerFormat]&0xff == 1
}

// WALIndex is the shared memory beside a database in WAL mode, as one connection has it mapped. It stays mapped until the
// connection closes.
type WALIndex struct {
	conn    *Conn
	file    uintptr // sqlite3_file*
	xShmMap func(tls *libc.TLS, file uintptr, region, size, extend int32, out uintptr) int32
	header  *[12]uint32
	regions []uintptr // addresses, as far as they were needed
}

// WALIndex returns the WAL-index of main, or nil where there is none to be looked at. It must only be asked for in WAL mode:
// for a rollback journal, asking would create the -shm file.
//
// xShmMap is public: https://www.sqlite.org/c3ref/io_methods.html.
func (c *Conn) WALIndex() *WALIndex {
	file, methods := fileOf(c.tls, c.db, c.main, c.word)
	if file == 0 || methods.FiVersion < 2 || methods.FxShmMap == 0 {
		return nil
	}
	x := &WALIndex{conn: c, file: file, xShmMap: cmem.Call[func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32](methods.FxShmMap)}
	p := x.region(0)
	if p == 0 {
		return nil
	}
	x.header = cmem.At[[12]uint32](p)
	return x
}

// regionSize is the size of a region of shared memory. https://www.sqlite.org/walformat.html#the_wal_index_file_format
const regionSize = 32768

// region returns the address of a region, or 0. It never extends the file.
func (x *WALIndex) region(i int) uintptr {
	for len(x.regions) <= i {
		*cmem.At[uintptr](x.conn.word) = 0
		if rc := x.xShmMap(x.conn.tls, x.file, int32(len(x.regions)), regionSize, 0, x.conn.word); rc != lib.SQLITE_OK {
			return 0
		}
		p := *cmem.At[uintptr](x.conn.word)
		if p == 0 {
			return 0
		}
		x.regions = append(x.regions, p)
	}
	return x.regions[i]
}

// Is reports whether the header in shared memory is h, word for word. Another program may truncate the -shm file under
// us; touching it would then kill the process, so a fault is turned into "no".
func (x *WALIndex) Is(h *Header) (same bool) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if fault := recover(); fault != nil {
			same = false
			rethrowUnlessFault(fault)
		}
	}()
	for i := range h {
		if atomic.LoadUint32(&x.header[i]) != h[i] {
			return false
		}
	}
	return true
}

// Load reads the header from shared memory. It may be torn: see Valid. ok is false where the memory is gone.
func (x *WALIndex) Load() (h Header, ok bool) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		if fault := recover(); fault != nil {
			ok = false
			rethrowUnlessFault(fault)
		}
	}()
	for i := range h {
		h[i] = atomic.LoadUint32(&x.header[i])
	}
	return h, true
}

// Renewal returns the hold on main's page cache by which it survives commits, or nil. The connection must be in autocommit
// mode and have read the file: the cache is made anew when the page size becomes known.
// https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlresetcache clears it, and no other.
func (c *Conn) Renewal() *pagecache.Renewal {
	return pagecache.Find(c.tls, func() {
		lib.Xsqlite3_file_control(c.tls, c.db, c.main, lib.SQLITE_FCNTL_RESET_CACHE, 0)
	})
}

// rethrowUnlessFault lets every panic through but those that SetPanicOnFault makes.
func rethrowUnlessFault(p any) {
	if _, ok := p.(interface{ Addr() uintptr }); !ok {
		panic(p)
	}
}

// SnapshotHeader returns the header of the snapshot that the open read transaction sees: the pager's own copy, hence the
// truth, where two looks at shared memory would be a guess. ok is false where SQLite has none, as before the first commit
// to a new log. https://www.sqlite.org/c3ref/snapshot_get.html, https://www.sqlite.org/c3ref/snapshot.html
func (c *Conn) SnapshotHeader() (h Header, ok bool) {
	out := c.word
	if rc := lib.Xsqlite3_snapshot_get(c.tls, c.db, c.main, out); rc != lib.SQLITE_OK {
		return h, false
	}
	p := *cmem.At[uintptr](out)
	h = *cmem.At[Header](p)
	lib.Xsqlite3_snapshot_free(c.tls, p)
	return h, true
}
