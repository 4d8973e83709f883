package tx_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

func TestBatchReturnsTheResultOfItsFunction(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	id, err := tx.Batch(bg, db, func(w *tx.Writer) (int64, error) {
		return tx.One[int64](w, `INSERT INTO t (s) VALUES ('x') RETURNING id`)
	})
	require.NoError(t, err)
	assert.Equal(t, ints(t, db, `SELECT id FROM t`), []int64{id})
	holds(t, db, id)
}

func TestBatchReturnsTheZeroValueWithAnError(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	ctx, cancel := context.WithCancel(bg)
	for name, fn := range map[string]func(w *tx.Writer) (string, error){
		"own": func(*tx.Writer) (string, error) { return "result", errTest },
		"foreign": func(w *tx.Writer) (string, error) {
			_, err := w.Exec(`INSERT INTO nowhere VALUES (1)`)
			return "result", err
		},
		"late": func(w *tx.Writer) (string, error) { cancel(); return "result", nil },
	} {
		result, err := tx.Batch(ctx, db, fn)
		require.Error(t, err, name)
		assert.Empty(t, result, name)
		ctx, cancel = context.WithCancel(bg)
	}
	cancel()
	holds(t, db)
}

// The function runs again where the transaction that it shares is undone: the result of the run that was committed counts.
func TestBatchReturnsTheResultOfTheRunThatWasCommitted(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id) VALUES (1)`)
	held, free := make(chan struct{}), make(chan struct{})
	go func() {
		assert.NoError(t, db.Write(bg, func(*tx.Writer) error { close(held); <-free; return nil }))
	}()
	<-held
	type answer struct {
		result, runs, hooks int
		err                 error
	}
	answers := make(chan answer, 2)
	call := func(do func(w *tx.Writer, run int) error) {
		go func() {
			var a answer
			a.result, a.err = tx.Batch(bg, db, func(w *tx.Writer) (int, error) {
				a.runs++
				run := a.runs
				w.OnCommit(func() { a.hooks = 10*a.hooks + run })
				return 100 + run, do(w, run)
			})
			answers <- a
		}()
	}
	call(func(w *tx.Writer, _ int) error { return insert(t, w, 2, nil) })
	waiting(t, db, 1)
	call(func(w *tx.Writer, run int) error {
		if run == 1 {
			_, err := w.Exec(`INSERT OR ROLLBACK INTO t (id) VALUES (1)`)
			return err
		}
		return insert(t, w, 3, nil)
	})
	waiting(t, db, 2)
	close(free)
	for range 2 {
		assert.Equal(t, answer{result: 102, runs: 2, hooks: 2}, <-answers)
	}
	holds(t, db, 1, 2, 3)
}

// waiting returns when n calls queue for the writer.
func waiting(t testing.TB, db *sqlitex.DB, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return db.Stats().Writer.Queued == n }, 20*time.Second, time.Millisecond)
}

// An undone part is undone in all that it has done: savepoints, scripts, loops.
func TestAPartOfABatchIsUndoneAsAWriteIs(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id) VALUES (1), (2)`)
	for name, fn := range map[string]func(w *tx.Writer) error{
		"savepoint": func(w *tx.Writer) error {
			require.NoError(t, w.Savepoint(func(w *tx.Writer) error { return insert(t, w, 3, nil) }))
			return errTest
		},
		"savepoint that never ends": func(w *tx.Writer) error {
			return w.Savepoint(func(w *tx.Writer) error {
				require.NoError(t, insert(t, w, 3, nil))
				return w.Savepoint(func(*tx.Writer) error { return errTest })
			})
		},
		"script": func(w *tx.Writer) error {
			return w.Script(`DELETE FROM t; CREATE TABLE made (x); INSERT INTO nowhere VALUES (1)`)
		},
		"loop": func(w *tx.Writer) error {
			for id, err := range tx.Each[int64](w, `SELECT id FROM t`) {
				require.NoError(t, err)
				exec(t, w, `DELETE FROM t WHERE id = ?`, id)
			}
			return errTest
		},
	} {
		held, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 3)
		go func() { done <- db.Write(bg, func(*tx.Writer) error { close(held); <-free; return nil }) }()
		<-held
		leader := make(chan error, 1)
		go func() {
			_, err := db.Exec(bg, `UPDATE t SET s = ?`, name)
			leader <- err
		}()
		waiting(t, db, 1)
		part := make(chan error, 1)
		go func() { part <- db.Batch(bg, fn) }()
		waiting(t, db, 2)
		close(free)
		require.NoError(t, <-done)
		require.NoError(t, <-leader)
		require.Error(t, <-part, name)
		assert.Equal(t, []int64{1, 2}, ints(t, db, `SELECT id FROM t WHERE s = ?`, name), name)
		assert.Equal(t, []int64{1}, ints(t, db, `SELECT count(*) FROM sqlite_schema WHERE type = 'table'`), name)
	}
	holds(t, db, 1, 2)
}

func ExampleBatch() {
	ctx := context.Background()
	db, done := exampleDB()
	defer done()

	id, err := tx.Batch(ctx, db, func(w *tx.Writer) (int64, error) {
		return tx.One[int64](w, `INSERT INTO accounts (name, balance) VALUES (?, ?) RETURNING id`, "safe", 25)
	})
	fmt.Println(id, err)
	// Output: 4 <nil>
}
