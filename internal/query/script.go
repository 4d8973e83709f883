package query

import (
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/sqltext"
)

// Script runs the statements of sql one after the other and stops at the first error. Each is checked and prepared only
// when those before it have run, since it may need what they created.
func Script(c *conn.Conn, sql string) error {
	for rest := sql; ; {
		if sqltext.Classify(rest).Kind == sqltext.Empty {
			return nil // blanks, comments and semicolons to the end
		}
		info, err := sqltext.Check(rest, true)
		if err != nil {
			return err
		}
		s, tail, err := c.Prepare(rest, false)
		if err != nil {
			return err
		}
		if s == nil {
			return nil
		}
		c.Created = c.Created || info.Kind == sqltext.Create
		if s.Params() > 0 {
			err = sqlerr.Wrapf(sqlerr.ErrArguments, "sqlite: a script takes no arguments, but has a parameter in %s", sqlerr.Shorten(rest))
		} else {
			err = s.Run()
		}
		s.Finalize()
		if err != nil {
			return err
		}
		rest = tail
	}
}
