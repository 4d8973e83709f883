package sqlitex

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/checkpoint"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/readers"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/writer"
	"github.com/sanelite/sanelite/pragma"
)

// DB is a handle on one database: one connection that writes, and a pool of connections that read. It is safe for use by
// any number of goroutines, which never see SQLITE_BUSY from each other. A program opens it once and keeps it.
type DB struct {
	path    string
	opts    Options // resolved
	memory  bool
	keepWAL bool // the log is another program's to copy back

	file fs.FileInfo // of the file that was opened; nil for a memory database

	queue  writer.Queue
	writer atomic.Pointer[conn.Conn] // belongs to whoever holds the queue; nil in ReadOnly, and after it broke until it is needed again

	readers *readers.Pool   // nil for a memory database
	alone   *readers.Reader // the writer as a reader, for a memory database

	log         atomic.Pointer[capi.WALIndex] // the write-ahead log, as the writer sees it; nil without one
	checkpoints *checkpoint.Checkpointer      // nil where somebody else does them

	hold struct { // see holdWriter
		armed atomic.Bool
		timer atomic.Pointer[time.Timer]
	}

	stopLogging func()

	maintenance struct {
		sync.Mutex
		optimize *time.Timer
		stopped  bool
	}

	closing  sync.Once
	closeErr error         // valid once closed is closed
	closed   chan struct{} // closed when everything has been released
	stop     capi.Stop     // set where Close may not wait any longer
}

// Path returns the absolute path of the database file, or ":memory:".
func (db *DB) Path() string { return db.path }

// acquireReader returns a reader for one call. It does nothing when ctx is done.
func (db *DB) acquireReader(ctx context.Context) (*readers.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if db.memory {
		if err := db.queue.Acquire(ctx, db.opts.BusyTimeout); err != nil {
			return nil, err
		}
		return db.alone, nil
	}
	return db.readers.Get(ctx)
}

// releaseReader returns it, or closes it where it can no longer be trusted.
func (db *DB) releaseReader(r *readers.Reader) {
	switch {
	case db.memory:
		db.queue.Release()
	case r.Conn.Broken():
		db.readers.Discard(r)
	default:
		db.readers.Put(r)
	}
}

// writable reports why this call may not write. It is asked first, so that nothing is done when ctx is done.
func (db *DB) writable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if db.opts.Mode == ReadOnly {
		return sqlerr.Wrapf(ErrReadOnly, "sqlite: %s was opened read-only", db.path)
	}
	return nil
}

// acquireWriter returns the connection that writes, when its turn has come.
func (db *DB) acquireWriter(ctx context.Context) (*conn.Conn, error) {
	if err := db.writable(ctx); err != nil {
		return nil, err
	}
	if err := db.queue.Acquire(ctx, db.opts.BusyTimeout); err != nil {
		return nil, err
	}
	ready := false
	defer func() { // also when the user's Setup panics
		if !ready {
			db.queue.Release()
		}
	}()
	c, err := db.takeWriter(ctx)
	if ready = err == nil; ready {
		c.LetGo()
	}
	return c, err
}

// takeWriter returns the connection that writes, to the one who holds the queue.
func (db *DB) takeWriter(ctx context.Context) (*conn.Conn, error) {
	if c := db.writer.Load(); c != nil {
		c.User.Begin(nil)
		return c, nil
	}
	c, err := db.openWriter(ctx)
	if err != nil {
		return nil, err
	}
	if err := db.useWriter(c); err != nil {
		return nil, err
	}
	return c, nil
}

// releaseWriter lets the next one write.
func (db *DB) releaseWriter() {
	db.checkWriter()
	db.queue.Release()
}

// useWriter makes c the connection that writes.
func (db *DB) useWriter(c *conn.Conn) error {
	if c.Pragmas().JournalMode == pragma.JournalWAL {
		if c.SharesLocks() {
			db.log.Store(c.WALIndex())
		} else if db.checkpointsInBackground() { // Setup took the file for this connection alone: no other can get at the log
			if err := c.CheckpointInCommit(db.opts.Pragmas.WithDefaults().WALAutoCheckpoint); err != nil {
				return errors.Join(err, c.Close())
			}
		}
	}
	db.writer.Store(c)
	return nil
}

// checkWriter looks at the log that has grown, and drops a connection that can no longer be trusted. A memory database has no
// other.
func (db *DB) checkWriter() {
	if log := db.log.Load(); log != nil && db.checkpoints != nil {
		db.checkpoints.Note(log)
	}
	if c := db.writer.Load(); c.Broken() {
		if db.memory {
			c.Pardon()
			return
		}
		db.dropWriter()
	}
}

// dropWriter closes the connection that writes; the next one to need it opens another.
func (db *DB) dropWriter() {
	db.log.Store(nil)
	_ = db.writer.Swap(nil).Close()
}

// holder says who has the writer, for the errors of those who wait for it.
func (db *DB) holder() string {
	if c := db.writer.Load(); c != nil {
		return c.User.String()
	}
	return ""
}
