package capi

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// Texts and blobs are copied once, into memory that the statement keeps for the next run, and bound SQLITE_STATIC: no
// malloc and free per value. Whatever does not fit gets memory of its own, which SQLite frees; the arena then grows for the
// next run, up to arenaMax, and Reset gives the large values back at once, so that no cached statement keeps one alive.
// https://www.sqlite.org/c3ref/bind_blob.html
type bindArena struct {
	p       uintptr
	cap     int
	used    int
	wanted  int   // bytes that the present run bound
	foreign []int // parameters bound to memory of their own
}

const arenaMax = 4096

var freeFunc = cmem.Func(libc.Xfree)

// BeginBind is to be called before the parameters of a run are bound.
func (s *Stmt) BeginBind() {
	a := &s.arena
	if a.wanted > a.cap && a.cap < arenaMax {
		libc.Xfree(s.tls, a.p)
		a.cap = min(max(64, 2*a.wanted), arenaMax)
		if a.p = libc.Xmalloc(s.tls, uint64(a.cap)); a.p == 0 {
			a.cap = 0
		}
	}
	a.used, a.wanted = 0, 0
}

// place copies n bytes at from into the arena or, where they do not fit, into memory of their own.
func (s *Stmt) place(i int, from unsafe.Pointer, n int) (p, destructor uintptr) {
	a := &s.arena
	a.wanted += n
	if n <= a.cap-a.used {
		p, destructor = a.p+uintptr(a.used), lib.SQLITE_STATIC
		a.used += n
	} else {
		if p = libc.Xmalloc(s.tls, uint64(n)); p == 0 {
			return 0, 0
		}
		destructor = freeFunc
		a.foreign = append(a.foreign, i)
	}
	copy(cmem.Bytes(p, n), unsafe.Slice((*byte)(from), n))
	return p, destructor
}

func (s *Stmt) releaseLarge() {
	for _, i := range s.arena.foreign {
		lib.Xsqlite3_bind_null(s.tls, s.p, int32(i))
	}
	s.arena.foreign = s.arena.foreign[:0]
}

// BindNull binds NULL to parameter i, counted from 1 as in SQLite.
func (s *Stmt) BindNull(i int) error {
	return s.bound(lib.Xsqlite3_bind_null(s.tls, s.p, int32(i)))
}

// BindInt64 binds an INTEGER.
func (s *Stmt) BindInt64(i int, v int64) error {
	return s.bound(lib.Xsqlite3_bind_int64(s.tls, s.p, int32(i), v))
}

// BindFloat64 binds a REAL.
func (s *Stmt) BindFloat64(i int, v float64) error {
	return s.bound(lib.Xsqlite3_bind_double(s.tls, s.p, int32(i), v))
}

// BindText binds TEXT, byte for byte: NUL and invalid UTF-8 survive. The string is copied.
func (s *Stmt) BindText(i int, v string) error {
	p, destructor := s.emptyValue(), uintptr(lib.SQLITE_STATIC)
	if len(v) > 0 {
		if p, destructor = s.place(i, unsafe.Pointer(unsafe.StringData(v)), len(v)); p == 0 {
			return s.bound(lib.SQLITE_NOMEM)
		}
	}
	return s.bound(lib.Xsqlite3_bind_text64(s.tls, s.p, int32(i), p, uint64(len(v)), destructor, lib.SQLITE_UTF8))
}

// BindBlob binds a BLOB; an empty slice is a zero-length blob, never NULL. The bytes are copied.
func (s *Stmt) BindBlob(i int, v []byte) error {
	p, destructor := s.emptyValue(), uintptr(lib.SQLITE_STATIC)
	if len(v) > 0 {
		if p, destructor = s.place(i, unsafe.Pointer(unsafe.SliceData(v)), len(v)); p == 0 {
			return s.bound(lib.SQLITE_NOMEM)
		}
	}
	return s.bound(lib.Xsqlite3_bind_blob64(s.tls, s.p, int32(i), p, uint64(len(v)), destructor))
}

// emptyValue is the address of an empty text or blob: a null pointer would bind NULL.
func (s *Stmt) emptyValue() uintptr { return s.conn.main }

func (s *Stmt) bound(rc int32) error {
	if rc == lib.SQLITE_OK {
		return nil
	}
	return s.conn.newError(rc, s.sql, "bind")
}
