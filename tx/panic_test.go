package tx_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// leave are the ways to leave a function other than by return, with what recover sees.
var leave = map[string]struct {
	do    func()
	check func(t *testing.T, recovered any)
}{
	"a string": {func() { panic("boom") }, func(t *testing.T, r any) { assert.Equal(t, "boom", r) }},
	"an error": {func() { panic(errTest) }, func(t *testing.T, r any) { assert.Equal(t, errTest, r) }},
	"a runtime error": {func() { _ = []int(nil)[runtime.NumCPU()] }, func(t *testing.T, r any) {
		var e runtime.Error
		assert.ErrorAs(t, r.(error), &e)
	}},
	"nil": {func() { panic(nil) }, func(t *testing.T, r any) { //nolint:govet // panic(nil) is the case
		var e *runtime.PanicNilError
		assert.ErrorAs(t, r.(error), &e)
	}},
	"a value that cannot be compared": {func() { panic([]int{1}) }, func(t *testing.T, r any) { assert.Equal(t, []int{1}, r) }},
	"Goexit":                          {runtime.Goexit, func(t *testing.T, r any) { assert.Nil(t, r) }}, // as t.FailNow does
}

// outcome runs fn on a goroutine of its own, and tells what it panicked with and whether it returned.
func outcome(fn func()) (recovered any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { recovered = recover() }()
		fn()
		returned = true
	}()
	<-done
	return recovered, returned
}

// case T2
func TestAFunctionThatDoesNotReturnLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	places := map[string]func(w *tx.Writer, do func()) error{
		"in Write":       func(_ *tx.Writer, do func()) error { do(); return nil },
		"in a Savepoint": func(w *tx.Writer, do func()) error { return w.Savepoint(func(*tx.Writer) error { do(); return nil }) },
		"three Savepoints deep": func(w *tx.Writer, do func()) error {
			return w.Savepoint(func(w *tx.Writer) error {
				return w.Savepoint(func(w *tx.Writer) error { return w.Savepoint(func(*tx.Writer) error { do(); return nil }) })
			})
		},
		"in a loop over rows": func(w *tx.Writer, do func()) error {
			for range tx.Each[int64](w, `SELECT id FROM t`) {
				do()
			}
			return nil
		},
		"in a loop over RETURNING": func(w *tx.Writer, do func()) error {
			for range tx.Each[int64](w, `INSERT INTO t (id) VALUES (5), (6) RETURNING id`) {
				do()
			}
			return nil
		},
		"in a Valuer": func(w *tx.Writer, do func()) error {
			_, err := w.Exec(`INSERT INTO t (n) VALUES (?)`, valuer(do))
			return err
		},
		"in a Scanner": func(w *tx.Writer, do func()) error {
			scanning.Lock()
			defer scanning.Unlock()
			scanning.do = do
			_, err := tx.One[scanner](w, `INSERT INTO t (n) VALUES (9) RETURNING id`)
			return err
		},
	}
	for place, run := range places {
		for what, how := range leave {
			t.Run(place+"/"+what, func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, nil, table)
				hooks := 0
				recovered, returned := outcome(func() {
					_ = db.Write(bg, func(w *tx.Writer) error {
						w.OnCommit(func() { hooks++ })
						exec(t, w, `INSERT INTO t (id) VALUES (1)`)
						return run(w, how.do)
					})
				})
				assert.False(t, returned)
				how.check(t, recovered)
				assert.Zero(t, hooks)
				holds(t, db)
			})
		}
	}
}

func TestAReadThatDoesNotReturnGivesItsReaderBack(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, table+`; INSERT INTO t (id) VALUES (1), (2)`)
	for what, how := range leave {
		for _, fn := range []func(r *tx.Reader){
			func(*tx.Reader) { how.do() },
			func(r *tx.Reader) {
				for range tx.Each[int64](r, `SELECT id FROM t`) {
					how.do()
				}
			},
			func(r *tx.Reader) { _, _ = tx.All[int64](r, `SELECT ?`, valuer(how.do)) },
		} {
			recovered, returned := outcome(func() { _ = db.Read(bg, func(r *tx.Reader) error { fn(r); return nil }) })
			assert.False(t, returned, what)
			how.check(t, recovered)
		}
		recovered, returned := outcome(func() { _, _ = sqlitex.All[int64](bg, db, `SELECT ?`, valuer(how.do)) })
		assert.False(t, returned, what)
		how.check(t, recovered)
		recovered, returned = outcome(func() { _, _ = db.Exec(bg, `INSERT INTO t (n) VALUES (?)`, valuer(how.do)) })
		assert.False(t, returned, what)
		how.check(t, recovered)
	}
	holds(t, db, 1, 2)
	assert.Zero(t, db.Stats().Readers.InUse)
}

