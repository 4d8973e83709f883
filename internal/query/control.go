package query

import "github.com/sanelite/sanelite/internal/conn"

// Control runs a savepoint statement of the library's own, which user code may not send.
func Control(c *conn.Conn, sql string) error {
	s, err := c.Stmts.Own(sql)
	if err != nil {
		return err
	}
	defer c.Stmts.Put(s)
	_, err = s.Step()
	return err
}
