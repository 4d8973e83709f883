package tx

import (
	"context"

	"github.com/sanelite/sanelite/internal/query"
)

// Writer is a write transaction. It holds the write lock of the database from its first moment, so that no statement fails
// for want of it. Several goroutines may use it; their statements run one at a time. It is valid until the function it was
// passed to returns, and answers ErrTxDone afterwards.
type Writer struct {
	t    *transaction
	done bool // the savepoint has ended; the transaction may go on. Guarded by t.mu
}

func (w *Writer) enter() (*transaction, error) {
	t, err := w.t.enter()
	if err == nil && w.done {
		t.leave()
		return nil, ErrTxDone
	}
	return t, err
}

// Result says what a statement did.
type Result struct {
	// RowsAffected counts the rows that an INSERT, UPDATE or DELETE changed itself, without those of triggers and foreign
	// key actions; 0 for other statements. https://www.sqlite.org/c3ref/changes.html
	RowsAffected int64
	// LastInsertID is the rowid of the last row that an INSERT added; 0 if it added none (all rows were ignored, or updated
	// by an upsert), and for other statements. https://www.sqlite.org/c3ref/last_insert_rowid.html
	LastInsertID int64
}

// Context returns the context of the transaction, to be passed on to callees.
func (w *Writer) Context() context.Context { return w.t.ctx }

// Exec runs one statement to its end. Rows that it returns are dropped: read them with One, All or Each.
//
// The number of args must match the parameters of the statement, see the package documentation. An error leaves the
// transaction as SQLite does: usually without the statement's effects, ready for the next one.
func (w *Writer) Exec(sql string, args ...any) (Result, error) {
	t, err := w.enter()
	if err != nil {
		return Result{}, err
	}
	defer t.leave()
	res, err := query.Exec(t.conn, sql, args)
	return Result(res), t.watch(err)
}

// OnCommit calls fn after the transaction has been committed, and never otherwise: not after a rollback, and not when the
// savepoint in which it was registered is undone. Functions run in the order of their registration, on the goroutine that
// called Write, before Write returns and after the writer was released: they may write again.
func (w *Writer) OnCommit(fn func()) {
	t, err := w.enter()
	if err != nil {
		return // there will be no commit, or it is over
	}
	defer t.leave()
	t.onCommit = append(t.onCommit, fn)
}
