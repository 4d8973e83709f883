package tx

import "github.com/sanelite/sanelite/internal/query"

// Script runs the statements of sql one after the other, for instance a schema. They take no arguments, and rows are
// dropped. It stops at the first error, whose SQL begins with the statement that failed; what ran before stays part of
// the transaction, so return the error to undo it.
func (w *Writer) Script(sql string) error {
	t, err := w.enter()
	if err != nil {
		return err
	}
	defer t.leave()
	return t.watch(query.Script(t.conn, sql))
}
