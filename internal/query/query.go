// Package query runs one statement on one connection: find it in the cache, bind, step, scan, give it back. The callers
// have opened a transaction and see to it that one goroutine at a time comes here.
package query

import (
	"github.com/sanelite/sanelite/internal/bind"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/scan"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/sqltext"
	"github.com/sanelite/sanelite/internal/stmtcache"
)

// Result is what a statement did.
type Result struct {
	RowsAffected int64
	LastInsertID int64
}

// start prepares sql, binds args and takes the first step. On success the caller must give the statement back.
func start(c *conn.Conn, write bool, sql string, args []any) (s *stmtcache.Stmt, row bool, err error) {
	if s, err = c.Stmts.Get(sql, write); err != nil {
		return nil, false, err
	}
	if !write && !s.ReadOnly() {
		c.Stmts.Put(s)
		return nil, false, sqlerr.Wrapf(sqlerr.ErrReadOnly, "sqlite: a Reader cannot run %s: use Write, Exec or ExecOne", sqlerr.Shorten(sql))
	}
	if err = bind.Args(s.Stmt, args); err == nil {
		row, err = s.Step()
	}
	if err != nil {
		c.Stmts.Put(s)
		return nil, false, err
	}
	if !s.Fresh() {
		s.Plans = nil // the columns may be others now
	}
	if s.Info.Kind == sqltext.Create {
		c.Created = true
	}
	return s, row, nil
}

// Exec runs sql to its end and drops the rows that it may return.
func Exec(c *conn.Conn, sql string, args []any) (Result, error) {
	s, row, err := start(c, true, sql, args)
	if err != nil {
		return Result{}, err
	}
	defer c.Stmts.Put(s)
	for row {
		if row, err = s.Step(); err != nil {
			return Result{}, err
		}
	}
	return resultOf(c, s), nil
}

// resultOf asks for the changes of an INSERT, UPDATE or DELETE. After any other statement SQLite still answers with those
// of the one before. https://www.sqlite.org/c3ref/changes.html
func resultOf(c *conn.Conn, s *stmtcache.Stmt) (r Result) {
	if s.ReadOnly() || s.Info.Kind != sqltext.Change && s.Info.Kind != sqltext.With {
		return r
	}
	r.RowsAffected = c.Changes()
	if r.RowsAffected > 0 && (s.Info.Verb == "INSERT" || s.Info.Verb == "REPLACE") {
		r.LastInsertID = c.LastInsertRowID()
	}
	return r
}

// One returns the only row of sql.
func One[T any](c *conn.Conn, write bool, sql string, args []any) (v T, err error) {
	s, row, err := start(c, write, sql, args)
	if err != nil {
		return v, err
	}
	defer c.Stmts.Put(s)
	plan, err := planFor[T](s)
	switch {
	case err != nil:
		return v, err
	case !row:
		return v, sqlerr.ErrNoRows
	}
	if v, err = plan.One(s.Stmt); err != nil {
		return v, err
	}
	more, err := s.Step()
	if err == nil && more {
		if err = finish(s); err == nil {
			err = sqlerr.ErrTooManyRows
		}
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// All returns all rows of sql; with none, an empty slice that is not nil.
func All[T any](c *conn.Conn, write bool, sql string, args []any) ([]T, error) {
	s, row, err := start(c, write, sql, args)
	if err != nil {
		return nil, err
	}
	defer c.Stmts.Put(s)
	plan, err := planFor[T](s)
	if err != nil {
		return nil, err
	}
	rows := make([]T, 0, rowsExpected[T](s, row))
	var text scan.Strings
	for row {
		if rows, err = plan.Append(s.Stmt, rows, &text); err != nil {
			return nil, err
		}
		if row, err = s.Step(); err != nil {
			return nil, err
		}
	}
	s.Rows = len(rows)
	return rows, nil
}

// finish steps a statement that writes to its end: only there are its immediate foreign keys checked. One that reads may
// be left where it is.
func finish(s *stmtcache.Stmt) error {
	if s.ReadOnly() {
		return nil
	}
	for {
		if more, err := s.Step(); !more || err != nil {
			return err
		}
	}
}
