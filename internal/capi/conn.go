package capi

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Conn is the C side of one connection.
type Conn struct {
	db     uintptr // sqlite3*, owned by zombie
	tls    *libc.TLS
	zombie *sqlite.Conn
	path   string
	word   uintptr // eight bytes of C memory for out parameters
	main   uintptr // C string "main"
	id     uintptr // key in the table of progress handlers
	ctx    context.Context
	stop   *Stop

	stepping int // calls of sqlite3_step that have not returned, and never will where a panic passed through them
}

// Open opens path and proves which sqlite3 handle is behind the zombiezen connection. That reads the file, so Open may answer
// SQLITE_BUSY, at once; trying again is then safe. The path is a file name, taken
// literally: SQLITE_OPEN_URI is never set (https://www.sqlite.org/uri.html, "URI filenames are off by default").
func Open(path string, flags sqlite.OpenFlags) (*Conn, error) {
	initialize()
	if strings.IndexByte(path, 0) >= 0 {
		return nil, sqlerr.Wrapf(sqlerr.ErrCannotOpen, "path %q contains a NUL byte", path)
	}
	z, err := sqlite.OpenConn(path, flags&^(sqlite.OpenURI|sqlite.OpenWAL))
	if err != nil {
		return nil, &sqlerr.Error{Code: sqlite.ErrCode(err), Message: err.Error(), Offset: -1, Op: "open"}
	}
	z.SetBusyTimeout(0) // zombiezen's own default waits for ever
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

func (c *Conn) allocate() (err error) {
	if c.word = libc.Xcalloc(c.tls, 1, 8); c.word == 0 {
		return fmt.Errorf("sqlite: out of memory")
	}
	c.main, err = libc.CString("main")
	return err
}

// Zombie returns the connection as zombiezen's own API sees it.
func (c *Conn) Zombie() *sqlite.Conn { return c.zombie }

// Close closes the connection. This module's statements must have been finalized before; those that user code has left, and
// blob handles, are finalized here, as SQLite would keep the files open for them.
func (c *Conn) Close() error {
	c.removeProgressHandler()
	err := c.zombie.Close()
	if err != nil && c.db != 0 {
		err = c.closeLeftOver()
	}
	libc.Xfree(c.tls, c.word)
	libc.Xfree(c.tls, c.main)
	c.tls.Close()
	c.db, c.word, c.main = 0, 0, 0
	return err
}

// closeLeftOver closes what zombiezen gave up on: sqlite3_close refuses while a statement exists, and user code may have
// closed the zombiezen connection before. Where a backup that nobody can reach from here still reads from the connection,
// SQLite keeps it until that ends. https://www.sqlite.org/c3ref/close.html
func (c *Conn) closeLeftOver() error {
	for p := lib.Xsqlite3_next_stmt(c.tls, c.db, 0); p != 0; p = lib.Xsqlite3_next_stmt(c.tls, c.db, 0) {
		lib.Xsqlite3_finalize(c.tls, p)
	}
	if rc := lib.Xsqlite3_close_v2(c.tls, c.db); rc != lib.SQLITE_OK {
		return &sqlerr.Error{Code: sqlite.ResultCode(rc), Message: "connection cannot be closed", Offset: -1, Op: "close"}
	}
	return nil
}

// newError makes the error for result code rc of the last call. sql and op say what was being done.
func (c *Conn) newError(rc int32, sql, op string) error {
	e := &sqlerr.Error{
		Code:    sqlite.ResultCode(rc),
		Message: libc.GoString(lib.Xsqlite3_errmsg(c.tls, c.db)), // https://www.sqlite.org/c3ref/errcode.html
		SQL:     sql,
		Offset:  -1,
		Op:      op,
		Cause:   c.Cause(),
	}
	if e.Cause == nil {
		e.Cause = c.systemError(e.Code)
	}
	if sql != "" {
		e.Offset = int(lib.Xsqlite3_error_offset(c.tls, c.db))
	}
	return e
}

// systemError returns what the operating system answered, for the failures that come from there, so that errors.Is finds
// fs.ErrPermission and its like. https://www.sqlite.org/c3ref/system_errno.html
func (c *Conn) systemError(code sqlite.ResultCode) error {
	switch code.ToPrimary() {
	case sqlite.ResultCantOpen, sqlite.ResultIOErr, sqlite.ResultFull:
		if n := lib.Xsqlite3_system_errno(c.tls, c.db); n != 0 {
			return syscall.Errno(n)
		}
	}
	return nil
}

// Unwound reports that a panic has passed through a running statement: nothing is known of the state SQLite is in.
func (c *Conn) Unwound() bool { return c.stepping != 0 }

// Rewind forgets that.
func (c *Conn) Rewind() { c.stepping = 0 }

// SetBusyTimeout sets how long SQLite itself sleeps on a lock; 0 makes it answer SQLITE_BUSY at once.
// https://www.sqlite.org/c3ref/busy_timeout.html
func (c *Conn) SetBusyTimeout(d time.Duration) {
	lib.Xsqlite3_busy_timeout(c.tls, c.db, int32(d/time.Millisecond))
}

// Autocommit reports whether no explicit transaction is open. https://www.sqlite.org/c3ref/get_autocommit.html
func (c *Conn) Autocommit() bool { return lib.Xsqlite3_get_autocommit(c.tls, c.db) != 0 }

// InTransaction reports whether a read or write transaction is open on main, an active statement's included.
// https://www.sqlite.org/c3ref/txn_state.html
func (c *Conn) InTransaction() bool {
	return lib.Xsqlite3_txn_state(c.tls, c.db, c.main) != lib.SQLITE_TXN_NONE
}

// Changes returns the rows changed by the last INSERT, UPDATE or DELETE. https://www.sqlite.org/c3ref/changes.html
func (c *Conn) Changes() int64 { return lib.Xsqlite3_changes64(c.tls, c.db) }

// TotalChanges counts all rows changed since the connection was opened, triggers included.
// https://www.sqlite.org/c3ref/total_changes.html
func (c *Conn) TotalChanges() int64 { return lib.Xsqlite3_total_changes64(c.tls, c.db) }

// LastInsertRowID returns the rowid of the last successful INSERT. https://www.sqlite.org/c3ref/last_insert_rowid.html
func (c *Conn) LastInsertRowID() int64 { return lib.Xsqlite3_last_insert_rowid(c.tls, c.db) }

// SetLastInsertRowID overwrites what LastInsertRowID answers. https://www.sqlite.org/c3ref/set_last_insert_rowid.html
func (c *Conn) SetLastInsertRowID(id int64) { lib.Xsqlite3_set_last_insert_rowid(c.tls, c.db, id) }

// ReadOnly reports whether main was opened read-only. https://www.sqlite.org/c3ref/db_readonly.html
func (c *Conn) ReadOnly() bool { return lib.Xsqlite3_db_readonly(c.tls, c.db, c.main) == 1 }

// ResetStrays resets every statement on the connection that is still active and tells how many there were: user code may
// leave one behind, and it would keep a snapshot or a lock. https://www.sqlite.org/c3ref/next_stmt.html
func (c *Conn) ResetStrays() (n int) {
	for p := lib.Xsqlite3_next_stmt(c.tls, c.db, 0); p != 0; p = lib.Xsqlite3_next_stmt(c.tls, c.db, p) {
		if lib.Xsqlite3_stmt_busy(c.tls, p) != 0 { // https://www.sqlite.org/c3ref/stmt_busy.html
			lib.Xsqlite3_reset(c.tls, p)
			n++
		}
	}
	return n
}
