package tx_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/tx"
)

// insert adds one row and returns an error that is to come out of the function around it.
func insert(t *testing.T, w *tx.Writer, id int, err error) error {
	t.Helper()
	exec(t, w, `INSERT INTO t (id) VALUES (?)`, id)
	return err
}

// case T3
func TestOnlyTheSavepointThatFailedIsUndone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inner, middle, outer error
		want                 []int64
	}{
		"nothing fails":        {nil, nil, nil, []int64{1, 2, 3, 4, 5}},
		"the inner one fails":  {errTest, nil, nil, []int64{1, 2, 4, 5}},
		"the middle one fails": {nil, errTest, nil, []int64{1, 5}},
		"the outermost fails":  {nil, nil, errTest, nil},
		"inner and outermost":  {errTest, nil, errTest, nil},
		"all fail":             {errTest, errTest, errTest, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, nil, table)
			err := db.Write(bg, func(w *tx.Writer) error {
				_ = insert(t, w, 1, nil)
				assert.Equal(t, c.middle, w.Savepoint(func(w *tx.Writer) error {
					_ = insert(t, w, 2, nil)
					assert.Equal(t, c.inner, w.Savepoint(func(w *tx.Writer) error { return insert(t, w, 3, c.inner) }))
					return insert(t, w, 4, c.middle)
				}))
				return insert(t, w, 5, c.outer)
			})
			assert.Equal(t, c.outer, err)
			holds(t, db, c.want...)
		})
	}
}

func TestSavepointsMayFollowEachOtherAndNestDeeply(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	var nest func(w *tx.Writer, depth int) error
	nest = func(w *tx.Writer, depth int) error {
		exec(t, w, `INSERT INTO t (id) VALUES (?)`, depth)
		if depth == 60 {
			return nil
		}
		return w.Savepoint(func(w *tx.Writer) error { return nest(w, depth+1) })
	}
	write(t, db, func(w *tx.Writer) error {
		for i := range 100 {
			err := errTest
			if i%10 == 0 {
				err = nil
			}
			assert.Equal(t, err, w.Savepoint(func(w *tx.Writer) error { return insert(t, w, 1000+i, err) }))
		}
		return nest(w, 1)
	})
	assert.Equal(t, []int64{70}, ints(t, db, `SELECT count(*) FROM t`))
}

func TestASavepointUndoesTheSchemaToo(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		_, err := tx.All[int64](w, `SELECT id FROM t`)
		require.NoError(t, err)
		require.Equal(t, errTest, w.Savepoint(func(w *tx.Writer) error {
			exec(t, w, `DROP TABLE t`)
			exec(t, w, `CREATE TABLE t (other TEXT)`)
			_, err := tx.All[string](w, `SELECT other FROM t`)
			require.NoError(t, err)
			return errTest
		}))
		exec(t, w, `INSERT INTO t (id) VALUES (1)`)
		_, err = tx.All[string](w, `SELECT other FROM t`)
		require.ErrorIs(t, err, tx.ErrSyntax)
		return nil
	})
	holds(t, db, 1)
}

func TestASavepointMayBeginAndFailInsideALoopOverRows(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"SELECT":    `SELECT n FROM t WHERE id > 0 ORDER BY id`,
		"RETURNING": `UPDATE t SET s = 'seen' WHERE id > 0 RETURNING n`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, nil, table+`; INSERT INTO t (id, n) VALUES (1, 1), (2, 2), (3, 3), (4, 4)`)
			var seen []int64
			write(t, db, func(w *tx.Writer) error {
				for n, err := range tx.Each[int64](w, query) {
					require.NoError(t, err)
					seen = append(seen, n)
					want := []error{nil, errTest}[n%2]
					assert.Equal(t, want, w.Savepoint(func(w *tx.Writer) error { return insert(t, w, -int(n), want) }))
				}
				return nil
			})
			assert.Equal(t, []int64{1, 2, 3, 4}, seen)
			holds(t, db, -4, -2, 1, 2, 3, 4)
		})
	}
}

// A cancelled context must not keep a savepoint from being undone, nor the transaction from being rolled back.
func TestASavepointIsUndoneUnderACancelledContext(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	ctx, cancel := context.WithCancel(bg)
	err := db.Write(ctx, func(w *tx.Writer) error {
		exec(t, w, `INSERT INTO t (id) VALUES (1)`)
		err := w.Savepoint(func(w *tx.Writer) error {
			exec(t, w, `INSERT INTO t (id) VALUES (2)`)
			cancel()
			_, err := w.Exec(`INSERT INTO t (id) VALUES (3)`)
			return err
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, w.Savepoint(func(*tx.Writer) error { t.Error("ran"); return nil }), context.Canceled)
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	holds(t, db)
}

// A user's own savepoint of the library's name would take the place of one.
func TestNobodyCanTouchTheLibrarysSavepoints(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		return w.Savepoint(func(w *tx.Writer) error {
			for _, sql := range []string{`SAVEPOINT sanelite_0`, `RELEASE sanelite_0`, `ROLLBACK TO sanelite_0`, `/**/ savepoint "sanelite_0";`} {
				_, err := w.Exec(sql)
				require.ErrorIs(t, err, tx.ErrNotAllowed, sql)
				_, err = tx.All[int64](w, sql)
				require.ErrorIs(t, err, tx.ErrNotAllowed, sql)
				require.ErrorIs(t, w.Script(sql), tx.ErrNotAllowed, sql)
			}
			return w.Savepoint(func(w *tx.Writer) error {
				_, err := w.Exec(`RELEASE SAVEPOINT sanelite_1`)
				require.ErrorIs(t, err, tx.ErrNotAllowed)
				return insert(t, w, 1, nil)
			})
		})
	})
	holds(t, db, 1)
}

// Two goroutines whose savepoints overlap would undo, or keep, each other's rows: the transaction fails as a whole.
func TestOverlappingSavepointsOfTwoGoroutinesFailTheTransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	for _, result := range []error{nil, errTest} {
		hooks := 0
		err := db.Write(bg, func(w *tx.Writer) error {
			firstOpen, secondOpen, firstOver := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() {
				defer close(firstOver)
				_ = w.Savepoint(func(w *tx.Writer) error {
					w.OnCommit(func() { hooks++ })
					_ = insert(t, w, 1, nil)
					close(firstOpen)
					<-secondOpen
					return result
				})
			})
			wg.Go(func() {
				<-firstOpen
				_ = w.Savepoint(func(w *tx.Writer) error {
					w.OnCommit(func() { hooks++ })
					_ = insert(t, w, 2, nil)
					close(secondOpen)
					<-firstOver
					return nil
				})
			})
			wg.Wait()
			return nil
		})
		require.ErrorIs(t, err, tx.ErrStateChanged)
		assert.Zero(t, hooks)
		holds(t, db)
	}
}

func TestASavepointThatOutlivesWriteFailsTheTransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	for _, result := range []error{nil, errTest} {
		open, over := make(chan struct{}), make(chan struct{})
		late := make(chan error, 1)
		err := db.Write(bg, func(w *tx.Writer) error {
			go func() {
				late <- w.Savepoint(func(w *tx.Writer) error {
					w.OnCommit(func() { t.Error("ran") })
					_ = insert(t, w, 1, nil)
					close(open)
					<-over
					return result
				})
			}()
			<-open
			return nil
		})
		close(over)
		require.ErrorIs(t, err, tx.ErrStateChanged)
		require.Error(t, <-late)
		holds(t, db)
	}
}
