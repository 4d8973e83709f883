package tx_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

func TestAStatementWithRETURNINGRunsToItsEnd(t *testing.T) {
	t.Parallel()
	const sql = `INSERT INTO t (id) VALUES (1), (2), (3) RETURNING id`
	for name, use := range map[string]func(w *tx.Writer){
		"Exec": func(w *tx.Writer) { assert.Equal(t, int64(3), exec(t, w, sql).RowsAffected) },
		"All": func(w *tx.Writer) {
			got, err := tx.All[int64](w, sql)
			require.NoError(t, err)
			assert.Equal(t, []int64{1, 2, 3}, got)
		},
		"Each": func(w *tx.Writer) { assert.Equal(t, []int64{1, 2, 3}, ids(t, tx.Each[int64](w, sql))) },
		"Each, left at the first row": func(w *tx.Writer) {
			for id, err := range tx.Each[int64](w, sql) {
				require.NoError(t, err)
				assert.Equal(t, int64(1), id)
				break
			}
		},
		"Each, with a panic at the first row": func(w *tx.Writer) {
			assert.Panics(t, func() {
				for range tx.Each[int64](w, sql) {
					panic("boom")
				}
			})
		},
		"Each, seen from within": func(w *tx.Writer) {
			for _, err := range tx.Each[int64](w, sql) {
				require.NoError(t, err)
				all, err := tx.All[int64](w, `SELECT id FROM t`)
				require.NoError(t, err)
				assert.Equal(t, []int64{1, 2, 3}, all)
			}
		},
		"One": func(w *tx.Writer) {
			_, err := tx.One[int64](w, sql)
			assert.ErrorIs(t, err, tx.ErrTooManyRows)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, nil, table)
			write(t, db, func(w *tx.Writer) error { use(w); return nil })
			holds(t, db, 1, 2, 3)
		})
	}
}

