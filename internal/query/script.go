package query

import (
	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/sqltext"
)

// Script runs the statements of sql one after the other and stops at the first error. Each is checked and prepared only
// when those before it have run, since it may need what they created.
func Script(c *conn.Conn, sql string) error {
	text, err := c.CopyText(sql)
	if err != nil {
		return err
	}
	defer text.Free()
	for at := 0; err == nil && sqltext.Classify(sql[at:]).Kind != sqltext.Empty; { // else blanks, comments, semicolons to the end
		at, err = scriptStep(c, sql, text, at)
	}
	return err
}

// scriptStep runs the statement of sql at an offset and returns the offset of what follows it.
func scriptStep(c *conn.Conn, sql string, text capi.Text, at int) (next int, err error) {
	s, next, err := c.Stmts.At(sql, text, at)
	if s == nil || err != nil {
		return len(sql), err
	}
	defer c.Stmts.Put(s)
	if s.Params() > 0 {
		return 0, sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: a script takes no arguments, but has a parameter in %s", sqlerr.Shorten(sql[at:]))
	}
	return next, toEnd(c, s)
}
