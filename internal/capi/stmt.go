package capi

import (
	"strings"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/cmem"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Stmt is a prepared statement. https://www.sqlite.org/c3ref/stmt.html
type Stmt struct {
	conn *Conn
	p    uintptr // sqlite3_stmt*
	tls  *libc.TLS
	sql  string

	params    int
	readOnly  bool
	columns   []string
	reprepare int32 // SQLITE_STMTSTATUS_REPREPARE when columns were read

	arena bindArena
}

// Prepare compiles the first statement of sql and returns the bytes that follow it. The statement is nil where there
// was nothing to compile: blanks and comments. https://www.sqlite.org/c3ref/prepare.html
func (c *Conn) Prepare(sql string, persistent bool) (s *Stmt, tail string, err error) {
	text, err := c.CopyText(sql)
	if err != nil {
		return nil, "", err
	}
	defer text.Free()
	s, next, err := c.prepareAt(text, 0, persistent)
	if err != nil {
		return nil, "", err
	}
	return s, sql[next:], nil
}

// Text is SQL in C memory. Many statements are compiled from one copy.
type Text struct {
	conn *Conn
	p    uintptr
	sql  string
}

// CopyText copies sql; it must be freed.
func (c *Conn) CopyText(sql string) (Text, error) {
	if i := strings.IndexByte(sql, 0); i >= 0 {
		// SQLite would silently end the statement there.
		return Text{}, &sqlerr.Error{Code: sqlite.ResultError, Message: "statement contains a NUL byte", SQL: sql, Offset: i}
	}
	p, err := libc.CString(sql)
	if err != nil {
		return Text{}, &sqlerr.Error{Code: sqlite.ResultNoMem, Message: err.Error(), SQL: sql, Offset: -1}
	}
	return Text{conn: c, p: p, sql: sql}, nil
}

// Free releases the copy.
func (t Text) Free() { libc.Xfree(t.conn.tls, t.p) }

// PrepareAt compiles the statement that begins at byte offset of t, and returns the offset of what follows it.
func (c *Conn) PrepareAt(t Text, offset int) (s *Stmt, next int, err error) {
	return c.prepareAt(t, offset, false)
}

func (c *Conn) prepareAt(t Text, offset int, persistent bool) (s *Stmt, next int, err error) {
	out := libc.Xcalloc(c.tls, 2, 8)
	defer libc.Xfree(c.tls, out)
	var flags uint32
	if persistent {
		flags = lib.SQLITE_PREPARE_PERSISTENT
	}
	sql, text := t.sql[offset:], t.p+uintptr(offset)
	if rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, text, int32(len(sql)+1), flags, out, out+8); rc != lib.SQLITE_OK {
		return nil, 0, c.newError(rc, sql, "")
	}
	next = int(*cmem.At[uintptr](out + 8) - t.p)
	p := *cmem.At[uintptr](out)
	if p == 0 {
		return nil, next, nil
	}
	s = &Stmt{conn: c, tls: c.tls, p: p, sql: t.sql[offset:]}
	s.params = int(lib.Xsqlite3_bind_parameter_count(c.tls, p))
	s.readOnly = lib.Xsqlite3_stmt_readonly(c.tls, p) != 0
	s.readColumns()
	return s, next, nil
}

// SQL returns the text the statement was prepared from.
func (s *Stmt) SQL() string { return s.sql }

// Params returns the number of parameters, that is the largest index. https://www.sqlite.org/c3ref/bind_parameter_count.html
func (s *Stmt) Params() int { return s.params }

// ParamName returns the name of parameter i (from 1) with its prefix, or "" for a nameless one.
// https://www.sqlite.org/c3ref/bind_parameter_name.html
func (s *Stmt) ParamName(i int) string {
	return libc.GoString(lib.Xsqlite3_bind_parameter_name(s.tls, s.p, int32(i)))
}

// ReadOnly reports that the statement does not change the database file itself.
// https://www.sqlite.org/c3ref/stmt_readonly.html
func (s *Stmt) ReadOnly() bool { return s.readOnly }

// Columns returns the names of the result columns. They may change at the first step after a schema change; Fresh tells.
func (s *Stmt) Columns() []string { return s.columns }

func (s *Stmt) readColumns() {
	s.reprepare = s.reprepared()
	n := int(lib.Xsqlite3_column_count(s.tls, s.p))
	s.columns = make([]string, n)
	for i := range s.columns {
		s.columns[i] = libc.GoString(lib.Xsqlite3_column_name(s.tls, s.p, int32(i)))
	}
}

// reprepared counts how often SQLite has compiled the statement anew by itself.
// https://www.sqlite.org/c3ref/c_stmtstatus_counter.html
func (s *Stmt) reprepared() int32 {
	return lib.Xsqlite3_stmt_status(s.tls, s.p, lib.SQLITE_STMTSTATUS_REPREPARE, 0)
}

// Fresh is to be called after the first Step. It reports false, once, where SQLite had to compile the statement anew:
// `SELECT *` may then have other columns, and Columns has been read again.
func (s *Stmt) Fresh() bool {
	if s.reprepare == s.reprepared() {
		return true
	}
	s.readColumns()
	s.readOnly = lib.Xsqlite3_stmt_readonly(s.tls, s.p) != 0
	return false
}

// Step runs the statement to its next row or its end. https://www.sqlite.org/c3ref/step.html
func (s *Stmt) Step() (row bool, err error) {
	s.conn.stepping++
	rc := lib.Xsqlite3_step(s.tls, s.p)
	s.conn.stepping-- // not reached when an SQL function written in Go panics
	switch rc {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, s.conn.newError(rc, s.sql, "")
	}
}

// Reset makes the statement ready to run again and lets go of big values that were bound. The result code of
// sqlite3_reset repeats what Step has reported, so it is dropped. https://www.sqlite.org/c3ref/reset.html
func (s *Stmt) Reset() {
	lib.Xsqlite3_reset(s.tls, s.p)
	s.releaseLarge()
}

// Finalize destroys the statement. https://www.sqlite.org/c3ref/finalize.html
func (s *Stmt) Finalize() {
	lib.Xsqlite3_finalize(s.tls, s.p)
	s.p = 0
	libc.Xfree(s.tls, s.arena.p)
	s.arena = bindArena{}
}

// Run steps the statement to its end, resets it and returns the error, if any.
func (s *Stmt) Run() error {
	for {
		row, err := s.Step()
		if !row || err != nil {
			s.Reset()
			return err
		}
	}
}
