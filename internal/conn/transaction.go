package conn

import (
	"context"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"
)

const lockOfOthers = "a lock of another connection or process"

// control holds the statements that begin and end transactions, prepared once. This is the one place that does either.
type control struct {
	begin, immediate, commit, rollback, version *capi.Stmt
}

func (k *control) each(fn func(**capi.Stmt, string) error) error {
	for _, s := range []struct {
		stmt **capi.Stmt
		sql  string
	}{
		{&k.begin, "BEGIN"},
		{&k.immediate, "BEGIN IMMEDIATE"},
		{&k.commit, "COMMIT"},
		{&k.rollback, "ROLLBACK"},
		{&k.version, "PRAGMA schema_version"},
	} {
		if err := fn(s.stmt, s.sql); err != nil {
			return err
		}
	}
	return nil
}

func (k *control) prepare(c *capi.Conn) error {
	return k.each(func(s **capi.Stmt, sql string) (err error) {
		*s, _, err = c.Prepare(sql, true)
		return err
	})
}

func (k *control) finalize() {
	_ = k.each(func(s **capi.Stmt, _ string) error {
		if *s != nil {
			(*s).Finalize()
			*s = nil
		}
		return nil
	})
}

// BeginRead opens a read transaction and fixes its snapshot by a first read.
func (c *Conn) BeginRead(ctx context.Context) error {
	if err := c.control.begin.Run(); err != nil {
		c.Rollback() // see BeginWrite
		return err
	}
	// A bare BEGIN takes no lock: the first statement does. https://www.sqlite.org/lang_transaction.html
	if err := c.lock(ctx, c.control.version); err != nil {
		c.Rollback()
		return err
	}
	return nil
}

// EndRead closes a read transaction. There is nothing to lose, so no error either: one that cannot be committed is
// rolled back, and a statement that user code left active, which would keep the snapshot, is reset. It reports whether
// none of that was needed.
func (c *Conn) EndRead() (clean bool) {
	c.ClearContext()
	if c.Autocommit() {
		c.ResetStrays() // SQLite rolled back by itself; a statement that is still active would keep the snapshot
		return false
	}
	err := c.control.commit.Run()
	if err != nil {
		c.Rollback()
	}
	if c.InTransaction() {
		c.ResetStrays()
		c.tainted = c.tainted || c.InTransaction()
		return false
	}
	return err == nil
}

// BeginWrite opens a write transaction and takes the write lock at once, so that no later statement can fail for want of
// it. It waits for locks of other connections and processes.
func (c *Conn) BeginWrite(ctx context.Context) error {
	if c.beginHolding() {
		return nil
	}
	err := c.lock(ctx, c.control.immediate)
	switch {
	case err != nil:
		c.Rollback() // SQLite may look at the context when BEGIN has done its work: then it is interrupted, and has begun
	case c.spillsIntoFile():
		c.SetBusyTimeout(0)
	}
	return err
}

// spillsIntoFile reports that a transaction larger than the page cache needs the file for itself before it commits. SQLite
// would wait for that, page by page, where no context reaches it. Without the wait it takes more memory instead, until the
// readers are gone. https://www.sqlite.org/atomiccommit.html#_cache_spill_prior_to_commit
//
// A transaction that may need locks on other databases as well keeps the wait.
func (c *Conn) spillsIntoFile() bool {
	return c.pragmas.JournalMode != pragma.JournalWAL && c.OnlyMain()
}

// lock runs a statement that takes a lock, and waits for it in Go. In a rollback journal COMMIT is one of them.
func (c *Conn) lock(ctx context.Context, s *capi.Stmt) error {
	c.SetBusyTimeout(0)
	err := s.Run()
	if err != nil && (sqlerr.IsBusy(err) || leftBehind(err)) {
		err = c.Wait(ctx, lockOfOthers, s.Run)
	}
	c.SetBusyTimeout(c.pragmas.BusyTimeout)
	return err
}

// Commit ends the write transaction. Once it has begun it is not interrupted: the answer is the truth. On an error the
// transaction has been rolled back.
func (c *Conn) Commit(ctx context.Context) error {
	c.ClearContext()
	err := c.lock(ctx, c.control.commit)
	if err != nil {
		c.Rollback()
	}
	return err
}

// Rollback undoes the transaction, whatever its context says. After it the connection is in autocommit mode or Broken.
func (c *Conn) Rollback() {
	c.ClearContext()
	if c.spillsIntoFile() {
		c.SetBusyTimeout(c.pragmas.BusyTimeout)
	}
	if c.Autocommit() {
		return // nothing is open: SQLite may roll back by itself, https://www.sqlite.org/lang_transaction.html
	}
	c.LetGo()
	if err := c.control.rollback.Run(); err != nil {
		// A read that is still active cannot stop a rollback; whatever else did is given a second chance without it.
		c.ResetStrays()
		_ = c.control.rollback.Run()
		c.tainted = c.tainted || !c.Autocommit()
	}
}

// Pardon is for a connection that cannot be replaced, since it is the database.
func (c *Conn) Pardon() {
	c.tainted = false
	c.Rewind()
}

// Broken reports that a transaction could not be ended, or that something of a caller's could not be removed. Such a
// connection must be closed and replaced.
func (c *Conn) Broken() bool { return c.tainted || c.Unwound() }
