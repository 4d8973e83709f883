package tx

import (
	"context"
	"fmt"
	"sync"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/query"
)

// transaction is what a Reader and a Writer have in common. It is made anew for each transaction and never used again: a
// value that user code kept answers ErrTxDone and cannot reach the connection, which others have by then.
type transaction struct {
	mu    sync.Mutex // one statement at a time, whichever goroutine it comes from
	conn  *conn.Conn // nil once the transaction has ended
	ctx   context.Context
	write bool

	failure  error // why SQLite rolled back by itself, or a write that failed where nobody could be told
	onCommit []func()
	depth    int // open savepoints
}

// usable reports why no statement may run, or nil. The caller holds mu.
func (t *transaction) usable() error {
	switch {
	case t.conn == nil:
		return ErrTxDone
	case t.failure != nil:
		return t.failure
	}
	return t.ctx.Err()
}

// watch looks at the error of a statement. Some errors make SQLite roll back the whole transaction; from then on it is
// in autocommit mode, where the next statement would stand alone. https://www.sqlite.org/lang_transaction.html
func (t *transaction) watch(err error) error {
	if err != nil && t.failure == nil && t.conn.Autocommit() {
		t.failure = fmt.Errorf("sqlite: transaction was rolled back: %w", err)
	}
	return err
}

// end takes the connection away from whoever still has the Reader or Writer, and from iterators left hanging. It answers
// why the transaction cannot be committed, or nil.
func (t *transaction) end() (failure error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		t.conn.Stmts.Reclaim()
		t.conn = nil
	}
	return t.failure
}

// exec runs a statement for its effect.
func (t *transaction) exec(sql string, args []any) (Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return Result{}, err
	}
	res, err := query.Exec(t.conn, sql, args)
	return Result(res), t.watch(err)
}
