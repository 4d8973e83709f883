package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/wait"
)

// Restore checks the file at path and brings its content into the database that db has open, in one transaction: whoever reads
// sees the old content or the new, never a mixture, and prepared statements and snapshots of all connections and processes
// renew themselves. It waits for its turn as a writer, and holds it until the new content is committed.
//
// The file and the open database must have the same page size (ErrPageSize) and text encoding (ErrEncoding); where they differ,
// close the database and use RestoreFile. A database that is open through the file at path is ErrSame. When Restore fails, the old content is
// there as before. Of Options, Verify, Setup, Progress and those about speed apply. In WAL mode the log grows by the size
// of the file until the next checkpoint.
func Restore(ctx context.Context, db Target, path string, options *Options) (Result, error) {
	return perform(ctx, options, "restore", path, func(o *Options) (Result, error) { return restore(ctx, db, path, o) })
}

func restore(ctx context.Context, db Target, path string, o *Options) (result Result, err error) {
	if err := refuseTarget(path, db.Path()); err != nil {
		return Result{}, err
	}
	f, err := openFile(ctx, path)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if result, err = f.check(ctx, o, 0); err != nil {
		return Result{}, errors.Join(f.changed(), err)
	}
	err = db.WriteConn(ctx, func(c *sqlite.Conn) error { return f.copyOver(ctx, c, o) })
	return result, err
}

// refuseTarget answers ErrSame where path is the database that is to be restored, a link to it, or a side file of it.
func refuseTarget(path, target string) error {
	if target == memoryPath {
		return nil
	}
	path, err := resolve(path)
	if err != nil {
		return err
	}
	return refuseSource(path, target)
}

// copyOver puts the content of f in the place of what c has open.
func (f *file) copyOver(ctx context.Context, c *sqlite.Conn, o *Options) error {
	if err := f.fits(c); err != nil {
		return err
	}
	mode, err := ask[string](c, "PRAGMA journal_mode")
	if err != nil {
		return err
	}
	timeout, err := ask[int64](c, "PRAGMA busy_timeout")
	if err != nil {
		return err
	}
	limit := time.Duration(timeout) * time.Millisecond
	c.SetBusyTimeout(0) // the wait is here, where ctx ends it
	defer c.SetBusyTimeout(limit)
	if limit == 0 {
		limit = defaultWait
	}
	k := pageCopy{
		to: c, from: f.conn.Zombie(), options: o, final: true, last: f.changed,
		failure: func(err error) error { return err }, // step has explained it
		step: func(try func() error) error {
			return wait.Lock(ctx, limit, "another connection's lock, to restore", func() error { return explain(try(), "restore") })
		},
	}
	if _, err := k.run(ctx); err != nil {
		return err
	}
	if mode == "wal" {
		return nil
	}
	// The file may have brought WAL mode with it.
	return wait.Lock(ctx, limit, "other connections, to keep the journal mode", func() error { return run(c, "PRAGMA journal_mode = "+mode) })
}

// fits compares what connections have learnt of their database and cannot learn anew.
func (f *file) fits(c *sqlite.Conn) error {
	for _, same := range []struct {
		pragma string
		differ error
	}{
		{"page_size", ErrPageSize},
		{"encoding", ErrEncoding},
	} {
		theirs, err := ask[string](f.conn.Zombie(), "PRAGMA "+same.pragma)
		if err != nil {
			return err
		}
		ours, err := ask[string](c, "PRAGMA "+same.pragma)
		if err != nil {
			return err
		}
		if theirs != ours {
			return fmt.Errorf("%w: the file has %s, the open database %s: close the database and use backup.RestoreFile", same.differ, theirs, ours)
		}
	}
	return nil
}
