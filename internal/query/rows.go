package query

import (
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/scan"
	"github.com/sanelite/sanelite/internal/stmtcache"
)

// Rows is a query that is being read row by row.
type Rows[T any] struct {
	conn *conn.Conn
	stmt *stmtcache.Stmt // nil for a statement that writes: its rows are in ready
	plan *scan.Plan[T]
	row  bool // the statement stands on a row

	started bool // that row was returned
	ready   []T
}

// Open starts sql. On success the caller must Close the rows.
//
// A statement that writes runs to its end at once. While it waited for the next row to be asked for, SQLite would let no
// savepoint begin. SQLite keeps all rows of a RETURNING clause in memory anyway, https://www.sqlite.org/lang_returning.html
func Open[T any](c *conn.Conn, write bool, sql string, args []any) (Rows[T], error) {
	s, row, err := start(c, write, sql, args)
	if err != nil {
		return Rows[T]{}, err
	}
	if !s.ReadOnly() {
		defer c.Stmts.Put(s)
		ready, err := collect[T](s, row)
		return Rows[T]{ready: ready}, err
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
	if r.stmt == nil {
		return r.nextReady()
	}
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

func (r *Rows[T]) nextReady() (v T, ok bool, err error) {
	if len(r.ready) == 0 {
		return v, false, nil
	}
	v, r.ready = r.ready[0], r.ready[1:]
	return v, true, nil
}

// Close gives the statement back.
func (r *Rows[T]) Close() {
	if r.stmt != nil {
		r.conn.Stmts.Put(r.stmt)
	}
}
