package tx

import (
	"fmt"
	"iter"
	"slices"

	"github.com/sanelite/sanelite/internal/query"
)

// ExecEach runs one statement for its effect, once for each row, as Exec in a loop would, and faster: the statement is looked
// up once, and how a T is bound to its parameters is planned once. Kinds of T are
//
//   - a struct, or a pointer to one: its fields go to named parameters, by the rules of [Args]. Parameters without a name are
//     an error, since the order of fields is no promise
//   - a slice or an array: its elements go to the parameters by position. A []any may hold all that Exec takes
//   - anything else: the value of the only parameter
//
// RowsAffected is the sum over all rows, and LastInsertID the rowid that was added last.
//
// The first error ends it, and says at which row, counted from 1. The rows before stay part of the transaction, and are in the
// Result: return the error to undo everything, or put the call into a [Writer.Savepoint] to undo it alone. A T that will never
// fit is an error before the first row is asked for. For a source that can fail, keep its error and look at it afterwards.
//
// While rows produces the next row, nothing is locked: it may run statements of the same Writer.
func ExecEach[T any](w *Writer, sql string, rows iter.Seq[T]) (Result, error) {
	t, bulk, err := openBulk[T](w, sql)
	if err != nil {
		return Result{}, err
	}
	defer closeBulk(t, &bulk)
	n := 0
	for row := range rows {
		n++
		if err := execRow(w, &bulk, n, row); err != nil {
			return Result(bulk.Result), err
		}
	}
	return Result(bulk.Result), nil
}

// ExecAll is ExecEach for the rows of a slice.
func ExecAll[T any](w *Writer, sql string, rows []T) (Result, error) {
	return ExecEach(w, sql, slices.Values(rows))
}

func openBulk[T any](w *Writer, sql string) (t *transaction, bulk query.Bulk[T], err error) {
	if t, err = w.enter(); err != nil {
		return nil, bulk, err
	}
	defer t.leave()
	bulk, err = query.OpenBulk[T](t.conn, sql)
	return t, bulk, t.watch(err)
}

func execRow[T any](w *Writer, bulk *query.Bulk[T], n int, row T) error {
	t, err := w.enter()
	if err != nil {
		return atRow(n, err)
	}
	defer t.leave()
	if err := bulk.Exec(t.conn, row); err != nil {
		return t.watch(atRow(n, err))
	}
	return nil
}

func atRow(n int, err error) error { return fmt.Errorf("sqlite: row %d: %w", n, err) }

// closeBulk gives the statement back, unless the transaction has ended and taken it already.
func closeBulk[T any](t *transaction, bulk *query.Bulk[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		bulk.Close(t.conn)
	}
}
