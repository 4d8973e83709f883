package tx

import (
	"context"
	"fmt"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/snapshot"
)

// The functions here connect this package with the handle that owns the connections. Their parameters are of internal types,
// so only this module can call them.

// RunRead runs fn in a read transaction on the connection of s. It is for package sqlitex.
func RunRead(ctx context.Context, c *conn.Conn, s *snapshot.Snapshot, fn func(*Reader) error) (err error) {
	if err := s.Acquire(ctx); err != nil {
		return err
	}
	r := &Reader{t: transaction{conn: c, ctx: ctx}}
	defer func() {
		if failure := r.t.end(); err == nil {
			err = failure
		}
		s.Release(err)
	}()
	return fn(r)
}

// RunWrite runs fn in a write transaction on c and returns, after a commit, the functions that OnCommit collected, for the
// caller to run once others may write again. It is for package sqlitex.
func RunWrite(ctx context.Context, c *conn.Conn, fn func(*Writer) error) (onCommit []func(), err error) {
	t := &transaction{conn: c, ctx: ctx, write: true}
	c.User.Runs(fn)
	err = atomically(ctx, c, func() error {
		defer t.end() // before the rollback, also when fn panics
		if err := fn(&Writer{t: t}); err != nil {
			return err
		}
		return t.end()
	})
	if err != nil {
		return nil, err
	}
	return t.onCommit, nil
}

// RunStatement runs one statement of the library's one-call functions in a write transaction of its own.
func RunStatement(ctx context.Context, c *conn.Conn, run func() error) error {
	return atomically(ctx, c, run)
}

// atomically runs fn between BEGIN IMMEDIATE and COMMIT. Only a fn that returns nil leads to a COMMIT; an error, a panic and
// runtime.Goexit all come past the deferred rollback.
func atomically(ctx context.Context, c *conn.Conn, fn func() error) error {
	c.SetContext(ctx)
	if err := c.BeginWrite(ctx); err != nil {
		c.SetContext(nil)
		return err
	}
	c.SetLastInsertRowID(0) // not the last caller's
	defer func() {
		c.Rollback() // does nothing after a commit
		c.ForgetTemporary()
	}()
	if err := fn(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sqlite: not committed: %w", err)
	}
	return c.Commit(ctx)
}
