package tx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

func TestNilCommits(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*sqlitex.Options{
		"WAL":              nil,
		"rollback journal": {Pragmas: pragma.Config{JournalMode: pragma.JournalDelete}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, o, table)
			id, err := tx.Write(bg, db, func(w *tx.Writer) (int64, error) {
				return tx.One[int64](w, `INSERT INTO t (n) VALUES (?) RETURNING id`, 7)
			})
			require.NoError(t, err)
			holds(t, db, id)
		})
	}
}

func TestAnErrorLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	n, err := tx.Write(bg, db, func(w *tx.Writer) (int64, error) {
		exec(t, w, `INSERT INTO t (id) VALUES (1)`)
		exec(t, w, `CREATE TABLE other (x)`)
		exec(t, w, `PRAGMA user_version = 7`)
		return 42, errTest
	})
	assert.Equal(t, errTest, err, "the error comes out as it is") //nolint:testifylint // the very same value
	assert.Zero(t, n, "no result beside an error")
	holds(t, db)
	assert.Equal(t, []int64{0}, ints(t, db, `PRAGMA user_version`))
	assert.Equal(t, []int64{0}, ints(t, db, `SELECT count(*) FROM sqlite_schema WHERE name = 'other'`))
}

// case T1
func TestACommitThatFailsLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db := dbtest.OpenAt(t, path, nil, family)
	ran := false
	n, err := tx.Write(bg, db, func(w *tx.Writer) (int64, error) {
		w.OnCommit(func() { ran = true })
		exec(t, w, `INSERT INTO t (id) VALUES (1)`)
		exec(t, w, `INSERT INTO later (parent) VALUES (99)`)
		return 1, nil
	})
	require.ErrorIs(t, err, tx.ErrForeignKey)
	require.ErrorIs(t, err, tx.ErrConstraint)
	assert.Zero(t, n)
	assert.False(t, ran, "OnCommit without a commit")
	holds(t, db)
	for _, call := range []func() error{
		func() error { _, err := db.Exec(bg, `INSERT INTO later (parent) VALUES (99)`); return err },
		func() error {
			_, err := sqlitex.ExecOne[int64](bg, db, `INSERT INTO later (parent) VALUES (99) RETURNING id`)
			return err
		},
		func() error {
			return db.Write(bg, func(w *tx.Writer) error {
				exec(t, w, `PRAGMA defer_foreign_keys = ON`)
				exec(t, w, `INSERT INTO t (id, parent) VALUES (1, 99)`)
				return nil
			})
		},
	} {
		require.ErrorIs(t, call(), tx.ErrForeignKey)
		holds(t, db)
		assert.Empty(t, ints(t, db, `SELECT id FROM later`))
	}
	_, err = db.Exec(bg, `INSERT INTO t (id) VALUES (2)`)
	require.NoError(t, err, "the next write")
	require.NoError(t, db.Close())
	again := dbtest.OpenAt(t, path, nil, "")
	holds(t, again, 2)
}

func TestADeferredForeignKeyMendedBeforeTheCommitIsFine(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, family)
	write(t, db, func(w *tx.Writer) error {
		exec(t, w, `INSERT INTO later (parent) VALUES (5)`)
		exec(t, w, `INSERT INTO p (id) VALUES (5)`)
		return nil
	})
	assert.Equal(t, []int64{5}, ints(t, db, `SELECT parent FROM later`))
}

// rollsBack are ways in which a statement makes SQLite roll back the whole transaction by itself.
var rollsBack = map[string]struct {
	sql  string
	want error
}{
	"OR ROLLBACK":             {`INSERT OR ROLLBACK INTO t (n) VALUES (1)`, tx.ErrUnique},
	"UPDATE OR ROLLBACK":      {`UPDATE OR ROLLBACK t SET n = 1 WHERE n = 2`, tx.ErrUnique},
	"RAISE(ROLLBACK)":         {`INSERT INTO t (n) VALUES (-1)`, tx.ErrConstraint},
	"OR ROLLBACK, RETURNING":  {`INSERT OR ROLLBACK INTO t (n) VALUES (1) RETURNING id`, tx.ErrUnique},
	"ON CONFLICT of a column": {`INSERT INTO strict (x) VALUES (NULL)`, tx.ErrNotNull},
}

const selfRollback = table + `;
	CREATE TABLE strict (x NOT NULL ON CONFLICT ROLLBACK);
	CREATE TRIGGER refuse BEFORE INSERT ON t WHEN new.n = -1 BEGIN SELECT RAISE(ROLLBACK, 'refused'); END;
	INSERT INTO t (id, n) VALUES (1, 1), (2, 2);`

