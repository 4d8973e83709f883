package tx

import (
	"context"

	"github.com/sanelite/sanelite/internal/commit"
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
	err = commit.Alone(ctx, c, func() (err error) {
		onCommit, err = RunPart(ctx, c, fn)
		return err
	})
	if err != nil {
		return nil, err
	}
	return onCommit, nil
}

// RunPart runs fn in the write transaction that is open on c, of which it may be a part. It is for package sqlitex.
func RunPart(ctx context.Context, c *conn.Conn, fn func(*Writer) error) (onCommit []func(), err error) {
	t := &transaction{conn: c, ctx: ctx, write: true}
	c.User.Runs(fn)
	defer t.end() // before the rollback, also when fn panics
	if err := fn(&Writer{t: t}); err != nil {
		return nil, err
	}
	if err := t.end(); err != nil {
		return nil, err
	}
	return t.onCommit, nil // nobody adds to it any more
}
