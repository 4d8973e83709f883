package query

import (
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/sqltext"
)

// Script runs the statements of sql one after the other and stops at the first error. Each is checked and prepared only
// when those before it have run, since it may need what they created.
func Script(c *conn.Conn, sql string) (err error) {
	for err == nil && sqltext.Classify(sql).Kind != sqltext.Empty { // blanks, comments and semicolons to the end
		sql, err = scriptStep(c, sql)
	}
	return err
}

// scriptStep runs the first statement of sql and returns what follows it.
func scriptStep(c *conn.Conn, sql string) (tail string, err error) {
	s, tail, err := c.Stmts.First(sql)
	if s == nil || err != nil {
		return "", err
	}
	defer c.Stmts.Put(s)
	if s.Params() > 0 {
		return "", sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: a script takes no arguments, but has a parameter in %s", sqlerr.Shorten(sql))
	}
	return tail, toEnd(c, s)
}
