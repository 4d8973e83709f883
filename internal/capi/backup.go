package capi

import (
	"net/url"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/cmem"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Failure makes the error for a call that zombiezen's API made on the connection, and of which it keeps the code alone.
func (c *Conn) Failure(err error, op string) error {
	return c.newError(int32(sqlite.ErrCode(err)), "", op)
}

// OpenImmutable opens a file to be read without locks and without side files, not even those that a database in WAL mode
// needs otherwise. What is in a write-ahead log or a journal beside it is not seen. It is for files that nobody writes: what
// is read while somebody does is worthless. https://www.sqlite.org/uri.html#uriimmutable
//
// The path is taken literally: what would mean something in a URI is escaped.
func OpenImmutable(path string) (*Conn, error) {
	initialize()
	uri := (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "immutable=1"}).String()
	z, err := sqlite.OpenConn(uri, sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return nil, openError(err)
	}
	c := &Conn{zombie: z, path: path, tls: libc.NewTLS()}
	if c.db, err = handleOf(z); err == nil {
		err = c.allocate()
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	c.forgetHandleFunction()
	c.installProgressHandler()
	return c, nil
}

// FileLock is SQLite's exclusive lock on a database file, whatever the file holds. It keeps every other connection, in this
// process and in others, from reading and writing.
type FileLock struct {
	tls *libc.TLS
	db  uintptr // sqlite3*
}

// LockFile takes the exclusive lock on the file at path, or answers SQLITE_BUSY at once. The file must exist. Nothing is read
// from it but its header: a journal is not rolled back, a log not recovered.
//
// The lock is that of the VFS, on the file object behind the connection; going from SHARED to EXCLUSIVE at once is what SQLite
// itself does before it rolls back a hot journal. https://www.sqlite.org/c3ref/io_methods.html, xLock
func LockFile(path string) (*FileLock, error) {
	initialize()
	l := &FileLock{tls: libc.NewTLS()}
	if rc := l.open(path); rc != lib.SQLITE_OK {
		l.Release()
		return nil, lockError(rc)
	}
	if rc := l.lock(); rc != lib.SQLITE_OK {
		l.Release()
		return nil, lockError(rc)
	}
	return l, nil
}

func (l *FileLock) open(path string) int32 {
	name, err := libc.CString(path)
	if err != nil {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(l.tls, name)
	out := libc.Xcalloc(l.tls, 1, 8)
	defer libc.Xfree(l.tls, out)
	// Without SQLITE_OPEN_URI the path is taken literally. https://www.sqlite.org/c3ref/open.html
	rc := lib.Xsqlite3_open_v2(l.tls, name, out, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_NOMUTEX, 0)
	l.db = *cmem.At[uintptr](out)
	return rc
}

func (l *FileLock) lock() int32 {
	schema := mustCString("main")
	defer libc.Xfree(l.tls, schema)
	out := libc.Xcalloc(l.tls, 1, 8)
	defer libc.Xfree(l.tls, out)
	file, methods := fileOf(l.tls, l.db, schema, out)
	if file == 0 {
		return lib.SQLITE_MISUSE
	}
	xLock := cmem.Call[func(*libc.TLS, uintptr, int32) int32](methods.FxLock)
	for _, level := range []int32{lib.SQLITE_LOCK_SHARED, lib.SQLITE_LOCK_EXCLUSIVE} {
		if rc := xLock(l.tls, file, level); rc != lib.SQLITE_OK {
			return rc
		}
	}
	return lib.SQLITE_OK
}

// Release gives the lock up: closing the file does. https://www.sqlite.org/c3ref/close.html
func (l *FileLock) Release() {
	lib.Xsqlite3_close_v2(l.tls, l.db)
	l.tls.Close()
	l.db = 0
}

func lockError(rc int32) error {
	code := sqlite.ResultCode(rc)
	return &sqlerr.Error{Code: code, Message: code.Message(), Offset: -1, Op: "lock"}
}

// AnyConnection reports whether a connection of this module is open on a file of which same says that it is the one.
func AnyConnection(same func(path string) bool) bool {
	handlers.RLock()
	paths := make(map[string]bool, len(handlers.conns))
	for _, c := range handlers.conns {
		paths[c.path] = true
	}
	handlers.RUnlock()
	for path := range paths {
		if same(path) {
			return true
		}
	}
	return false
}