func TestAPanicThatFnRecoversFromUndoesItsSavepointAlone(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		exec(t, w, `INSERT INTO t (id) VALUES (1)`)
		assert.PanicsWithValue(t, "boom", func() {
			_ = w.Savepoint(func(w *tx.Writer) error {
				exec(t, w, `INSERT INTO t (id) VALUES (2)`)
				panic("boom")
			})
		})
		exec(t, w, `INSERT INTO t (id) VALUES (3)`)
		return nil
	})
	holds(t, db, 1, 3)
}

// The statement that a panic interrupted is as good as new, in the same transaction and in the next.
func TestAPanicInUserCodeDoesNotSpoilTheStatement(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	const insert = `INSERT INTO t (id, n) VALUES (?, ?)`
	write(t, db, func(w *tx.Writer) error {
		assert.Panics(t, func() { _, _ = w.Exec(insert, 1, valuer(func() { panic("boom") })) })
		exec(t, w, insert, 2, 2)
		scanning.Lock()
		defer scanning.Unlock()
		scanning.do = func() { panic("boom") }
		assert.Panics(t, func() { _, _ = tx.All[scanner](w, `SELECT id FROM t`) })
		assert.Panics(t, func() { _, _ = tx.One[scanner](w, `INSERT INTO t (id) VALUES (3) RETURNING id`) })
		got, err := tx.All[int64](w, `SELECT id FROM t ORDER BY id`)
		assert.Equal(t, []int64{2, 3}, got)
		return err
	})
	for range 3 {
		assert.Panics(t, func() { _, _ = db.Exec(bg, insert, 1, valuer(func() { panic("boom") })) })
	}
	_, err := db.Exec(bg, insert, 4, 4)
	require.NoError(t, err)
	holds(t, db, 2, 3, 4)
}

// valuer runs code of a test's while arguments are bound.
type valuer func()

func (v valuer) Value() (driver.Value, error) {
	v()
	return nil, errors.New("the code has returned")
}

// scanner runs scanning.do while a row is read.
type scanner struct{}

var scanning struct {
	sync.Mutex
	do func()
}

func (*scanner) Scan(any) error {
	scanning.do()
	return nil
}

// A panic of an SQL function passes through the middle of a statement, whose rows so far SQLite does not undo. Whoever
// recovers from it inside of fn must not commit half of an UPDATE.
func TestAPanicInTheMiddleOfAStatementFailsTheTransaction(t *testing.T) {
	t.Parallel()
	setup := func(_ context.Context, c *sqlite.Conn) error {
		return c.CreateFunction("boom", &sqlite.FunctionImpl{NArgs: 1, Scalar: func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
			if args[0].Int64() == 2 {
				panic("boom")
			}
			return args[0], nil
		}})
	}
	db := dbtest.Open(t, &sqlitex.Options{Setup: setup}, table+`; INSERT INTO t (id, n) VALUES (1, 10), (2, 20), (3, 30)`)
	const update = `UPDATE t SET n = boom(id)`
	ways := map[string]func(w *tx.Writer){
		"Exec":   func(w *tx.Writer) { _, _ = w.Exec(update) },
		"All":    func(w *tx.Writer) { _, _ = tx.All[int64](w, update+` RETURNING id`) },
		"One":    func(w *tx.Writer) { _, _ = tx.One[int64](w, update+` RETURNING id`) },
		"Each":   func(w *tx.Writer) { ids(t, tx.Each[int64](w, update+` RETURNING id`)) },
		"SELECT": func(w *tx.Writer) { ids(t, tx.Each[int64](w, `SELECT boom(id) FROM t`)) },
		"Script": func(w *tx.Writer) { _ = w.Script(`SELECT 1; ` + update) },
	}
	for name, run := range ways {
		err := db.Write(bg, func(w *tx.Writer) error {
			exec(t, w, `INSERT INTO t (id) VALUES (4)`)
			assert.PanicsWithValue(t, "boom", func() { run(w) }, name)
			_, err := w.Exec(`SELECT 1`)
			assert.Error(t, err, name)
			return nil
		})
		require.ErrorContains(t, err, "panic", name)
		assert.PanicsWithValue(t, "boom", func() { _ = db.Write(bg, func(w *tx.Writer) error { run(w); return nil }) }, name)
		err = db.Read(bg, func(r *tx.Reader) error {
			assert.Panics(t, func() { _, _ = tx.All[int64](r, `SELECT boom(id) FROM t`) })
			return nil
		})
		require.ErrorContains(t, err, "panic", name)
		holds(t, db, 1, 2, 3)
		assert.Equal(t, []int64{10, 20, 30}, ints(t, db, `SELECT n FROM t ORDER BY id`), name)
	}
	assert.Panics(t, func() { _, _ = db.Exec(bg, update) })
	_, err := db.Exec(bg, `SELEC 1`)
	require.ErrorIs(t, err, tx.ErrSyntax)
	holds(t, db, 1, 2, 3)
}
