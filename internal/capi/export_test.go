package capi

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// MemoryUsed returns the bytes that SQLite has allocated in the whole process. https://www.sqlite.org/c3ref/memory_highwater.html
func MemoryUsed() int64 {
	tls := libc.NewTLS()
	defer tls.Close()
	return lib.Xsqlite3_memory_used(tls)
}
