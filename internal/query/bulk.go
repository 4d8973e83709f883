package query

import (
	"github.com/sanelite/sanelite/internal/bind"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/stmtcache"
)

// Bulk is one statement that is run once for each of many rows.
type Bulk[T any] struct {
	Result Result // of the rows so far

	stmt *stmtcache.Stmt
	rows *bind.Rows[T]
}

// OpenBulk finds the statement for sql, and plans how a T is bound to its parameters. On success the caller must Close it.
func OpenBulk[T any](c *conn.Conn, sql string) (Bulk[T], error) {
	s, err := c.Stmts.Get(sql, true)
	if err != nil {
		return Bulk[T]{}, err
	}
	rows, err := rowsFor[T](s)
	if err != nil {
		c.Stmts.Put(s)
		return Bulk[T]{}, err
	}
	return Bulk[T]{stmt: s, rows: rows}, nil
}

// rowsFor returns the plan for binding rows of type T to s, made once per (type, statement).
func rowsFor[T any](s *stmtcache.Stmt) (*bind.Rows[T], error) {
	for _, p := range s.Plans {
		if rows, ok := p.(*bind.Rows[T]); ok {
			return rows, nil
		}
	}
	rows, err := bind.RowsFor[T](s.Stmt)
	if err == nil {
		keepPlan(s, rows)
	}
	return rows, err
}

// Exec runs the statement for one row.
func (b *Bulk[T]) Exec(c *conn.Conn, row T) error {
	if err := b.rows.Bind(b.stmt.Stmt, row); err != nil {
		return err
	}
	r, err := run(c, b.stmt)
	b.stmt.Reset()
	if err != nil {
		return err
	}
	b.Result.RowsAffected += r.RowsAffected
	if r.LastInsertID != 0 {
		b.Result.LastInsertID = r.LastInsertID
	}
	return nil
}

// Close gives the statement back.
func (b *Bulk[T]) Close(c *conn.Conn) {
	b.rows.Clear()
	c.Stmts.Put(b.stmt)
}
