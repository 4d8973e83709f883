package sqlitex

import (
	"context"
	"fmt"

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
	db, err := openAt(ctx, at.path, o)
	if err != nil {
		at.discard()
		return nil, fmt.Errorf("sqlite: open %q: %w", path, err)
	}
	return db, nil
}

func openAt(ctx context.Context, path string, o Options) (_ *DB, err error) {
	db := &DB{path: path, opts: o, memory: path == memoryPath, closed: make(chan struct{})}
	db.queue.Holder = db.holder
	if db.memory {
		db.opts.Pragmas.JournalMode = pragma.JournalMemory // the only one there is, but for OFF
	}
	if o.Logger != nil {
		db.stopLogging = capi.AddLogger(o.Logger)
	}
	defer func() {
		if err != nil {
			db.abandon()
		}
	}()
	if o.Mode != ReadOnly {
		c, err := db.openWriter(ctx)
		if err != nil {
			return nil, err
		}
		db.writer.Store(c)
		db.optimizeAtOpen(ctx, c)
	}
	if db.memory {
		db.alone = readers.New(db.writer.Load())
		return db, nil
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
			return nil, err
		}
	}
	db.scheduleOptimize()
	return db, nil
}

// connConfig returns how connections with the given flags are opened.
func (db *DB) connConfig(flags sqlite.OpenFlags) *conn.Config {
	return &conn.Config{
		Path:        db.path,
		Flags:       flags,
		Pragmas:     db.opts.Pragmas,
		Setup:       db.opts.Setup,
		Statements:  db.opts.MaxStatements,
		BusyTimeout: db.opts.BusyTimeout,
		KeepWAL:     db.opts.Checkpoints == CheckpointsExternal,
	}
}

func (db *DB) openWriter(ctx context.Context) (*conn.Conn, error) {
	flags := sqlite.OpenReadWrite
	if db.memory {
		flags |= sqlite.OpenMemory | sqlite.OpenCreate
	}
	// Not OpenCreate for a file: locate has made it, and one that was deleted since must not come back empty.
	c, err := conn.Open(ctx, db.connConfig(flags))
	if err == nil && c.ReadOnly() {
		_ = c.Close()
		return nil, sqlerr.Wrapf(ErrReadOnly, "sqlite: the file can only be read")
	}
	return c, err
}

func (db *DB) openReader(ctx context.Context) (*conn.Conn, error) {
	return conn.Open(ctx, db.connConfig(sqlite.OpenReadOnly))
}
