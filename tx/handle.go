package tx

import "context"

// ReadHandle can run read transactions; *sqlitex.DB is one.
type ReadHandle interface {
	Read(ctx context.Context, fn func(*Reader) error) error
}

// WriteHandle can run write transactions; *sqlitex.DB is one.
type WriteHandle interface {
	Write(ctx context.Context, fn func(*Writer) error) error
}

// BatchHandle can run write transactions that share a commit; *sqlitex.DB is one.
type BatchHandle interface {
	Batch(ctx context.Context, fn func(*Writer) error) error
}

// Read runs fn in a read transaction and returns its result. On an error the result is the zero T.
func Read[T any](ctx context.Context, db ReadHandle, fn func(*Reader) (T, error)) (T, error) {
	var result T
	err := db.Read(ctx, func(r *Reader) (err error) {
		result, err = fn(r)
		return err
	})
	return orZero(result, err)
}

// Write runs fn in a write transaction and returns its result once that is committed. On an error the transaction was
// rolled back and the result is the zero T.
func Write[T any](ctx context.Context, db WriteHandle, fn func(*Writer) (T, error)) (T, error) {
	var result T
	err := db.Write(ctx, func(w *Writer) (err error) {
		w.t.conn.User.Runs(fn) // not this closure
		result, err = fn(w)
		return err
	})
	return orZero(result, err)
}

// Batch is Write in a transaction that is shared with others who wait for the writer. fn may run more than once, and must
// have no effect but through its Writer; see the method of the handle.
func Batch[T any](ctx context.Context, db BatchHandle, fn func(*Writer) (T, error)) (T, error) {
	var result T
	err := db.Batch(ctx, func(w *Writer) (err error) {
		w.t.conn.User.Runs(fn) // not this closure
		result, err = fn(w)
		return err
	})
	return orZero(result, err)
}

func orZero[T any](v T, err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}
