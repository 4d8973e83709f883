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

// prepare finds the statement for sql and binds args. On success the caller must give the statement back.
func prepare(c *conn.Conn, write bool, sql string, args []any) (*stmtcache.Stmt, error) {
	s, err := c.Stmts.Get(sql, write)
	if err != nil {
		return nil, err
	}
	ready := false
	defer func() {
		if !ready { // also when a Valuer panics
			c.Stmts.Put(s)
		}
	}()
	if !write && !s.ReadOnly() && s.Info.Kind != sqltext.Pragma { // SQLite says of `PRAGMA journal_mode` that it may write
		return nil, sqlerr.Wrapf(sqlerr.ErrReadOnly, "sqlite: a Reader cannot run %s: use Write, Exec or ExecOne", sqlerr.Shorten(sql))
	}
	if err := bind.Args(s.Stmt, args); err != nil {
		return nil, err
	}
	ready = true
	return s, nil
}

// start is prepare and the first step.
func start(c *conn.Conn, write bool, sql string, args []any) (_ *stmtcache.Stmt, row bool, err error) {
	s, err := prepare(c, write, sql, args)
	if err != nil {
		return nil, false, err
	}
	ready := false
	defer func() {
		if !ready { // also when an SQL function panics
			c.Stmts.Put(s)
		}
	}()
	if row, err = first(c, s); err != nil {
		return nil, false, err
	}
	ready = true
	return s, row, nil
}

// first takes the first step, in which SQLite may have to compile the statement anew.
func first(c *conn.Conn, s *stmtcache.Stmt) (row bool, err error) {
	c.User.Steps(s)
	if row, err = s.Step(); err != nil {
		return false, err
	}
	if !s.Fresh() {
		s.Plans = nil // the columns may be others now
	}
	switch s.Info.Kind {
	case sqltext.Query, sqltext.With, sqltext.Change:
	case sqltext.Create:
		c.Created, c.MoreThanRows = true, true
	default:
		c.MoreThanRows = true
	}
	return row, nil
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
		err = sqlerr.ErrTooManyRows
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
	return collect[T](s, row)
}

// collect reads the rows of a statement that has taken its first step.
func collect[T any](s *stmtcache.Stmt, row bool) ([]T, error) {
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
