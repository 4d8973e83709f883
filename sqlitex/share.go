package sqlitex

import (
	"context"
	"errors"
	"sync"

	"github.com/sanelite/sanelite/internal/bind"
	"github.com/sanelite/sanelite/internal/commit"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/query"
	"github.com/sanelite/sanelite/internal/scan"
	"github.com/sanelite/sanelite/internal/sqltext"
	"github.com/sanelite/sanelite/internal/writer"
	"github.com/sanelite/sanelite/tx"
)

// Batch runs fn in a write transaction, as Write does, but shares the transaction, and with it the cost of the commit, with
// others who wait for the writer: many goroutines that write little commit several times as much this way. Alone it costs
// what Write does.
//
// fn may run more than once: where the shared transaction fails as a whole, each fn runs again in one of its own. It must
// have no effect but through w; OnCommit functions of a run that was undone are not called. Each fn runs on the goroutine that
// called Batch, in a savepoint: its error, panic or runtime.Goexit undoes it alone. Batch returns nil when the transaction
// has been committed.
func (db *DB) Batch(ctx context.Context, fn func(w *tx.Writer) error) error {
	var onCommit []func()
	p := writer.Part{Context: ctx}
	err := db.share(ctx, &p, func(c *conn.Conn) (err error) {
		onCommit, err = tx.RunPart(ctx, c, fn)
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range onCommit {
		f()
	}
	return nil
}

// Exec runs one statement in a write transaction, and returns when that is committed. The transaction is shared with others
// who wait for the writer, which nobody notices but by its speed: an error concerns this statement alone, and leaves nothing
// of it behind, not even the rows that `INSERT OR FAIL` would keep. It waits as Write does.
func (db *DB) Exec(ctx context.Context, sql string, args ...any) (tx.Result, error) {
	call := execCalls.Get().(*execCall)
	defer call.recycle()
	if err := call.set(ctx, sql, args); err != nil {
		return tx.Result{}, err
	}
	if err := db.share(ctx, &call.part, call.do); err != nil {
		return tx.Result{}, err
	}
	return tx.Result(call.result), nil
}

// execCall is one call of Exec. It is reused.
type execCall struct {
	part   writer.Part
	sql    string
	args   []any
	result query.Result
	do     func(*conn.Conn) error
}

var execCalls = sync.Pool{New: func() any {
	e := new(execCall)
	e.do = e.Do
	return e
}}

// set notes what is to be done. Arguments are converted now, since that may run code of the caller's (a Valuer), which must
// not happen on the goroutine of another.
func (e *execCall) set(ctx context.Context, sql string, args []any) (err error) {
	e.part = writer.Part{Work: e, Context: ctx, Alone: !shareable(sql)}
	e.sql = sql
	e.args = append(e.args[:0], args...)
	e.args, err = bind.Convert(e.args)
	return err
}

// Do runs the statement.
func (e *execCall) Do(c *conn.Conn) (err error) {
	e.result, err = query.Exec(c, e.sql, e.args)
	return err
}

func (e *execCall) recycle() {
	clear(e.args)
	*e = execCall{args: e.args[:0], do: e.do}
	execCalls.Put(e)
}

// oneCall is one call of ExecOne.
type oneCall[T any] struct {
	part  writer.Part
	sql   string
	args  []any
	value T
}

func (o *oneCall[T]) set(ctx context.Context, args []any) (err error) {
	o.part = writer.Part{Context: ctx, Alone: !shareable(o.sql)}
	if scan.Static[T]() { // else reading the row calls a Scanner or UnmarshalJSON, which must run on the caller's own goroutine
		o.part.Work = o
	}
	o.args, err = bind.Convert(args)
	return err
}

// Do runs the statement and reads its row. A statement that returns too many rows has changed some: the transaction is undone.
func (o *oneCall[T]) Do(c *conn.Conn) (err error) {
	o.value, err = query.One[T](c, true, o.sql, o.args)
	return err
}

// shareable reports whether sql only changes or reads rows. Whatever changes the schema or settings has the transaction for
// itself: neighbours would notice.
func shareable(sql string) bool {
	switch sqltext.Classify(sql).Kind {
	case sqltext.Query, sqltext.With, sqltext.Change:
		return true
	}
	return false
}

// share has do, the work of p, done in a transaction that others may share, on this goroutine or that of a leader.
func (db *DB) share(ctx context.Context, p *writer.Part, do func(*conn.Conn) error) error {
	if err := db.writable(ctx); err != nil {
		return err
	}
	turn, err := db.queue.Enter(ctx, db.opts.BusyTimeout, p)
	for err == nil {
		switch turn {
		case writer.Done:
			return nil
		case writer.Lead:
			return db.lead(ctx, p, do)
		case writer.Run:
			turn, err = db.runPart(p, do)
		}
	}
	return err
}

// lead opens the transaction. The caller has the writer.
func (db *DB) lead(ctx context.Context, p *writer.Part, do func(*conn.Conn) error) error {
	defer db.queue.Release()
	for {
		c, err := db.takeWriter(ctx)
		if err != nil {
			return err
		}
		err = func() error {
			defer db.checkWriter()
			err := commit.Lead(ctx, c, &db.queue, p, do)
			if c.Holding() {
				db.boundHold()
			}
			return err
		}()
		if !errors.Is(err, commit.ErrAgain) {
			return err
		}
	}
}

// runPart does the work of p for its leader, who waits on another goroutine and gets the connection back whatever happens, and
// answers how the transaction ended. A panic goes on only then: where everything was undone it may have come of what a
// neighbour did, and the work is done again.
func (db *DB) runPart(p *writer.Part, do func(*conn.Conn) error) (turn writer.Turn, err error) {
	returned := false
	p.Err = errUnfinished
	defer func() {
		p.Return()
		turn, err = db.queue.Outcome(db.opts.BusyTimeout, p)
		if returned || err != nil || turn != writer.Lead {
			return
		}
		if recover() == nil { // runtime.Goexit, which nothing stops
			db.queue.Release()
			turn, err = writer.Done, errUnfinished
		}
	}()
	p.Err = do(db.writer.Load())
	returned = true
	return turn, err
}

// errUnfinished stands for the work of a part that panicked or ended its goroutine.
var errUnfinished = errors.New("sqlite: batch function did not return")
