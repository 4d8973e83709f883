package query

import (
	"math"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/sqltext"
	"github.com/sanelite/sanelite/internal/stmtcache"
)

// Result is what a statement did.
type Result struct {
	RowsAffected int64
	LastInsertID int64
}

// Exec runs sql to its end and drops the rows that it may return.
func Exec(c *conn.Conn, sql string, args []any) (r Result, err error) {
	s, err := prepare(c, true, sql, args)
	if err != nil {
		return r, err
	}
	defer c.Stmts.Put(s)
	return run(c, s)
}

// run runs a statement that is bound to its end.
func run(c *conn.Conn, s *stmtcache.Stmt) (r Result, err error) {
	if !changesRows(s) {
		return r, toEnd(c, s)
	}
	last := beginInsert(c, s)
	if err = toEnd(c, s); err == nil {
		r.RowsAffected = c.Changes()
	}
	r.LastInsertID = last.end(c, s, r.RowsAffected > 0)
	return r, err
}

func toEnd(c *conn.Conn, s *stmtcache.Stmt) error {
	row, err := first(c, s)
	for row && err == nil {
		row, err = s.Step()
	}
	return err
}

// changesRows reports whether s is an INSERT, UPDATE or DELETE. After any other statement SQLite answers with the changes of
// the one before. https://www.sqlite.org/c3ref/changes.html
func changesRows(s *stmtcache.Stmt) bool {
	return (s.Info.Kind == sqltext.Change || s.Info.Kind == sqltext.With) && !s.ReadOnly() && !s.Info.Explain
}

// lastInsert finds the rowid that a statement has inserted. SQLite itself goes on answering with an earlier one after a
// statement that inserts nothing: an upsert that updates, OR IGNORE, WITH before an UPDATE. So the answer is set to one that no
// row has while the statement runs, and then back. https://www.sqlite.org/c3ref/last_insert_rowid.html
type lastInsert struct {
	before  int64
	cleared bool
}

const noRow = math.MinInt64

func beginInsert(c *conn.Conn, s *stmtcache.Stmt) (l lastInsert) {
	switch s.Info.Verb {
	case "INSERT", "REPLACE", "WITH":
		l.before = c.LastInsertRowID()
		if l.cleared = !s.AsksRowID; l.cleared {
			c.SetLastInsertRowID(noRow)
		}
	}
	return l
}

// end returns the rowid, or 0; changed says whether the statement changed rows at all.
func (l lastInsert) end(c *conn.Conn, s *stmtcache.Stmt, changed bool) int64 {
	id := c.LastInsertRowID()
	switch {
	case l.cleared && id == noRow:
		c.SetLastInsertRowID(l.before)
		return 0
	case !changed, s.Info.Verb == "UPDATE", s.Info.Verb == "DELETE":
		return 0
	case !l.cleared && s.Info.Verb == "WITH" && id == l.before:
		return 0
	}
	return id
}
