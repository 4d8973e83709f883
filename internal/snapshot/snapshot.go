// Package snapshot holds the read transaction of a reader: what its statements see is one state of the database, which
// contains every commit that had succeeded before Acquire was called.
package snapshot

import (
	"context"

	"github.com/sanelite/sanelite/internal/conn"
)

// Snapshot is the read transaction of one connection.
type Snapshot struct {
	conn *conn.Conn
}

// Of returns the snapshot of c, not yet taken.
func Of(c *conn.Conn) Snapshot { return Snapshot{conn: c} }

// Acquire takes the newest snapshot. It waits for locks of other connections, bounded by ctx and the busy timeout. Until
// Release, statements end when ctx does.
func (s *Snapshot) Acquire(ctx context.Context) error {
	s.conn.SetContext(ctx)
	if err := s.conn.BeginRead(ctx); err != nil {
		s.conn.SetContext(nil)
		return err
	}
	return nil
}

// Release gives the snapshot up.
func (s *Snapshot) Release() { s.conn.EndRead() }
