package tx

import (
	"iter"

	"github.com/sanelite/sanelite/internal/query"
)

// One returns the only row of a query as a T: ErrNoRows if there is none, ErrTooManyRows if there are more. T is a scalar
// for one column, or a struct; see the package documentation.
func One[T any](q Queryer, sql string, args ...any) (T, error) {
	t := q.transaction()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		var zero T
		return zero, err
	}
	v, err := query.One[T](t.conn, t.write, sql, args)
	return v, t.watch(err)
}

// All returns all rows of a query. Without rows the slice is empty and not nil.
func All[T any](q Queryer, sql string, args ...any) ([]T, error) {
	t := q.transaction()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return nil, err
	}
	rows, err := query.All[T](t.conn, t.write, sql, args)
	return rows, t.watch(err)
}

// Each returns an iterator over the rows of a query, which runs anew at every range. Rows are read one by one; the loop may
// run other statements, break, return or panic. An error comes as the last pair, with a zero T.
//
// The loop must not be left hanging in an iter.Pull that outlives the transaction: it then ends with ErrTxDone.
func Each[T any](q Queryer, sql string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		t := q.transaction()
		rows, err := openRows[T](t, sql, args)
		if err != nil {
			var zero T
			yield(zero, err)
			return
		}
		defer closeRows(t, &rows)
		for {
			v, ok, err := nextRow(t, &rows)
			if err != nil {
				yield(v, err)
				return
			}
			if !ok || !yield(v, nil) {
				return
			}
		}
	}
}

func openRows[T any](t *transaction, sql string, args []any) (query.Rows[T], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return query.Rows[T]{}, err
	}
	rows, err := query.Open[T](t.conn, t.write, sql, args)
	return rows, t.watch(err)
}

func nextRow[T any](t *transaction, rows *query.Rows[T]) (v T, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return v, false, err
	}
	v, ok, err = rows.Next()
	return v, ok, t.watch(err)
}

// closeRows gives the statement back, unless the transaction has ended and taken it already. Where a statement that writes
// fails on its way to the end after the loop was left, nobody could be told: the transaction fails instead.
func closeRows[T any](t *transaction, rows *query.Rows[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		return
	}
	if err := t.watch(rows.Close()); err != nil && t.failure == nil {
		t.failure = err
	}
}
