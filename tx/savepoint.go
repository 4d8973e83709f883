package tx

import (
	"strconv"

	"github.com/sanelite/sanelite/internal/query"
)

// Savepoint runs fn in a nested transaction. If fn returns an error, panics or ends its goroutine, what was done since
// Savepoint began is undone, this alone, and the error returned; the outer transaction can go on. Savepoints nest.
// https://www.sqlite.org/lang_savepoint.html
func (w *Writer) Savepoint(fn func(w *Writer) error) (err error) {
	t := w.transaction()
	mark, err := t.savepoint()
	if err != nil {
		return err
	}
	inner := &Writer{t: t}
	keep := false
	defer func() {
		inner.done.Store(true)
		if e := t.endSavepoint(mark, keep); e != nil {
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

func (t *transaction) savepoint() (savepointMark, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(); err != nil {
		return savepointMark{}, err
	}
	m := savepointMark{depth: t.depth, onCommit: len(t.onCommit)}
	if err := query.Control(t.conn, "SAVEPOINT "+m.name()); err != nil {
		return m, t.watch(err)
	}
	t.depth++
	return m, nil
}

// endSavepoint releases a savepoint, after undoing it unless it is to be kept. An error of its own means that the transaction
// cannot go on.
func (t *transaction) endSavepoint(m savepointMark, keep bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.depth--
	if !keep {
		t.onCommit = t.onCommit[:m.onCommit]
	}
	if t.conn == nil || t.failure != nil {
		return t.failure
	}
	t.conn.SetContext(nil) // as a rollback, it must not be interrupted
	defer t.conn.SetContext(t.ctx)
	if !keep {
		if err := query.Control(t.conn, "ROLLBACK TO "+m.name()); err != nil {
			t.failure = err
			return err
		}
	}
	if err := query.Control(t.conn, "RELEASE "+m.name()); err != nil {
		t.failure = err
		return err
	}
	return nil
}
