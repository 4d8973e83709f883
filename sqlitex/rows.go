package sqlitex

import (
	"context"
	"iter"

	"github.com/sanelite/sanelite/internal/query"
	"github.com/sanelite/sanelite/internal/readers"
)

// One runs a query in a read transaction of its own and returns its only row as a T: ErrNoRows if there is none,
// ErrTooManyRows if there are more. T is a scalar for one column, or a struct; see package tx.
func One[T any](ctx context.Context, db *DB, sql string, args ...any) (v T, err error) {
	r, err := db.snapshot(ctx)
	if err != nil {
		return v, err
	}
	defer func() { db.giveUp(r, err) }()
	return query.One[T](r.Conn, false, sql, args)
}

// All is One for any number of rows. Without rows the slice is empty and not nil.
func All[T any](ctx context.Context, db *DB, sql string, args ...any) (rows []T, err error) {
	r, err := db.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { db.giveUp(r, err) }()
	return query.All[T](r.Conn, false, sql, args)
}

// Each returns an iterator over the rows of a query, which runs anew, on a new snapshot, at every range. Rows are read one by
// one: the loop holds a reader and its snapshot until it ends, and may break, return or panic. An error comes as the last
// pair, with a zero T.
func Each[T any](ctx context.Context, db *DB, sql string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		r, err := db.snapshot(ctx)
		if err != nil {
			yield(zero, err)
			return
		}
		defer func() { db.giveUp(r, err) }()
		rows, err := query.Open[T](r.Conn, false, sql, args)
		if err != nil {
			yield(zero, err)
			return
		}
		defer rows.Close()
		for {
			var v T
			var ok bool
			if v, ok, err = rows.Next(); err != nil {
				yield(zero, err)
				return
			}
			if !ok || !yield(v, nil) {
				return
			}
		}
	}
}

// ExecOne runs one statement with a RETURNING clause as Exec does, and returns its only row once that is committed. If it
// returns no row or several, nothing is left behind: ErrNoRows, ErrTooManyRows.
func ExecOne[T any](ctx context.Context, db *DB, sql string, args ...any) (T, error) {
	call := oneCall[T]{sql: sql}
	var zero T
	if err := call.set(ctx, args); err != nil {
		return zero, err
	}
	if err := db.share(ctx, &call.part, call.Do); err != nil {
		return zero, err
	}
	return call.value, nil
}

// snapshot returns a reader in a read transaction, for a one-call function.
func (db *DB) snapshot(ctx context.Context) (*readers.Reader, error) {
	r, err := db.acquireReader(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.Snapshot.Acquire(ctx); err != nil {
		db.releaseReader(r)
		return nil, err
	}
	return r, nil
}

func (db *DB) giveUp(r *readers.Reader, err error) {
	r.Snapshot.Release(err)
	db.releaseReader(r)
}
