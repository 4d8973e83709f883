package tx_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// row is a row of table.
type row struct {
	ID int64
	N  *int64
	S  string
}

const insertRow = `INSERT INTO t (id, n, s) VALUES (:id, :n, :s)`

// numbered returns n rows with the ids from 1.
func numbered(n int) iter.Seq[row] {
	return func(yield func(row) bool) {
		for i := range n {
			if !yield(row{ID: int64(i + 1), S: "s"}) {
				return
			}
		}
	}
}

// case: many rows of every form
func TestExecEachStoresEveryRowAsExecWould(t *testing.T) {
	t.Parallel()
	n := int64(7)
	want := []row{{1, &n, "one"}, {2, nil, ""}, {3, nil, "three"}}
	var pointers []*row
	var args []any
	for i := range want {
		pointers = append(pointers, &want[i])
		args = append(args, tx.Args(want[i]))
	}
	const positional = `INSERT INTO t (id, n, s) VALUES (?, ?, ?)`
	for form, load := range map[string]func(w *tx.Writer) (tx.Result, error){
		"structs":    func(w *tx.Writer) (tx.Result, error) { return tx.ExecAll(w, insertRow, want) },
		"a sequence": func(w *tx.Writer) (tx.Result, error) { return tx.ExecEach(w, insertRow, slices.Values(want)) },
		"pointers":   func(w *tx.Writer) (tx.Result, error) { return tx.ExecAll(w, insertRow, pointers) },
		"Args":       func(w *tx.Writer) (tx.Result, error) { return tx.ExecAll(w, insertRow, args) },
		"slices of any": func(w *tx.Writer) (tx.Result, error) {
			return tx.ExecAll(w, positional, [][]any{{1, 7, "one"}, {2, nil, ""}, {3, nil, "three"}})
		},
		"arrays of any": func(w *tx.Writer) (tx.Result, error) {
			return tx.ExecAll(w, positional, [][3]any{{1, 7, "one"}, {2, nil, ""}, {3, nil, "three"}})
		},
		"named arguments": func(w *tx.Writer) (tx.Result, error) { return tx.ExecAll(w, insertRow, namedArgs(want)) },
		"strings, affinity": func(w *tx.Writer) (tx.Result, error) {
			return tx.ExecAll(w, `INSERT INTO t (id, n, s) VALUES (?, nullif(?, ''), ?)`, [][]string{{"1", "7", "one"}, {"2", "", ""}, {"3", "", "three"}})
		},
		"ids alone": func(w *tx.Writer) (tx.Result, error) {
			res, err := tx.ExecAll(w, `INSERT INTO t (id, s) VALUES (?, '')`, []int64{1, 2, 3})
			if err == nil {
				_, err = w.Exec(`UPDATE t SET n = 7, s = 'one' WHERE id = 1`)
			}
			if err == nil {
				_, err = w.Exec(`UPDATE t SET s = 'three' WHERE id = 3`)
			}
			return res, err
		},
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, nil, table)
			write(t, db, func(w *tx.Writer) error {
				res, err := load(w)
				assert.Equal(t, tx.Result{RowsAffected: 3, LastInsertID: 3}, res)
				return err
			})
			got, err := sqlitex.All[row](bg, db, `SELECT id, n, s FROM t ORDER BY id`)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func namedArgs(rows []row) (args [][]any) {
	for _, r := range rows {
		args = append(args, []any{sql.Named("s", r.S), sql.Named("id", r.ID), sql.Named("n", r.N)})
	}
	return args
}

func TestExecEachAddsUpWhatItsRowsDid(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		check := func(want tx.Result, sql string, rows ...any) {
			t.Helper()
			got, err := tx.ExecAll(w, sql, rows)
			require.NoError(t, err)
			assert.Equal(t, want, got, sql)
		}
		check(tx.Result{}, `INSERT INTO t (id) VALUES (?)`)
		check(tx.Result{RowsAffected: 4, LastInsertID: 4}, `INSERT INTO t (id) VALUES (?)`, 1, 2, 3, 4)
		check(tx.Result{RowsAffected: 1, LastInsertID: 5}, `INSERT OR IGNORE INTO t (id) VALUES (?)`, 5, 1, 2)
		check(tx.Result{}, `INSERT OR IGNORE INTO t (id) VALUES (?)`, 1, 2)
		check(tx.Result{RowsAffected: 2, LastInsertID: 6}, `INSERT INTO t (id) VALUES (?) ON CONFLICT DO UPDATE SET s = 'again'`, 6, 1)
		check(tx.Result{RowsAffected: 8}, `UPDATE t SET s = s WHERE id <= ?`, 5, 3)
		check(tx.Result{RowsAffected: 2, LastInsertID: 8}, `INSERT INTO t (id) VALUES (?) RETURNING id`, 7, 8)
		check(tx.Result{}, `SELECT id FROM t WHERE id = ?`, 1, 2)
		check(tx.Result{RowsAffected: 3}, `DELETE FROM t WHERE id = ?`, 6, 7, 8, 9)
		return nil
	})
	holds(t, db, 1, 2, 3, 4, 5)
}

func TestExecEachNamesTheRowThatFails(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		res, err := tx.ExecAll(w, `INSERT INTO t (id) VALUES (?)`, []int64{1, 2, 1, 3})
		assert.ErrorIs(t, err, tx.ErrUnique)
		assert.ErrorContains(t, err, "row 3: ")
		assert.Equal(t, tx.Result{RowsAffected: 2, LastInsertID: 2}, res, "the rows before it stay")
		_, err = tx.ExecAll(w, `INSERT INTO t (id, s) VALUES (?, ?)`, [][]any{{4, "four"}, {5}})
		assert.ErrorIs(t, err, tx.ErrArguments)
		assert.ErrorContains(t, err, "row 2: ")

		err = w.Savepoint(func(w *tx.Writer) error {
			_, err := tx.ExecAll(w, `INSERT INTO t (id) VALUES (?)`, []int64{5, 6, 1})
			return err
		})
		assert.ErrorContains(t, err, "row 3: ")
		return nil
	})
	holds(t, db, 1, 2, 4)
}

