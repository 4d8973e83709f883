package tx_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// keepsRows are statements that fail and of which SQLite keeps the rows so far.
var keepsRows = map[string]string{
	"INSERT OR FAIL":            `INSERT OR FAIL INTO t (id, n) VALUES (10, 10), (11, 1), (12, 12)`,
	"INSERT OR FAIL, RETURNING": `INSERT OR FAIL INTO t (id, n) VALUES (10, 10), (11, 1), (12, 12) RETURNING id`,
	"UPDATE OR FAIL":            `UPDATE OR FAIL t SET n = n + 1, id = id + 100`,
	"RAISE(FAIL) in a trigger":  `INSERT INTO t (id, n) VALUES (10, 10), (11, -1), (12, 12)`,
	"ON CONFLICT FAIL":          `INSERT INTO strict VALUES (1), (NULL), (2)`,
}

const failing = table + `;
	CREATE TABLE strict (x NOT NULL ON CONFLICT FAIL);
	CREATE TRIGGER refuse BEFORE INSERT ON t WHEN new.n = -1 BEGIN SELECT RAISE(FAIL, 'refused'); END;
	INSERT INTO t (id, n) VALUES (1, 1), (2, 3), (3, 4);`

// case T7, Exec
func TestExecKeepsNoRowOfAStatementThatFails(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, failing)
	for name, sql := range keepsRows {
		res, err := db.Exec(bg, sql)
		require.ErrorIs(t, err, tx.ErrConstraint, name)
		assert.Zero(t, res, name)
		_, err = sqlitex.ExecOne[int64](bg, db, sql)
		require.ErrorIs(t, err, tx.ErrConstraint, name)
		holds(t, db, 1, 2, 3)
		assert.Empty(t, ints(t, db, `SELECT x FROM strict`))
	}
}

// case T7, Write
func TestWriteKeepsNoRowOfAStatementWhoseErrorComesOut(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, failing)
	for name, sql := range keepsRows {
		err := db.Write(bg, func(w *tx.Writer) error {
			_, err := w.Exec(sql)
			return err
		})
		require.ErrorIs(t, err, tx.ErrConstraint, name)
		// The error of a savepoint undoes the rows; it may then be swallowed.
		write(t, db, func(w *tx.Writer) error {
			require.ErrorIs(t, w.Savepoint(func(w *tx.Writer) error {
				_, err := tx.All[int64](w, sql)
				return err
			}), tx.ErrConstraint, name)
			return nil
		})
		holds(t, db, 1, 2, 3)
		assert.Empty(t, ints(t, db, `SELECT x FROM strict`))
	}
}

// An error that fn has seen and swallowed leaves what SQLite leaves; the transaction itself goes on.
func TestASwallowedErrorLeavesWhatSQLiteLeaves(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, failing)
	write(t, db, func(w *tx.Writer) error {
		_, err := w.Exec(`INSERT INTO t (id, n) VALUES (20, 20), (21, 1)`)
		require.ErrorIs(t, err, tx.ErrUnique)
		_, err = w.Exec(`INSERT OR FAIL INTO t (id, n) VALUES (10, 10), (11, 1), (12, 12)`)
		require.ErrorIs(t, err, tx.ErrUnique)
		_, err = w.Exec(`INSERT OR IGNORE INTO t (id, n) VALUES (13, 13), (14, 1), (15, 15)`)
		return err
	})
	holds(t, db, 1, 2, 3, 10, 13, 15)
}

func TestAScriptStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, failing)
	const script = `
		INSERT INTO t (id) VALUES (30);
		INSERT INTO t (id, n) VALUES (31, 1); -- fails
		INSERT INTO t (id) VALUES (32);`
	err := db.Write(bg, func(w *tx.Writer) error { return w.Script(script) })
	require.ErrorIs(t, err, tx.ErrUnique)
	var e *tx.Error
	require.ErrorAs(t, err, &e)
	assert.Contains(t, e.SQL, `VALUES (31, 1)`)
	assert.NotContains(t, e.SQL, `VALUES (30)`)
	holds(t, db, 1, 2, 3)
	write(t, db, func(w *tx.Writer) error {
		require.Error(t, w.Script(script))
		return nil
	})
	holds(t, db, 1, 2, 3, 30)
}
