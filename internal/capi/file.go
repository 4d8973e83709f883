package capi

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/sanelite/sanelite/internal/cmem"
)

// fileOf returns the file object of a database and its methods, or 0 where there is none: a database in memory. out is room for
// a word. https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlfilepointer
func fileOf(tls *libc.TLS, db, schema, out uintptr) (file uintptr, methods *lib.Tsqlite3_io_methods) {
	if rc := lib.Xsqlite3_file_control(tls, db, schema, lib.SQLITE_FCNTL_FILE_POINTER, out); rc != lib.SQLITE_OK {
		return 0, nil
	}
	file = *cmem.At[uintptr](out)
	if file == 0 || *cmem.At[uintptr](file) == 0 {
		return 0, nil
	}
	return file, cmem.At[lib.Tsqlite3_io_methods](*cmem.At[uintptr](file))
}
