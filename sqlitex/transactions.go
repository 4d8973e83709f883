package sqlitex

import (
	"context"

	"github.com/sanelite/sanelite/tx"
)

// Read runs fn in a read transaction: its statements see one snapshot of the database, which contains everything that had
// been committed when Read was called. It returns the error of fn. While MaxReaders readers are in use it waits, bounded by
// ctx and BusyTimeout.
//
// A long fn does not stop writers, but it keeps the write-ahead log from starting over: the log grows meanwhile.
func (db *DB) Read(ctx context.Context, fn func(r *tx.Reader) error) error {
	r, err := db.acquireReader(ctx)
	if err != nil {
		return err
	}
	defer db.releaseReader(r)
	return tx.RunRead(ctx, r.Conn, &r.Snapshot, fn)
}

// Write runs fn, exactly once, in a write transaction that holds the write lock from the beginning. It commits and returns
// nil if fn returns nil. In every other case, be it an error, a panic, runtime.Goexit, the end of ctx or a COMMIT that
// fails, nothing is left behind, and the error says why.
//
// Write waits for its turn, bounded by ctx and BusyTimeout; callers are served in the order of their arrival. fn should be
// short, since everybody who writes waits for it: no network calls in it.
func (db *DB) Write(ctx context.Context, fn func(w *tx.Writer) error) error {
	onCommit, err := db.write(ctx, fn)
	for _, f := range onCommit {
		f()
	}
	return err
}

func (db *DB) write(ctx context.Context, fn func(w *tx.Writer) error) ([]func(), error) {
	c, err := db.acquireWriter(ctx)
	if err != nil {
		return nil, err
	}
	defer db.releaseWriter()
	return tx.RunWrite(ctx, c, fn)
}
