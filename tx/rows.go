package tx

import (
	"iter"

	"github.com/sanelite/sanelite/internal/query"
)

// One returns the only row of a query as a T: ErrNoRows if there is none, ErrTooManyRows if there are more. T is a scalar
// for one column, or a struct; see the package documentation.
func One[T any](q Queryer, sql string, args ...any) (T, error) {
	t, err := q.enter()
	if err != nil {
		var zero T
		return zero, err
	}
	defer t.leave()
	v, err := query.One[T](t.conn, t.write, sql, args)
	return v, t.watch(err)
}

// All returns all rows of a query. Without rows the slice is empty and not nil.
func All[T any](q Queryer, sql string, args ...any) ([]T, error) {
	t, err := q.enter()
	if err != nil {
		return nil, err
	}
	defer t.leave()
	rows, err := query.All[T](t.conn, t.write, sql, args)
	return rows, t.watch(err)
}

// Each returns an iterator over the rows of a query, which runs anew at every range. Rows are read one by one; the loop may
// run other statements, break, return or panic. An error comes as the last pair, with a zero T.
//
// A statement that writes has run to its end, and its RETURNING rows have been read, before the loop sees the first.
//
// The loop must not be left hanging in an iter.Pull that outlives the transaction: it then ends with ErrTxDone.
func Each[T any](q Queryer, sql string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		t, rows, err := openRows[T](q, sql, args)
		if err != nil {
			var zero T
			yield(zero, err)
			return
		}
		defer closeRows(t, &rows)
		for {
			v, ok, err := nextRow(q, &rows)
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

func openRows[T any](q Queryer, sql string, args []any) (t *transaction, rows query.Rows[T], err error) {
	if t, err = q.enter(); err != nil {
		return nil, rows, err
	}
	defer t.leave()
	rows, err = query.Open[T](t.conn, t.write, sql, args)
	return t, rows, t.watch(err)
}

func nextRow[T any](q Queryer, rows *query.Rows[T]) (v T, ok bool, err error) {
	t, err := q.enter()
	if err != nil {
		return v, false, err
	}
	defer t.leave()
	v, ok, err = rows.Next()
	return v, ok, t.watch(err)
}

// closeRows gives the statement back, unless the transaction has ended and taken it already.
func closeRows[T any](t *transaction, rows *query.Rows[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		rows.Close()
	}
}
