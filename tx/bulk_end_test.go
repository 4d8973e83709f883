package tx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/tx"
)

func TestExecEachEndsWithItsContext(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	ctx, cancel := context.WithCancel(bg)
	asked := 0
	err := db.Write(ctx, func(w *tx.Writer) error {
		_, err := tx.ExecEach(w, insertRow, func(yield func(row) bool) {
			for r := range numbered(1000) {
				if asked++; asked == 10 {
					cancel()
				}
				if !yield(r) {
					return
				}
			}
		})
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "row 10: ")
		return err
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 10, asked)
	holds(t, db)
}

func TestExecEachThatIsNotFinishedLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for place, load := range map[string]func(w *tx.Writer, do func()) error{
		"in the rows": func(w *tx.Writer, do func()) error {
			_, err := tx.ExecEach(w, insertRow, func(yield func(row) bool) {
				yield(row{ID: 1})
				do()
			})
			return err
		},
		"in the rows, before the first": func(w *tx.Writer, do func()) error {
			_, err := tx.ExecEach(w, insertRow, func(func(row) bool) { do() })
			return err
		},
		"in a Valuer": func(w *tx.Writer, do func()) error {
			_, err := tx.ExecAll(w, `INSERT INTO t (id) VALUES (?)`, []driver.Valuer{sql.NullInt64{Int64: 1, Valid: true}, valuer(do)})
			return err
		},
	} {
		for what, how := range leave {
			t.Run(place+"/"+what, func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, nil, table)
				recovered, returned := outcome(func() { _ = db.Write(bg, func(w *tx.Writer) error { return load(w, how.do) }) })
				assert.False(t, returned)
				how.check(t, recovered)
				holds(t, db)

				// Who recovers can go on: the statement is not in use any more, and the transaction is whole.
				if what == "a string" {
					write(t, db, func(w *tx.Writer) error {
						assert.Panics(t, func() { _ = load(w, how.do) })
						exec(t, w, `DELETE FROM t`)
						_, err := tx.ExecEach(w, insertRow, numbered(3))
						return err
					})
					holds(t, db, 1, 2, 3)
				}
			})
		}
	}
}

func TestExecEachOutlivesNoTransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	yielded, ended, done := make(chan struct{}), make(chan struct{}), make(chan error)
	err := db.Write(bg, func(w *tx.Writer) error {
		go func() {
			_, err := tx.ExecEach(w, insertRow, func(yield func(row) bool) {
				yield(row{ID: 1})
				close(yielded)
				<-ended
				yield(row{ID: 2})
			})
			done <- err
		}()
		<-yielded
		return errTest
	})
	assert.ErrorIs(t, err, errTest)
	close(ended)
	err = <-done
	assert.ErrorIs(t, err, tx.ErrTxDone)
	assert.ErrorContains(t, err, "row 2: ")
	holds(t, db)
}

func TestExecEachEndsWithItsSavepointAndGivesTheStatementBack(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	yielded, ended, done := make(chan struct{}), make(chan struct{}), make(chan error)
	write(t, db, func(w *tx.Writer) error {
		err := w.Savepoint(func(w *tx.Writer) error {
			go func() {
				_, err := tx.ExecEach(w, insertRow, func(yield func(row) bool) {
					yield(row{ID: 1})
					close(yielded)
					<-ended
					yield(row{ID: 2})
				})
				done <- err
			}()
			<-yielded
			return errTest
		})
		assert.ErrorIs(t, err, errTest)
		close(ended)
		assert.ErrorIs(t, <-done, tx.ErrTxDone)
		_, err = tx.ExecEach(w, insertRow, numbered(2))
		return err
	})
	holds(t, db, 1, 2)
}

func TestExecEachAfterSQLiteRolledBackFailsAsExecDoes(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	err := db.Write(bg, func(w *tx.Writer) error {
		exec(t, w, `INSERT INTO t (id) VALUES (1)`)
		_, err := tx.ExecAll(w, `INSERT OR ROLLBACK INTO t (id) VALUES (?)`, []int64{2, 1, 3})
		assert.ErrorIs(t, err, tx.ErrUnique)
		_, again := tx.ExecAll(w, `INSERT INTO t (id) VALUES (?)`, []int64{4})
		assert.ErrorIs(t, again, tx.ErrUnique)
		return nil
	})
	assert.ErrorIs(t, err, tx.ErrUnique)
	assert.ErrorContains(t, err, "row 2: ")
	holds(t, db)
}