func TestExecEachThatNeverFitsAsksForNoRow(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	var kept *tx.Writer
	fails := func(w *tx.Writer, sql string, want error) {
		t.Helper()
		_, err := tx.ExecEach(w, sql, func(func(row) bool) { assert.Fail(t, "a row was asked for") })
		assert.ErrorIs(t, err, want, sql)
	}
	write(t, db, func(w *tx.Writer) error {
		kept = w
		fails(w, `INSERT INTO t (id, n) VALUES (?, ?)`, tx.ErrArguments)
		fails(w, `INSERT INTO t (id) VALUES (:nothing)`, tx.ErrArguments)
		fails(w, `INSERT INTO t (id) VALUES (1)`, tx.ErrArguments)
		fails(w, `INSERT INTO nowhere (id) VALUES (:id)`, tx.ErrSyntax)
		fails(w, `COMMIT`, tx.ErrNotAllowed)
		fails(w, insertRow+`; `+insertRow, tx.ErrNotAllowed)
		return nil
	})
	fails(kept, insertRow, tx.ErrTxDone)

	ctx, cancel := context.WithCancel(bg)
	err := db.Write(ctx, func(w *tx.Writer) error {
		cancel()
		fails(w, insertRow, context.Canceled)
		return nil
	})
	assert.ErrorIs(t, err, context.Canceled)
	holds(t, db)
}

func TestTheRowsOfExecEachMayUseTheSameWriter(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; CREATE TABLE log (id INTEGER)`)
	write(t, db, func(w *tx.Writer) error {
		// The rows come from a query that goes on meanwhile; each is logged, by an ExecEach of the same text.
		exec(t, w, `INSERT INTO t (id) VALUES (1), (2), (3)`)
		const insert = `INSERT INTO t (id) VALUES (?)`
		res, err := tx.ExecEach(w, insert, func(yield func(int64) bool) {
			for id, err := range tx.Each[int64](w, `SELECT id FROM t WHERE id <= 3 ORDER BY id`) {
				require.NoError(t, err)
				_, err = tx.ExecAll(w, insert, []int64{100 + id})
				require.NoError(t, err)
				if !yield(10 + id) {
					return
				}
			}
		})
		assert.Equal(t, tx.Result{RowsAffected: 3, LastInsertID: 13}, res)
		require.NoError(t, err)

		// Or they undo a savepoint, and change the schema, so that the statement is compiled anew.
		res, err = tx.ExecEach(w, insert, func(yield func(int64) bool) {
			for id := int64(21); id <= 23; id++ {
				_ = w.Savepoint(func(w *tx.Writer) error {
					exec(t, w, `INSERT INTO log VALUES (?)`, id)
					return errTest
				})
				exec(t, w, `CREATE TABLE made`+strings.Repeat("_", int(id))+` (id)`)
				if !yield(id) {
					return
				}
			}
		})
		assert.Equal(t, tx.Result{RowsAffected: 3, LastInsertID: 23}, res)
		return err
	})
	holds(t, db, 1, 2, 3, 11, 12, 13, 21, 22, 23, 101, 102, 103)
	assert.Equal(t, []int64{0}, ints(t, db, `SELECT count(*) FROM log`))
}

func TestExecEachWorksWithoutAStatementCache(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, &sqlitex.Options{MaxStatements: -1}, table)
	write(t, db, func(w *tx.Writer) error {
		_, err := tx.ExecEach(w, insertRow, numbered(3))
		return err
	})
	holds(t, db, 1, 2, 3)
}

func TestExecEachOfARowThatCannotBeStoredSaysSo(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		_, err := tx.ExecAll(w, `INSERT INTO t (s) VALUES (?)`, []any{"fits", func() {}})
		assert.ErrorIs(t, err, tx.ErrArguments)
		assert.ErrorContains(t, err, "row 2: ")
		_, err = tx.ExecAll(w, `INSERT INTO t (s) VALUES (?)`, []driver.Valuer{failingValuer{}})
		assert.ErrorIs(t, err, errTest)
		return nil
	})
}

type failingValuer struct{}

func (failingValuer) Value() (driver.Value, error) { return nil, errTest }

func TestExecEachAllocatesNothingForARow(t *testing.T) {
	// Not parallel: AllocsPerRun counts the whole process.
	db := dbtest.Open(t, nil, `CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, s TEXT)`)
	n := int64(1000)
	rows := make([]row, 500)
	for i := range rows {
		rows[i] = row{ID: int64(i % 10), N: &n, S: "some text"}
	}
	ids := make([]int64, 500)
	errStop := errors.New("undo")
	err := db.Write(bg, func(w *tx.Writer) error {
		count := func(what string, fn func() error) {
			t.Helper()
			require.NoError(t, fn())
			got := testing.AllocsPerRun(20, func() { _ = fn() })
			t.Logf("%-10s %v for 500 rows", what, got)
			assert.LessOrEqual(t, got, 12.0, what)
		}
		count("structs", func() error {
			_, err := tx.ExecAll(w, `INSERT OR REPLACE INTO t (id, n, s) VALUES (:id, :n, :s)`, rows)
			return err
		})
		count("integers", func() error { _, err := tx.ExecAll(w, `INSERT OR REPLACE INTO t (id) VALUES (?)`, ids); return err })
		return errStop
	})
	assert.ErrorIs(t, err, errStop)
}
