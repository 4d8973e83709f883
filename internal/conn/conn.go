// Package conn is one configured connection: opened, its pragmas set and verified, with its statement cache, its
// transaction control and a check that user code left it as it was.
package conn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/stmtcache"
	"github.com/sanelite/sanelite/internal/wait"
	"github.com/sanelite/sanelite/pragma"
)

// Config says how the connections of a handle are opened. It is shared by them and not changed afterwards.
type Config struct {
	Path        string // absolute, or ":memory:"
	Flags       sqlite.OpenFlags
	Pragmas     pragma.Config
	Setup       func(context.Context, *sqlite.Conn) error
	Statements  int           // bound of the statement cache
	BusyTimeout time.Duration // bound of every wait for a lock; negative: none
	KeepWAL     bool          // the last Close leaves the write-ahead log to another program
	Stop        *capi.Stop    // ends all that runs on the connections, waits included; may be nil
	Recover     bool          // undo what a process that died has begun, also for connections that only read
}

// readOnly reports whether connections opened with cfg cannot write.
func (cfg *Config) readOnly() bool { return cfg.Flags&sqlite.OpenReadOnly != 0 }

// Failing is what package commit has found out about the schema: whether something in it may fail by the conflict clause FAIL.
type Failing struct {
	Known    bool
	Version  int64 // of the schema
	Possible bool
}

// Conn is one connection, used by one goroutine at a time.
type Conn struct {
	*capi.Conn
	Stmts *stmtcache.Cache

	User User

	// Created is set when a CREATE statement ran: it may have made a temporary object.
	Created bool

	// MoreThanRows is set when a statement ran that does more than to read and change rows: the schema's, a PRAGMA.
	MoreThanRows bool

	Failing Failing

	cfg     *Config
	control control
	hold    hold
	tainted bool // something of a caller's is left on it
	lent    bool // user code has had the zombiezen connection

	// What the connection is to look like whenever it changes hands.
	pragmas   pragma.Config
	others    others
	databases []string
	setUp     map[string]bool // temporary objects of Setup
}

