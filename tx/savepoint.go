package tx

import (
	"strconv"

	"github.com/sanelite/sanelite/internal/query"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// Savepoint runs fn in a nested transaction. If fn returns an error, panics or ends its goroutine, what was done since
// Savepoint began is undone, this alone, and the error returned; the outer transaction can go on. Savepoints nest.
// https://www.sqlite.org/lang_savepoint.html
//
// What other goroutines do with the outer Writer meanwhile belongs to the savepoint too. Two of them must not have
// savepoints that overlap, nor may one outlive the function given to Write: nothing of the transaction is kept then.
func (w *Writer) Savepoint(fn func(w *Writer) error) (err error) {
	inner := &Writer{t: w.t}
	mark, err := w.savepoint()
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if e := inner.endSavepoint(mark, keep); e != nil {
			err = e
		}
	}()
	if err = fn(inner); err == nil {
		keep = true
	}
	return err
}

// savepointMark is the state to which a failing savepoint returns.
type savepointMark struct {
	depth, onCommit int
}

// name is made of the depth, not of random characters: the statements stay in the cache.
func (m savepointMark) name() string { return "sanelite_" + strconv.Itoa(m.depth) }

func (w *Writer) savepoint() (savepointMark, error) {
	t, err := w.enter()
	if err != nil {
		return savepointMark{}, err
	}
	defer t.leave()
	m := savepointMark{depth: t.depth, onCommit: len(t.onCommit)}
	if err := query.Control(t.conn, "SAVEPOINT "+m.name()); err != nil {
		return m, t.watch(err)
	}
	t.depth++
	return m, nil
}

// endSavepoint releases a savepoint, after undoing it unless it is to be kept. An error of its own means that the transaction
// cannot go on.
func (w *Writer) endSavepoint(m savepointMark, keep bool) (err error) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	w.done = true
	switch {
	case t.failure != nil:
		return t.failure
	case t.conn == nil:
		return ErrTxDone
	}
	defer func() { t.failure = err }()
	if t.depth--; t.depth != m.depth {
		return sqlerr.Wrapf(ErrStateChanged, "sqlite: savepoints of two goroutines overlap")
	}
	t.conn.ClearContext() // as a rollback, it must not be interrupted
	defer t.conn.SetContext(t.ctx)
	if !keep {
		t.onCommit = t.onCommit[:m.onCommit]
		if err := query.Control(t.conn, "ROLLBACK TO "+m.name()); err != nil {
			return err
		}
	}
	return query.Control(t.conn, "RELEASE "+m.name())
}
