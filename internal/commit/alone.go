// Package commit ends in a COMMIT or leaves nothing: the work of one caller in a transaction of its own, or that of several
// who queue for the writer in one that they share.
package commit

import (
	"context"
	"errors"
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
	if err := committable(ctx, c); err != nil {
		return err
	}
	return c.Commit(ctx)
}

// cleanUp rolls back, unless the transaction has been committed, and removes what a caller left on the connection.
func cleanUp(c *conn.Conn) {
	c.Rollback()
	c.ForgetTemporary()
}

// committable reports why the transaction must not be committed, although the caller's work returned nil.
func committable(ctx context.Context, c *conn.Conn) error {
	if err := ctx.Err(); err != nil {
		return notCommitted(err)
	}
	if c.Broken() {
		return notCommitted(errUnwound)
	}
	return nil
}

// errUnwound is for functions that recover from a panic of an SQL function.
var errUnwound = errors.New("a panic has passed through a statement")

func notCommitted(err error) error { return fmt.Errorf("sqlite: not committed: %w", err) }