// Open opens and configures a connection, runs Setup and reads once, so that a file that is no database is found out now.
func Open(ctx context.Context, cfg *Config) (*Conn, error) {
	var raw *capi.Conn
	err := cfg.wait(ctx, "another connection's lock, to open the database", func() (err error) {
		raw, err = capi.Open(cfg.Path, cfg.Flags)
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: raw, Stmts: stmtcache.New(raw, cfg.Statements), cfg: cfg}
	whole := false
	defer func() { // also when Setup panics or ends its goroutine
		if !whole {
			_ = c.Close()
		}
	}()
	c.StopWith(cfg.Stop)
	c.SetContext(ctx)
	defer c.ClearContext()
	if err := c.prepare(ctx); err != nil {
		return nil, c.Explain(err)
	}
	whole = true
	return c, nil
}

// prepare makes of a connection what it is to be whenever it changes hands.
func (c *Conn) prepare(ctx context.Context) (err error) {
	if err := c.configure(ctx); err != nil {
		return err
	}
	if c.cfg.KeepWAL {
		if err := c.SkipCheckpointOnClose(); err != nil {
			return err
		}
	}
	if err := c.control.prepare(c.Conn); err != nil {
		return err
	}
	if err := c.setup(ctx); err != nil {
		return err
	}
	if c.pragmas, err = pragma.Read(c.Zombie()); err != nil {
		return err
	}
	if err := c.noteTemporary(); err != nil {
		return err
	}
	if c.others, err = c.readOthers(); err != nil {
		return err
	}
	c.databases, err = c.attached()
	return err
}

// Explain adds to the error of an interrupted statement why it was interrupted, which zombiezen does not know.
func (c *Conn) Explain(err error) error {
	cause := c.Cause()
	if err == nil || cause == nil || errors.Is(err, cause) {
		return err
	}
	if errors.Is(err, sqlerr.ErrInterrupted) || sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt {
		return errors.Join(err, cause)
	}
	return err
}

// wait calls try until it meets no lock any more, bounded by ctx, the busy timeout and Stop.
func (cfg *Config) wait(ctx context.Context, what string, try func() error) error {
	left := 0
	return wait.Lock(ctx, cfg.BusyTimeout, what, func() error {
		if err := cfg.Stop.Err(); err != nil {
			return err
		}
		err := try()
		if leftBehind(err) {
			left++
			return cfg.recover(err, left)
		}
		return err
	})
}

// Wait calls try until it meets no lock of another connection or process any more, bounded by ctx and the busy timeout. what
// names the lock in the error.
func (c *Conn) Wait(ctx context.Context, what string, try func() error) error {
	return c.cfg.wait(ctx, what, try)
}

// configure applies the pragmas. SQLite's own wait is switched off meanwhile and takes its configured value at the end.
func (c *Conn) configure(ctx context.Context) error {
	quick := c.cfg.Pragmas
	quick.BusyTimeout = -1
	apply := pragma.Apply
	if c.cfg.readOnly() {
		apply = pragma.ApplyReader
	}
	err := c.Wait(ctx, "another connection's lock, to configure this one", func() error {
		if err := apply(c.Zombie(), quick); err != nil {
			return err
		}
		return c.readOnce()
	})
	if err != nil {
		return err
	}
	c.SetBusyTimeout(c.cfg.Pragmas.BusyTimeout)
	return nil
}

// readOnce reads the first page.
func (c *Conn) readOnce() error {
	s, _, err := c.Prepare("PRAGMA schema_version", false)
	if err != nil {
		return err
	}
	defer s.Finalize()
	return s.Run()
}

// CheckpointInCommit has SQLite copy the log back, in the COMMIT that finds the given number of pages in it.
func (c *Conn) CheckpointInCommit(pages int) error {
	if err := c.RunOnce("PRAGMA wal_autocheckpoint = " + strconv.Itoa(pages)); err != nil {
		return err
	}
	c.pragmas.WALAutoCheckpoint = pages
	return nil
}

// CallsGo reports whether statements may call functions written in Go: user code could have registered some.
func (c *Conn) CallsGo() bool { return c.lent || c.cfg.Setup != nil }

// setup runs the user's Setup and refuses one that undoes what Options promise.
func (c *Conn) setup(ctx context.Context) error {
	if c.cfg.Setup == nil {
		return nil
	}
	before, err := pragma.Read(c.Zombie())
	if err != nil {
		return err
	}
	if err := c.cfg.Setup(ctx, c.Zombie()); err != nil {
		return fmt.Errorf("sqlite: Setup: %w", err)
	}
	c.ResetStrays()
	if !c.Autocommit() {
		return sqlerr.Wrapf(sqlerr.ErrStateChanged, "sqlite: Setup left a transaction open")
	}
	after, err := pragma.Read(c.Zombie())
	if err != nil {
		return err
	}
	if before != after {
		return sqlerr.Wrapf(sqlerr.ErrStateChanged, "sqlite: Setup changed pragmas that Options.Pragmas governs (%s): set them there", difference(before, after))
	}
	c.ArmProgressHandler()
	return nil
}

// attached lists the databases of the connection other than temp, with their files.
func (c *Conn) attached() ([]string, error) {
	var found []string
	err := c.eachRow("PRAGMA database_list", func(s *capi.Stmt) {
		if name := string(s.ColumnText(1)); name != "temp" {
			found = append(found, name+"\x00"+string(s.ColumnText(2)))
		}
	})
	return found, err
}

// OnlyMain reports that no other database is attached.
func (c *Conn) OnlyMain() bool { return len(c.databases) == 1 }

// SharesLocks reports that locks are taken per transaction, not for good. https://www.sqlite.org/pragma.html#pragma_locking_mode
func (c *Conn) SharesLocks() bool { return c.others.pragmas["locking_mode"] == "normal" }

// Pragmas returns what the connection was given and had confirmed.
func (c *Conn) Pragmas() pragma.Config { return c.pragmas }

// eachRow runs sql, which is not cached, and calls fn for each row.
func (c *Conn) eachRow(sql string, fn func(*capi.Stmt)) error {
	s, _, err := c.Prepare(sql, false)
	if err != nil {
		return err
	}
	defer s.Finalize()
	for {
		row, err := s.Step()
		if !row || err != nil {
			return err
		}
		fn(s)
	}
}

// RunOnce prepares, runs and forgets one statement of the library's own.
func (c *Conn) RunOnce(sql string) error { return c.eachRow(sql, func(*capi.Stmt) {}) }

// Query prepares, runs and forgets one statement of the library's own, and calls fn for each row.
func (c *Conn) Query(sql string, fn func(*capi.Stmt)) error { return c.eachRow(sql, fn) }

// Close finalizes all statements and closes the connection.
func (c *Conn) Close() error {
	c.ClearContext()
	c.Stmts.Close()
	c.closeHold()
	c.control.finalize()
	return c.Conn.Close()
}

func (c *Conn) sameDatabases() (bool, error) {
	now, err := c.attached()
	return slices.Equal(now, c.databases), err
}
