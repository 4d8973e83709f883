package sqlitex

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/conn"
)

// ReadConn lends fn a connection that reads, for what only zombiezen's own API offers: incremental blobs, sessions,
// serialization. No transaction is open.
//
// Afterwards the connection is brought back to its configured state: a transaction that was left open is rolled back and
// reported as ErrStateChanged, pragmas, attached databases and temporary objects are restored. Functions, collations and
// an authorizer that fn sets stay, since SQLite cannot tell that they are there: set those in Options.Setup. The
// connection, its statements and blobs must not be used after fn has returned. ReadConn waits as Read does.
func (db *DB) ReadConn(ctx context.Context, fn func(c *sqlite.Conn) error) (err error) {
	r, err := db.acquireReader(ctx)
	if err != nil {
		return err
	}
	defer func() {
		whole, report := db.restore(r.Conn)
		err = errors.Join(err, report)
		if !whole && !db.memory {
			db.readers.Discard(r)
			return
		}
		db.releaseReader(r)
	}()
	r.Snapshot.GiveUp()
	r.Snapshot.Forget()
	return db.lend(ctx, r.Conn, true, fn)
}

// WriteConn lends fn the connection that writes, when its turn has come, under the terms of ReadConn. No transaction is
// open. It waits as Write does.
func (db *DB) WriteConn(ctx context.Context, fn func(c *sqlite.Conn) error) (err error) {
	c, err := db.acquireWriter(ctx)
	if err != nil {
		return err
	}
	defer func() {
		whole, report := db.restore(c)
		err = errors.Join(err, report)
		if !whole && !db.memory {
			db.dropWriter()
			db.queue.Release()
			return
		}
		db.releaseWriter()
	}()
	c.User.Runs(fn)
	return db.lend(ctx, c, false, fn)
}

func (db *DB) lend(ctx context.Context, c *conn.Conn, readOnly bool, fn func(*sqlite.Conn) error) error {
	c.SetContext(ctx)
	defer c.ClearContext()
	if readOnly && db.memory { // a connection that can write stands in for a reader
		if err := c.RunOnce("PRAGMA query_only = 1"); err != nil {
			return err
		}
	}
	return c.Explain(fn(c.Zombie()))
}

func (db *DB) restore(c *conn.Conn) (whole bool, report error) {
	if db.memory {
		_ = c.RunOnce("PRAGMA query_only = 0")
	}
	report, whole = c.Restore()
	return whole, report
}
