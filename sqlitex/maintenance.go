package sqlitex

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Vacuum rebuilds the database file without the space that deletions have left in it. It needs as much free disk space as
// the database is large, in the folder for temporary files and in the write-ahead log, holds the writer for the whole time
// and waits for it as Write does. https://www.sqlite.org/lang_vacuum.html
func (db *DB) Vacuum(ctx context.Context) error {
	return db.maintain(ctx, "another connection's lock, to vacuum", func(c *conn.Conn) error {
		// With temp_store = MEMORY the copy that VACUUM makes would be held in memory, all of it.
		if err := c.RunOnce("PRAGMA temp_store = FILE"); err != nil {
			return err
		}
		defer func() { _, _ = c.Restore() }()
		return c.RunOnce("VACUUM")
	})
}

// Optimize lets SQLite refresh the statistics of the query planner where it finds them missing or stale, bounded by
// Pragmas.AnalysisLimit. It runs by itself at Open, at Close and every few hours; call it after loading much data or
// creating indexes. It takes its turn as a writer. https://www.sqlite.org/pragma.html#pragma_optimize
func (db *DB) Optimize(ctx context.Context) error {
	return db.maintain(ctx, "another connection's lock, to optimize", func(c *conn.Conn) error {
		return c.RunOnce("PRAGMA optimize")
	})
}

// maintain runs fn on the connection that writes, outside of a transaction, and again while others hold a lock.
func (db *DB) maintain(ctx context.Context, what string, fn func(c *conn.Conn) error) error {
	c, err := db.acquireWriter(ctx)
	if err != nil {
		return err
	}
	defer db.releaseWriter()
	c.SetContext(ctx)
	defer c.ClearContext()
	defer func() { c.SetBusyTimeout(db.opts.Pragmas.BusyTimeout) }()
	return c.Wait(ctx, what, func() error {
		c.SetContext(ctx)
		c.SetBusyTimeout(0)
		return fn(c)
	})
}

// Ping reports whether the database can be read: it opens a snapshot, which reads the first page.
func (db *DB) Ping(ctx context.Context) error {
	r, err := db.snapshot(ctx)
	if err != nil {
		return err
	}
	db.giveUp(r, nil)
	return nil
}

// CheckError lists what Check found. It matches ErrCheckFailed.
type CheckError struct {
	Integrity   []string // the lines of PRAGMA integrity_check
	ForeignKeys []string // the rows of PRAGMA foreign_key_check, as text
}

// Error names the findings, the first ones in full.
func (e *CheckError) Error() string {
	all := append(append([]string(nil), e.Integrity...), e.ForeignKeys...)
	shown := all[:min(len(all), 3)]
	return fmt.Sprintf("sqlite: check found %d problems: %s", len(all), strings.Join(shown, "; "))
}

// Is matches ErrCheckFailed.
func (e *CheckError) Is(target error) bool { return target == ErrCheckFailed }

// Check reads the whole database and verifies its structure and its foreign keys; findings are a *CheckError. It reads one
// snapshot beside writers, and takes long for a large database: ctx interrupts it.
// https://www.sqlite.org/pragma.html#pragma_integrity_check
func (db *DB) Check(ctx context.Context) error {
	if db.memory {
		c, err := db.acquireWriter(ctx)
		if err != nil {
			return err
		}
		defer db.releaseWriter()
		return check(ctx, c)
	}
	// A fresh connection: on one that others have written past, the check of FTS5 tables reports corruption that is not there.
	r, err := db.acquireReader(ctx) // counts as a reader, and keeps Close waiting
	if err != nil {
		return err
	}
	defer db.releaseReader(r)
	c, err := db.openReader(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return check(ctx, c)
}

func check(ctx context.Context, c *conn.Conn) error {
	c.SetContext(ctx)
	if err := c.BeginRead(ctx); err != nil {
		c.ClearContext()
		return err
	}
	defer c.EndRead()
	var found CheckError
	err := c.Query("PRAGMA integrity_check", func(s *capi.Stmt) {
		if line := string(s.ColumnText(0)); line != "ok" {
			found.Integrity = append(found.Integrity, line)
		}
	})
	if err != nil {
		return err
	}
	err = c.Query("PRAGMA foreign_key_check", func(s *capi.Stmt) {
		row := "a row of " + string(s.ColumnText(0))
		if s.ColumnType(1) != sqlite.TypeNull {
			row = fmt.Sprintf("row %d of %s", s.ColumnInt64(1), s.ColumnText(0))
		}
		found.ForeignKeys = append(found.ForeignKeys, fmt.Sprintf("%s refers to a row of %s that is not there", row, s.ColumnText(2)))
	})
	if err != nil {
		return err
	}
	if len(found.Integrity)+len(found.ForeignKeys) > 0 {
		return &found
	}
	return nil
}

// optimizeEvery is how often PRAGMA optimize runs on a long-lived handle, as its documentation suggests.
const optimizeEvery = 6 * time.Hour

// optimizeAtOpen is for a new handle, which knows nothing of past queries: 0x10002 looks at all tables.
func (db *DB) optimizeAtOpen(ctx context.Context, c *conn.Conn) {
	c.SetContext(ctx)
	c.SetBusyTimeout(0) // it is not worth a wait
	defer func() {
		c.ClearContext()
		c.SetBusyTimeout(db.opts.Pragmas.BusyTimeout)
	}()
	if err := c.RunOnce("PRAGMA optimize = 0x10002"); err != nil {
		db.report(ctx, "optimize at open", err)
	}
}

func (db *DB) scheduleOptimize() {
	if db.opts.Mode == ReadOnly {
		return
	}
	m := &db.maintenance
	m.Lock()
	defer m.Unlock()
	if !m.stopped {
		m.optimize = time.AfterFunc(optimizeEvery, db.optimizeNow)
	}
}

func (db *DB) optimizeNow() {
	ctx := context.Background()
	if err := db.Optimize(ctx); err != nil && !isClosed(err) {
		db.report(ctx, "optimize", err)
	}
	db.scheduleOptimize()
}

func (db *DB) stopMaintenance() {
	m := &db.maintenance
	m.Lock()
	defer m.Unlock()
	m.stopped = true
	if m.optimize != nil {
		m.optimize.Stop()
	}
}

func (db *DB) report(ctx context.Context, what string, err error) {
	if db.opts.Logger != nil {
		db.opts.Logger.LogAttrs(ctx, slog.LevelWarn, what, slog.String("path", db.path), slog.Any("error", err))
	}
}

func isClosed(err error) bool { return err == sqlerr.ErrClosed } //nolint:errorlint // the queue returns it as it is
