package query

import (
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/scan"
	"github.com/sanelite/sanelite/internal/stmtcache"
)

// Rows is a query that is being read row by row.
type Rows[T any] struct {
	conn *conn.Conn
	stmt *stmtcache.Stmt
	plan *scan.Plan[T]
	row  bool // the statement stands on a row

	started bool // that row was returned
}

// Open starts sql. On success the caller must Close the rows.
func Open[T any](c *conn.Conn, write bool, sql string, args []any) (Rows[T], error) {
	s, row, err := start(c, write, sql, args)
	if err != nil {
		return Rows[T]{}, err
	}
	plan, err := planFor[T](s)
	if err != nil {
		c.Stmts.Put(s)
		return Rows[T]{}, err
	}
	return Rows[T]{conn: c, stmt: s, plan: plan, row: row}, nil
}

// Next returns the next row; ok is false at the end.
func (r *Rows[T]) Next() (v T, ok bool, err error) {
	if r.started && r.row {
		if r.row, err = r.stmt.Step(); err != nil {
			return v, false, err
		}
	}
	r.started = true
	if !r.row {
		return v, false, nil
	}
	v, err = r.plan.One(r.stmt.Stmt)
	return v, err == nil, err
}

// Close gives the statement back. A statement that writes runs to its end first; its error must not be lost.
func (r *Rows[T]) Close() error {
	var err error
	if r.row {
		err = finish(r.stmt)
	}
	r.conn.Stmts.Put(r.stmt)
	return err
}
