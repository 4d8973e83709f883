package sqlitex

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// closeGrace is how long CloseContext lets interrupted functions return before it gives up on them.
const closeGrace = time.Second

// Close closes the handle: new calls answer ErrClosed from now on, running ones finish first, readers close before the
// writer, so that SQLite copies and removes the write-ahead log. It may be called several times and by several goroutines;
// all get the same answer when it is done. Called from inside a Read, Write, ReadConn or WriteConn of the same handle,
// for which it would wait, it changes nothing and returns an error.
//
// Close waits for the functions that run, however long they take; CloseContext has a bound.
func (db *DB) Close() error { return db.CloseContext(context.Background()) }

// CloseContext is Close with a bound: when ctx ends, the statements that still run are interrupted, and their callers get
// ErrClosed. A function that is not in a statement then ends at its next one; the handle is released when the last
// has returned, even where CloseContext has returned the context's error before.
func (db *DB) CloseContext(ctx context.Context) error {
	if db.queue.HeldByMe() || db.readers != nil && db.readers.HeldByMe() {
		return sqlerr.Wrapf(ErrBusy, "sqlite: Close was called inside a transaction of the same handle, for which it would wait")
	}
	db.closing.Do(func() { go db.release() })
	select {
	case <-db.closed:
		return db.closeErr
	case <-ctx.Done():
	}
	db.stop.Set(ErrClosed)
	// What runs in SQLite ends within microseconds now. What does not cannot be ended from outside.
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-db.closed:
		return db.closeErr
	case <-grace.C:
		return fmt.Errorf("sqlite: close: functions that use the handle have not returned: %w", ctx.Err())
	}
}

// release waits until nobody uses the handle and closes the connections. It runs once.
func (db *DB) release() {
	db.stopMaintenance()
	writerFree := db.queue.Close()
	if db.readers != nil {
		<-db.readers.Close()
	}
	<-writerFree
	if db.checkpoints != nil {
		db.checkpoints.Close()
	}
	if c := db.writer.Load(); c != nil {
		db.optimizeAtClose(c)
		db.closeErr = c.Close()
	} else {
		db.closeLog()
	}
	if db.stopLogging != nil {
		db.stopLogging()
	}
	close(db.closed)
}

// closeLog is for a handle whose writer broke and was not needed again: the readers, which closed last, cannot copy the log back.
// The program's Setup has no part in that.
func (db *DB) closeLog() {
	if db.memory || db.opts.Mode == ReadOnly || db.keepWAL {
		return
	}
	cfg := db.connConfig(sqlite.OpenReadWrite)
	cfg.Setup, cfg.Stop, cfg.BusyTimeout = nil, nil, 0
	c, err := db.openWith(context.Background(), cfg)
	if err == nil {
		err = c.Close()
	}
	if err != nil {
		db.report(context.Background(), "log at close", err)
	}
}

// optimizeAtClose is for the queries that this handle has seen. It is bounded by analysis_limit, and no reason to call a
// Close failed.
func (db *DB) optimizeAtClose(c *conn.Conn) {
	c.SetBusyTimeout(0)
	if err := c.RunOnce("PRAGMA optimize"); err != nil {
		db.report(context.Background(), "optimize at close", err)
	}
}

// abandon releases what an Open that failed has opened.
func (db *DB) abandon() {
	db.stopMaintenance()
	if db.readers != nil {
		<-db.readers.Close()
	}
	if db.checkpoints != nil {
		db.checkpoints.Close()
	}
	if c := db.writer.Load(); c != nil {
		_ = c.Close()
	}
	if db.stopLogging != nil {
		db.stopLogging()
	}
}
