// Package commit ends in a COMMIT or leaves nothing: the work of one caller in a transaction of its own, or that of several
// who queue for the writer in one that they share.
package commit

import (
	"context"
	"fmt"

	"github.com/sanelite/sanelite/internal/conn"
)

// Alone runs fn between BEGIN IMMEDIATE and COMMIT. Only a fn that returns nil leads to a COMMIT; an error, a panic and
// runtime.Goexit all come past the deferred rollback.
func Alone(ctx context.Context, c *conn.Conn, fn func() error) error {
	c.LetGo()
	c.SetContext(ctx)
	if err := c.BeginWrite(ctx); err != nil {
		c.ClearContext()
		return err
	}
	c.SetLastInsertRowID(0) // not the last caller's
	defer cleanUp(c)
	if err := fn(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return notCommitted(err)
	}
	return c.Commit(ctx)
}

// cleanUp rolls back, unless the transaction has been committed, and removes what a caller left on the connection.
func cleanUp(c *conn.Conn) {
	c.Rollback()
	c.ForgetTemporary()
}

func notCommitted(err error) error { return fmt.Errorf("sqlite: not committed: %w", err) }