func TestExecOneLeavesNothingBehindUnlessItReturnsOneRow(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id, n) VALUES (1, 1)`)
	_, err := sqlitex.ExecOne[int64](bg, db, `INSERT INTO t (id) VALUES (2), (3) RETURNING id`)
	require.ErrorIs(t, err, tx.ErrTooManyRows)
	holds(t, db, 1)
	_, err = sqlitex.ExecOne[int64](bg, db, `DELETE FROM t WHERE id = 1`)
	require.Error(t, err)
	holds(t, db, 1)
	_, err = sqlitex.ExecOne[int64](bg, db, `DELETE FROM t WHERE id = 9 RETURNING id`)
	require.ErrorIs(t, err, tx.ErrNoRows)
	_, err = sqlitex.ExecOne[int64](bg, db, `INSERT INTO t (id) VALUES (2) RETURNING 'text'`)
	require.ErrorIs(t, err, tx.ErrScan)
	_, err = sqlitex.ExecOne[int64](bg, db, `INSERT INTO t (id) VALUES (2) RETURNING id, n`)
	require.ErrorIs(t, err, tx.ErrScan)
	holds(t, db, 1)
	id, err := sqlitex.ExecOne[int64](bg, db, `INSERT INTO t (id) VALUES (2) RETURNING id`)
	require.NoError(t, err)
	assert.Equal(t, int64(2), id)
	holds(t, db, 1, 2)
}

func TestAnImmediateForeignKeyFailsAStatementWithRETURNING(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, family+`; INSERT INTO p (id) VALUES (1)`)
	const sql = `INSERT INTO t (id, parent) VALUES (1, 1), (2, 99) RETURNING `
	write(t, db, func(w *tx.Writer) error {
		for _, column := range []string{`id`, `'text'`, `id, parent`} { // also where the rows could not be read
			_, err := tx.One[int64](w, sql+column)
			require.ErrorIs(t, err, tx.ErrForeignKey)
			_, err = tx.All[int64](w, sql+column)
			require.ErrorIs(t, err, tx.ErrForeignKey)
			n := 0
			for _, err := range tx.Each[int64](w, sql+column) {
				require.ErrorIs(t, err, tx.ErrForeignKey)
				n++
			}
			assert.Equal(t, 1, n)
			_, err = w.Exec(sql + column)
			require.ErrorIs(t, err, tx.ErrForeignKey)
		}
		return nil
	})
	_, err := sqlitex.ExecOne[int64](bg, db, sql+`id`)
	require.ErrorIs(t, err, tx.ErrForeignKey)
	holds(t, db)
}

func TestResultTellsWhatTheStatementDid(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`;
		CREATE TABLE log (id INTEGER PRIMARY KEY, t INTEGER); INSERT INTO log (id) VALUES (5000);
		CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log (t) VALUES (new.id), (new.id); END;
		CREATE TRIGGER h AFTER UPDATE ON t BEGIN INSERT INTO log (t) VALUES (new.id); END;
		CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID`)
	steps := []struct {
		sql  string
		want tx.Result
	}{
		{`INSERT INTO t (id, n) VALUES (7, 7)`, tx.Result{RowsAffected: 1, LastInsertID: 7}},
		{`INSERT INTO t (n) VALUES (8), (9)`, tx.Result{RowsAffected: 2, LastInsertID: 9}},
		{`INSERT INTO t (n) VALUES (10) RETURNING n`, tx.Result{RowsAffected: 1, LastInsertID: 10}},
		{`REPLACE INTO t (id, n) VALUES (20, 20)`, tx.Result{RowsAffected: 1, LastInsertID: 20}},
		{`INSERT INTO t (n) VALUES (7) ON CONFLICT DO UPDATE SET s = 'x'`, tx.Result{RowsAffected: 1}},
		{`INSERT INTO t (n) VALUES (21) ON CONFLICT DO UPDATE SET s = 'x'`, tx.Result{RowsAffected: 1, LastInsertID: 21}},
		{`INSERT INTO t (n) VALUES (7) ON CONFLICT DO NOTHING`, tx.Result{}},
		{`INSERT OR IGNORE INTO t (n) VALUES (7)`, tx.Result{}},
		{`UPDATE t SET s = 'y'`, tx.Result{RowsAffected: 6}},
		{`UPDATE t SET s = 'y' WHERE 0`, tx.Result{}},
		{`WITH x AS (SELECT 30) INSERT INTO t (id) SELECT * FROM x`, tx.Result{RowsAffected: 1, LastInsertID: 30}},
		{`WITH x AS (SELECT 30) UPDATE t SET s = 'z' WHERE id IN x`, tx.Result{RowsAffected: 1}},
		{`WITH x AS (SELECT 30) DELETE FROM t WHERE id IN x`, tx.Result{RowsAffected: 1}},
		{`WITH x AS (SELECT 30) SELECT * FROM x`, tx.Result{}},
		{`SELECT * FROM t`, tx.Result{}},
		{`EXPLAIN INSERT INTO t (n) VALUES (99)`, tx.Result{}},
		{`EXPLAIN QUERY PLAN DELETE FROM t`, tx.Result{}},
		{`PRAGMA user_version = 3`, tx.Result{}},
		{`CREATE TABLE x AS SELECT * FROM t`, tx.Result{}},
		{`INSERT INTO w VALUES ('a')`, tx.Result{RowsAffected: 1}},
		{`INSERT INTO t (id) VALUES (0)`, tx.Result{RowsAffected: 1}},
		{`INSERT INTO t (id) VALUES (-5)`, tx.Result{RowsAffected: 1, LastInsertID: -5}},
		{`DELETE FROM t`, tx.Result{RowsAffected: 8}},
		{`DROP TABLE t`, tx.Result{}},
	}
	require.Equal(t, errTest, db.Write(bg, func(w *tx.Writer) error {
		for _, step := range steps {
			assert.Equal(t, step.want, exec(t, w, step.sql), step.sql)
		}
		return errTest
	}))
	// The same, each in a transaction of its own.
	for _, step := range steps {
		res, err := db.Exec(bg, step.sql)
		require.NoError(t, err, step.sql)
		assert.Equal(t, step.want, res, step.sql)
	}
}

// SQL that asks for the last rowid itself gets SQLite's own answer, whatever Exec looks at.
func TestTheSQLFunctionLastInsertRowidIsUntouched(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; CREATE TABLE child (id INTEGER PRIMARY KEY, t INTEGER)`)
	write(t, db, func(w *tx.Writer) error {
		exec(t, w, `INSERT INTO t (id, n) VALUES (41, 1)`)
		res := exec(t, w, `INSERT INTO child (id, t) VALUES (5, last_insert_rowid())`)
		assert.Equal(t, int64(5), res.LastInsertID)
		exec(t, w, `INSERT INTO t (id, n) VALUES (42, 2)`)
		exec(t, w, `INSERT OR IGNORE INTO t (n) VALUES (1)`)
		exec(t, w, `INSERT INTO t (n) VALUES (1) ON CONFLICT DO UPDATE SET s = 'x'`)
		exec(t, w, `WITH x AS (SELECT 1) UPDATE t SET s = 'y'`)
		res = exec(t, w, `WITH x AS (SELECT LAST_INSERT_ROWID() AS id) INSERT INTO child (id, t) SELECT 6, id FROM x`)
		assert.Equal(t, int64(6), res.LastInsertID)
		id, err := tx.One[int64](w, `SELECT last_insert_rowid()`)
		assert.Equal(t, int64(6), id)
		return err
	})
	assert.Equal(t, []int64{41, 42}, ints(t, db, `SELECT t FROM child ORDER BY id`))
	// The next transaction does not see the last one's.
	write(t, db, func(w *tx.Writer) error {
		id, err := tx.One[int64](w, `SELECT last_insert_rowid()`)
		assert.Zero(t, id)
		return err
	})
}
