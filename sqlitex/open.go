package sqlitex

import (
	"context"
	"errors"
	"fmt"
	"os"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/readers"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"
)

// Open opens the database at path, creates it if there is none, and configures it for production; nil options mean the
// defaults. The handle must be closed.
//
// The path is a file name and taken literally: nothing in it has a meaning, a leading "file:", "?" and "%41" included. The one
// exception is ":memory:", a database in memory that belongs to this handle alone, lives until Close and is served by one
// connection.
//
// A failure names the path and the reason, and leaves nothing new on disk. Depending on the reason it matches
// fs.ErrNotExist, fs.ErrPermission, ErrNotADatabase, ErrWALUnavailable, ErrNetworkFilesystem, ErrBusy or the context's
// error. Open waits for locks of other processes, bounded by ctx and Options.BusyTimeout.
func Open(ctx context.Context, path string, options *Options) (*DB, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, err := options.resolved()
	if err != nil {
		return nil, openError(path, err)
	}
	at, err := locate(ctx, path, &o)
	if err != nil {
		return nil, err
	}
	db := newDB(at.path, o)
	whole := false
	defer func() { // also when Setup panics or ends its goroutine
		if !whole {
			db.abandon()
			at.discard()
		}
	}()
	if err := db.open(ctx, at.created); err != nil {
		return nil, explain(path, err)
	}
	whole = true
	return db, nil
}

func newDB(path string, o Options) *DB {
	db := &DB{path: path, opts: o, memory: path == memoryPath, closed: make(chan struct{})}
	db.queue.Holder = db.holder
	if db.memory {
		db.opts.Pragmas.JournalMode = pragma.JournalMemory // the only one there is, but for OFF
		db.opts.Pragmas.MmapSize = -1                      // there is no file to map
	}
	db.keepWAL = o.Checkpoints == CheckpointsExternal
	if o.Logger != nil {
		db.stopLogging = capi.AddLogger(o.Logger)
	}
	return db
}

// open opens the first connection. created says that there was no database before.
func (db *DB) open(ctx context.Context, created bool) error {
	o := &db.opts
	if o.Mode != ReadOnly {
		keepWAL := db.keepWAL
		db.keepWAL = keepWAL && !created // nothing of a new database may be left where Setup fails
		c, err := db.openWriter(ctx)
		if err != nil {
			return err
		}
		if err := db.useWriter(c); err != nil {
			return err
		}
		if db.keepWAL = keepWAL; keepWAL {
			if err := c.SkipCheckpointOnClose(); err != nil {
				return err
			}
		}
		db.optimizeAtOpen(ctx, c)
	}
	if db.memory {
		db.alone = readers.New(db.writer.Load())
		return nil
	}
	db.readers = readers.NewPool(readers.Config{
		Open:  db.openReader,
		Max:   o.MaxReaders,
		Limit: o.BusyTimeout,
		Idle:  o.ReaderIdle,
	})
	if o.Mode == ReadOnly {
		// Nothing else would find out now that the file cannot be read.
		if err := db.Ping(ctx); err != nil {
			return err
		}
	}
	var err error
	if db.file, err = os.Stat(db.path); err != nil {
		return err
	}
	db.startCheckpoints()
	db.scheduleOptimize()
	return nil
}

// connConfig returns how connections with the given flags are opened.
func (db *DB) connConfig(flags sqlite.OpenFlags) *conn.Config {
	pragmas := db.opts.Pragmas
	if db.checkpointsInBackground() {
		pragmas.WALAutoCheckpoint = -1 // no commit is to do it
	}
	return &conn.Config{
		Path:        db.path,
		Flags:       flags,
		Pragmas:     pragmas,
		Setup:       db.opts.Setup,
		Statements:  db.opts.MaxStatements,
		BusyTimeout: db.opts.BusyTimeout,
		KeepWAL:     db.keepWAL,
		Stop:        &db.stop,
		Recover:     db.opts.Mode != ReadOnly,
	}
}

func (db *DB) openWriter(ctx context.Context) (*conn.Conn, error) {
	flags := sqlite.OpenReadWrite
	if db.memory {
		flags |= sqlite.OpenMemory | sqlite.OpenCreate
	}
	// Not OpenCreate for a file: locate has made it, and one that was deleted since must not come back empty.
	c, err := db.openConn(ctx, flags)
	if err == nil && c.ReadOnly() {
		_ = c.Close()
		return nil, sqlerr.Wrapf(ErrReadOnly, "sqlite: the file can only be read")
	}
	return c, err
}

func (db *DB) openReader(ctx context.Context) (*conn.Conn, error) {
	return db.openConn(ctx, sqlite.OpenReadOnly)
}

// explain names the path, and says what SQLite's words for a log that cannot be shared leave open.
// https://www.sqlite.org/wal.html#read_only_databases
func explain(path string, err error) error {
	failed := new(Error)
	if !errors.As(err, &failed) {
		return fmt.Errorf("sqlite: open %q: %w", path, err)
	}
	switch failed.Code {
	case sqlite.ResultReadOnlyDirectory, sqlite.ResultReadOnlyCantInit:
		return openError(path, fmt.Errorf("its folder may not be written, and its write-ahead log needs -wal and -shm files there: %w", err))
	case sqlite.ResultReadOnlyRollback, sqlite.ResultReadOnlyRecovery:
		return openError(path, fmt.Errorf("a process died in the middle of a transaction, which only opening it to write can undo: %w", err))
	}
	return fmt.Errorf("sqlite: open %q: %w", path, err)
}

// openConn opens a connection and makes sure that it leads to the same file as the others. One that was put in the place of
// the first would be read while the writer still writes to the other.
func (db *DB) openConn(ctx context.Context, flags sqlite.OpenFlags) (*conn.Conn, error) {
	return db.openWith(ctx, db.connConfig(flags))
}

func (db *DB) openWith(ctx context.Context, cfg *conn.Config) (*conn.Conn, error) {
	c, err := conn.Open(ctx, cfg)
	if err != nil || db.file == nil {
		return c, err
	}
	if now, err := os.Stat(db.path); err != nil || !os.SameFile(now, db.file) {
		_ = c.Close()
		return nil, openError(db.path, errors.Join(errors.New("the file was replaced while it was open"), err))
	}
	return c, nil
}