// All of SQLite's own rollbacks: nothing that follows may run outside of a transaction, nor be believed committed.
func TestASwallowedRollbackOfSQLiteStillComesOut(t *testing.T) {
	t.Parallel()
	ways := map[string]func(w *tx.Writer, sql string) error{
		"Exec":   func(w *tx.Writer, sql string) error { _, err := w.Exec(sql); return err },
		"One":    func(w *tx.Writer, sql string) error { _, err := tx.One[int64](w, sql); return err },
		"All":    func(w *tx.Writer, sql string) error { _, err := tx.All[int64](w, sql); return err },
		"Script": func(w *tx.Writer, sql string) error { return w.Script(`SELECT 1; ` + sql + `; SELECT 2`) },
		"Each": func(w *tx.Writer, sql string) (err error) {
			for _, err = range tx.Each[int64](w, sql) {
			}
			return err
		},
		"Savepoint": func(w *tx.Writer, sql string) error {
			return w.Savepoint(func(w *tx.Writer) error { _, _ = w.Exec(sql); return nil })
		},
		"in a loop over rows": func(w *tx.Writer, sql string) (err error) {
			for _, err = range tx.Each[int64](w, `SELECT id FROM t`) {
				if err == nil {
					_, _ = w.Exec(sql)
				}
			}
			return err
		},
	}
	for what, how := range rollsBack {
		for way, run := range ways {
			t.Run(what+"/"+way, func(t *testing.T) {
				t.Parallel()
				db := dbtest.Open(t, nil, selfRollback)
				hooks := 0
				err := db.Write(bg, func(w *tx.Writer) error {
					w.OnCommit(func() { hooks++ })
					exec(t, w, `INSERT INTO t (id) VALUES (10)`)
					first := run(w, how.sql)
					require.ErrorIs(t, first, how.want)
					_, err := w.Exec(`INSERT INTO t (id) VALUES (11)`)
					require.ErrorIs(t, err, how.want, "Exec afterwards")
					_, err = tx.One[int64](w, `SELECT 1`)
					require.ErrorIs(t, err, how.want, "One afterwards")
					_, err = tx.All[int64](w, `SELECT 1`)
					require.ErrorIs(t, err, how.want, "All afterwards")
					require.ErrorIs(t, w.Script(`SELECT 1`), how.want, "Script afterwards")
					require.ErrorIs(t, w.Savepoint(func(*tx.Writer) error { t.Error("ran"); return nil }), how.want)
					w.OnCommit(func() { hooks++ })
					return nil
				})
				require.ErrorIs(t, err, how.want, "out of Write")
				assert.Zero(t, hooks)
				holds(t, db, 1, 2)
			})
		}
	}
}

func TestExecThatMakesSQLiteRollBackLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, selfRollback)
	for what, how := range rollsBack {
		_, err := db.Exec(bg, how.sql)
		require.ErrorIs(t, err, how.want, what)
		_, err = sqlitex.ExecOne[int64](bg, db, how.sql)
		require.ErrorIs(t, err, how.want, what)
		holds(t, db, 1, 2)
	}
}

// limitPages makes the disk full at n pages of 4 KiB.
func limitPages(n int) *sqlitex.Options {
	return &sqlitex.Options{Setup: func(_ context.Context, c *sqlite.Conn) error {
		return zsqlitex.ExecuteTransient(c, fmt.Sprint(`PRAGMA max_page_count = `, n), nil)
	}}
}

// case X3
func TestAFullDiskRollsBackAndTheNextWriteFindsRoom(t *testing.T) {
	t.Parallel()
	const large = `INSERT INTO t (s) VALUES (hex(zeroblob(200000)))`
	db := dbtest.Open(t, limitPages(160), table)
	write(t, db, func(w *tx.Writer) error { exec(t, w, large); return nil })
	err := db.Write(bg, func(w *tx.Writer) error {
		exec(t, w, `INSERT INTO t (id) VALUES (2)`)
		_, err := w.Exec(large)
		return err
	})
	require.ErrorIs(t, err, tx.ErrFull)
	holds(t, db, 1)
	err = db.Write(bg, func(w *tx.Writer) error {
		exec(t, w, `INSERT INTO t (id) VALUES (2)`)
		_, full := w.Exec(large)
		require.ErrorIs(t, full, tx.ErrFull)
		// Whether SQLite undid the statement or the transaction is up to it. No half may be committed.
		if _, err := w.Exec(`INSERT INTO t (id) VALUES (3)`); err != nil {
			require.ErrorIs(t, err, tx.ErrFull)
		}
		return full
	})
	require.ErrorIs(t, err, tx.ErrFull)
	holds(t, db, 1)
	_, err = db.Exec(bg, large)
	require.ErrorIs(t, err, tx.ErrFull)
	holds(t, db, 1)
	write(t, db, func(w *tx.Writer) error {
		exec(t, w, `DELETE FROM t`)
		exec(t, w, large)
		return nil
	})
	holds(t, db, 1)
}

// A disk that is full and an error that fn swallowed: what Write answers is what is in the file.
func TestASwallowedFullDiskIsCommittedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, limitPages(40), table)
	for _, sql := range []string{
		`INSERT INTO t (s) VALUES (hex(zeroblob(4000000)))`,
		`INSERT INTO t (s) SELECT hex(zeroblob(1000)) FROM (WITH RECURSIVE c (x) AS (VALUES (1) UNION ALL SELECT x+1 FROM c LIMIT 1000) SELECT x FROM c)`,
		`INSERT OR FAIL INTO t (s) SELECT hex(zeroblob(1000)) FROM (WITH RECURSIVE c (x) AS (VALUES (1) UNION ALL SELECT x+1 FROM c LIMIT 1000) SELECT x FROM c)`,
	} {
		var before, after []int64
		err := db.Write(bg, func(w *tx.Writer) (err error) {
			exec(t, w, `INSERT INTO t (id) VALUES (2)`)
			_, err = w.Exec(sql)
			require.ErrorIs(t, err, tx.ErrFull)
			before, err = tx.All[int64](w, `SELECT id FROM t ORDER BY id`)
			if err != nil {
				before = nil
			}
			return nil
		})
		after = ints(t, db, `SELECT id FROM t ORDER BY id`)
		if err != nil {
			require.ErrorIs(t, err, tx.ErrFull)
			assert.Empty(t, after)
		} else {
			assert.Equal(t, before, after)
		}
		_, err = db.Exec(bg, `DELETE FROM t`)
		require.NoError(t, err)
	}
}
