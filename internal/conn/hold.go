package conn

import (
	"context"
	"sync/atomic"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/pragma"
)

// hold keeps the read lock on the write-ahead log from one commit to the next write. Of the six lock calls of a small write
// four take and drop that lock. A statement that is left in the middle of its rows keeps it: COMMIT then only goes back to
// the read transaction that the statement needs.
//
// Held, BEGIN IMMEDIATE fails at once if another connection has committed since, DROP TABLE finds the schema in use, and the
// log cannot start over. So it is held between statements of the library's own only, let go for everything else, and for
// a few milliseconds at most.
type hold struct {
	stmt    *capi.Stmt
	active  bool
	expired atomic.Bool
}

// holdSQL returns a row in every database, and needs a read transaction for it.
const holdSQL = "SELECT 1 FROM sqlite_schema UNION ALL VALUES (1)"

// CommitHolding is Commit, and keeps the read lock where that may be done.
func (c *Conn) CommitHolding(ctx context.Context) error {
	if !c.hold.active && c.mayHold() {
		c.ClearContext()
		row, err := c.hold.stmt.Step()
		if c.hold.active = true; !row || err != nil {
			c.LetGo()
		}
	}
	return c.Commit(ctx)
}

func (c *Conn) mayHold() bool {
	if c.pragmas.JournalMode != pragma.JournalWAL || !c.OnlyMain() || !c.SharesLocks() || c.pragmas.WALAutoCheckpoint > 0 {
		return false // a checkpoint in COMMIT fails where the lock is held
	}
	if c.hold.stmt == nil {
		s, _, err := c.Prepare(holdSQL, true)
		if err != nil {
			return false
		}
		c.hold.stmt = s
	}
	return true
}

// Holding reports whether the read lock is held between transactions.
func (c *Conn) Holding() bool { return c.hold.active }

// LetGo gives the read lock up, if it is held. It may be called inside a transaction, which then ends as any other.
func (c *Conn) LetGo() {
	if c.hold.active {
		c.hold.stmt.Reset()
		c.hold.active = false
	}
}

// ExpireHold has the next write begin with a lock of its own. It may be called from any goroutine.
func (c *Conn) ExpireHold() { c.hold.expired.Store(true) }

// beginHolding begins a write transaction under the lock that is held, if there is one and it is young. It reports whether it
// has; otherwise the lock has been let go, and BEGIN has to be tried as ever.
func (c *Conn) beginHolding() bool {
	if !c.hold.active {
		return false
	}
	if !c.hold.expired.Swap(false) {
		c.SetBusyTimeout(0)
		err := c.control.immediate.Run()
		c.SetBusyTimeout(c.pragmas.BusyTimeout)
		if err == nil {
			return true
		}
	}
	ctx := c.Context()
	c.LetGo()
	c.Rollback() // where the context ended BEGIN when it had already begun
	c.SetContext(ctx)
	return false
}

func (c *Conn) closeHold() {
	if c.hold.stmt != nil {
		c.hold.stmt.Finalize()
		c.hold.stmt, c.hold.active = nil, false
	}
}
