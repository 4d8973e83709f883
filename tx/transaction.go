package tx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/goroutine"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// transaction is what a Reader and a Writer have in common. It is made anew for each transaction and never used again: a
// value that user code kept answers ErrTxDone and cannot reach the connection, which others have by then.
type transaction struct {
	mu     sync.Mutex     // one statement at a time, whichever goroutine it comes from
	inside atomic.Uintptr // the goroutine whose statement runs; see package goroutine
	conn   *conn.Conn     // nil once the transaction has ended
	ctx    context.Context
	write  bool

	failure  error // why the transaction can no longer be committed, for instance since SQLite rolled back by itself
	onCommit []func()
	depth    int // open savepoints
}

// enter locks t for one statement, or reports why none may run. Without an error the caller must leave.
func (t *transaction) enter() (*transaction, error) {
	me := goroutine.ID()
	if me != 0 && t.inside.Load() == me {
		return nil, errNested
	}
	t.mu.Lock()
	if err := t.usable(); err != nil {
		t.mu.Unlock()
		return nil, err
	}
	t.inside.Store(me)
	return t, nil
}

var errNested = sqlerr.Wrapf(ErrBusy, "sqlite: a Valuer, Scanner or UnmarshalJSON runs a statement of the transaction whose statement called it")

// leave unlocks t, also while a statement panics. SQLite does not undo the rows that it has written.
func (t *transaction) leave() {
	if t.failure == nil && t.conn.Unwound() {
		t.failure = errTorn
	}
	t.inside.Store(0)
	t.mu.Unlock()
}

var errTorn = errors.New("sqlite: a panic in an SQL function has left a statement unfinished in this transaction")

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
		if t.depth > 0 && t.failure == nil { // in another goroutine: whether it is to be kept, nobody knows yet
			t.failure = sqlerr.Wrapf(ErrStateChanged, "sqlite: a Savepoint was still running when the function given to Write returned")
		}
	}
	return t.failure
}
