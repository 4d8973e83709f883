package tx_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// fronts are what SQLite skips before a statement.
var fronts = []string{"", " \n\t", "-- hello\n", "/* BEGIN */", ";", ";;  ;", "\xef\xbb\xbf", "/**/;\xef\xbb\xbf -- x\n ; /*;*/", "\r\n\f"}

// refused are statements that would end the transaction, or leave the connection in another state.
var refused = []string{
	`BEGIN`, `begin immediate`, `COMMIT`, `Commit Transaction`, `END`, `END TRANSACTION`, `ROLLBACK`, `ROLLBACK TO x`,
	`ROLLBACK TRANSACTION TO SAVEPOINT x`, `SAVEPOINT x`, `RELEASE x`, `RELEASE SAVEPOINT x`, `BEGIN;`, `COMMIT -- x`,
	`EXPLAIN COMMIT`, `EXPLAIN QUERY PLAN ROLLBACK`,
	`ATTACH ':memory:' AS other`, `ATTACH DATABASE 'other.db' AS other`, `DETACH main`, `EXPLAIN ATTACH ':memory:' AS other`,
	`VACUUM`, `VACUUM INTO 'copy.db'`,
	`PRAGMA foreign_keys = OFF`, `PRAGMA foreign_keys(0)`, `pragma/**/main . "foreign_keys" = off`, `PRAGMA journal_mode = DELETE`,
	`PRAGMA synchronous = OFF`, `PRAGMA cache_size = 1`, `PRAGMA query_only = 0`, `PRAGMA busy_timeout = 1`, `PRAGMA locking_mode = EXCLUSIVE`,
	`PRAGMA writable_schema = ON`, `PRAGMA wal_checkpoint`, `PRAGMA wal_checkpoint(TRUNCATE)`, `PRAGMA temp_store = 2`,
	`PRAGMA schema_version = 1`, `PRAGMA case_sensitive_like = ON`, `PRAGMA shrink_memory`, `PRAGMA no_such_pragma`, `PRAGMA no_such_pragma = 1`,
	`EXPLAIN PRAGMA foreign_keys = OFF`, `EXPLAIN QUERY PLAN PRAGMA query_only = 0`,
}

// ways are all ways to run a statement in a transaction.
func ways(q tx.Queryer, sql string) map[string]error {
	errs := map[string]error{}
	_, errs["One"] = tx.One[any](q, sql)
	_, errs["All"] = tx.All[any](q, sql)
	for _, err := range tx.Each[any](q, sql) {
		errs["Each"] = err
	}
	if w, ok := q.(*tx.Writer); ok {
		_, errs["Exec"] = w.Exec(sql)
		errs["Script"] = w.Script(sql)
		errs["inside a Script"] = w.Script("SELECT 1; " + sql + "; SELECT 2")
	}
	return errs
}

func TestStatementsThatWouldChangeTheConnectionAreRefused(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	for _, name := range []string{path, ":memory:"} {
		db := dbtest.OpenAt(t, name, nil, table)
		for _, sql := range refused {
			for _, front := range fronts {
				sql := front + sql
				write(t, db, func(w *tx.Writer) error {
					exec(t, w, `INSERT INTO t (id) VALUES (1)`)
					for way, err := range ways(w, sql) {
						require.ErrorIs(t, err, tx.ErrNotAllowed, "%s of %q", way, sql)
					}
					// The transaction was not touched.
					exec(t, w, `DELETE FROM t`)
					return nil
				})
				require.NoError(t, db.Read(bg, func(r *tx.Reader) error {
					for way, err := range ways(r, sql) {
						require.ErrorIs(t, err, tx.ErrNotAllowed, "%s of %q", way, sql)
					}
					_, err := tx.One[int64](r, `SELECT count(*) FROM t`)
					return err
				}))
			}
			_, err := db.Exec(bg, sql)
			require.ErrorIs(t, err, tx.ErrNotAllowed, sql)
			_, err = sqlitex.ExecOne[any](bg, db, sql)
			require.ErrorIs(t, err, tx.ErrNotAllowed, sql)
			_, err = sqlitex.All[any](bg, db, sql)
			require.ErrorIs(t, err, tx.ErrNotAllowed, sql)
		}
		holds(t, db)
		assert.Equal(t, []int64{1}, ints(t, db, `PRAGMA foreign_keys`))
	}
}

func TestAReaderCannotWrite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{dbtest.Path(t), ":memory:"} {
		db := dbtest.OpenAt(t, name, nil, table)
		for _, sql := range []string{
			`INSERT INTO t (id) VALUES (1)`, `INSERT INTO t (id) VALUES (1) RETURNING id`, `WITH x AS (SELECT 1) DELETE FROM t`,
			`UPDATE t SET n = 1`, `REPLACE INTO t (id) VALUES (1)`, `DELETE FROM t WHERE 0`, `CREATE TABLE x (y)`, `DROP TABLE t`,
			`CREATE TEMP TABLE x (y)`, `ALTER TABLE t ADD COLUMN z`, `REINDEX`, `ANALYZE`, "\xef\xbb\xbf/* SELECT */ DELETE FROM t",
		} {
			// The writer's cache may know the text already: a memory database has one connection.
			_ = db.Write(bg, func(w *tx.Writer) error { _, _ = w.Exec(sql); return errTest })
			require.NoError(t, db.Read(bg, func(r *tx.Reader) error {
				for way, err := range ways(r, sql) {
					require.ErrorIs(t, err, tx.ErrReadOnly, "%s of %q", way, sql)
				}
				return nil
			}))
			_, err := sqlitex.All[int64](bg, db, sql)
			require.ErrorIs(t, err, tx.ErrReadOnly, sql)
		}
		for _, sql := range []string{`PRAGMA user_version = 5`, `PRAGMA application_id = 5`, `PRAGMA optimize`, `PRAGMA incremental_vacuum`} {
			write(t, db, func(w *tx.Writer) error { exec(t, w, sql); return nil })
			require.NoError(t, db.Read(bg, func(r *tx.Reader) error {
				for way, err := range ways(r, sql) {
					require.ErrorIs(t, err, tx.ErrNotAllowed, "%s of %q", way, sql)
				}
				return nil
			}))
		}
		holds(t, db)
	}
}

// What one caller makes temporary, the next does not find; nor the same caller in a reader.
func TestTemporaryObjectsAreGoneAfterTheirTransaction(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id) VALUES (1)`)
	const shadow = `CREATE TEMP TABLE t (id); INSERT INTO temp.t VALUES (99);
		CREATE TEMP VIEW v AS SELECT 1; CREATE TEMP TRIGGER g AFTER INSERT ON main.t BEGIN DELETE FROM main.t; END`
	for _, result := range []error{nil, errTest} {
		err := db.Write(bg, func(w *tx.Writer) error {
			require.NoError(t, w.Script(shadow))
			n, err := tx.One[int64](w, `SELECT id FROM t`)
			assert.Equal(t, int64(99), n)
			require.NoError(t, err)
			return result
		})
		assert.Equal(t, result, err)
		holds(t, db, 1)
		write(t, db, func(w *tx.Writer) error {
			n, err := tx.One[int64](w, `SELECT count(*) FROM temp.sqlite_schema`)
			assert.Zero(t, n)
			return err
		})
	}
	_, err := db.Exec(bg, `CREATE TEMPORARY TABLE t (id)`)
	require.NoError(t, err)
	holds(t, db, 1)
}
