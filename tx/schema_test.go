package tx_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// The rows of table u as they look after each change of its schema.
type (
	before  struct{ A, B int }
	added   struct{ A, B, C int }
	renamed struct{ X, B, C int }
	dropped struct{ X, C int }
	retyped struct{ X, C string }
	swapped struct{ C, X int }
)

const (
	createU = `CREATE TABLE u (a INTEGER, b INTEGER); INSERT INTO u VALUES (1, 2)`
	starU   = `SELECT * FROM u`
)

// rowOf reads the only row of u both ways that are cached.
func rowOf[T any](t *testing.T, q tx.Queryer) T {
	t.Helper()
	one, err := tx.One[T](q, starU)
	require.NoError(t, err)
	all, err := tx.All[T](q, starU)
	require.NoError(t, err)
	require.Equal(t, []T{one}, all)
	for each, err := range tx.Each[T](q, starU) {
		require.NoError(t, err)
		require.Equal(t, one, each)
	}
	return one
}

// schemaSteps change u, and check that its row is read rightly through q.
var schemaSteps = []struct {
	sql   string
	check func(t *testing.T, q tx.Queryer)
}{
	{`SELECT 1`, func(t *testing.T, q tx.Queryer) { assert.Equal(t, before{1, 2}, rowOf[before](t, q)) }},
	{`ALTER TABLE u ADD COLUMN c INTEGER DEFAULT 3`, func(t *testing.T, q tx.Queryer) {
		assert.Equal(t, added{1, 2, 3}, rowOf[added](t, q))
		_, err := tx.One[before](q, starU)
		assert.ErrorIs(t, err, tx.ErrScan)
	}},
	{`ALTER TABLE u RENAME COLUMN a TO x`, func(t *testing.T, q tx.Queryer) {
		assert.Equal(t, renamed{1, 2, 3}, rowOf[renamed](t, q))
		_, err := tx.One[added](q, starU)
		assert.ErrorIs(t, err, tx.ErrScan)
	}},
	{`ALTER TABLE u DROP COLUMN b`, func(t *testing.T, q tx.Queryer) { assert.Equal(t, dropped{1, 3}, rowOf[dropped](t, q)) }},
	{`DROP TABLE u; CREATE TABLE u (x TEXT, c TEXT); INSERT INTO u VALUES ('one', 'three')`, func(t *testing.T, q tx.Queryer) {
		assert.Equal(t, retyped{"one", "three"}, rowOf[retyped](t, q))
		_, err := tx.One[dropped](q, starU)
		assert.ErrorIs(t, err, tx.ErrScan)
	}},
	{`DROP TABLE u; CREATE TABLE u (c INTEGER, x INTEGER); INSERT INTO u VALUES (30, 10)`, func(t *testing.T, q tx.Queryer) {
		assert.Equal(t, swapped{30, 10}, rowOf[swapped](t, q))
		assert.Equal(t, dropped{10, 30}, rowOf[dropped](t, q))
	}},
	{`DROP TABLE u`, func(t *testing.T, q tx.Queryer) {
		_, err := tx.One[swapped](q, starU)
		assert.ErrorIs(t, err, tx.ErrSyntax)
		_, err = tx.All[swapped](q, starU)
		assert.ErrorIs(t, err, tx.ErrSyntax)
	}},
	{createU, func(t *testing.T, q tx.Queryer) { assert.Equal(t, before{1, 2}, rowOf[before](t, q)) }},
	{`DROP TABLE u; CREATE VIEW u AS SELECT 7 AS a, 8 AS b`, func(t *testing.T, q tx.Queryer) {
		assert.Equal(t, before{7, 8}, rowOf[before](t, q))
	}},
}

func TestCachedStatementsAreRightAfterASchemaChange(t *testing.T) {
	t.Parallel()
	changes := map[string]func(t *testing.T, db *sqlitex.DB, sql string){
		"by the same handle": func(t *testing.T, db *sqlitex.DB, sql string) {
			write(t, db, func(w *tx.Writer) error { return w.Script(sql) })
		},
		"by another handle": func(t *testing.T, db *sqlitex.DB, sql string) {
			other, err := sqlitex.Open(bg, db.Path(), nil)
			require.NoError(t, err)
			write(t, other, func(w *tx.Writer) error { return w.Script(sql) })
			require.NoError(t, other.Close())
		},
		"by another process": func(t *testing.T, db *sqlitex.DB, sql string) { inOtherProcess(t, db.Path(), sql) },
	}
	for who, change := range changes {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, createU)
			for _, step := range schemaSteps {
				change(t, db, step.sql)
				require.NoError(t, db.Read(bg, func(r *tx.Reader) error { step.check(t, r); return nil }), step.sql)
				write(t, db, func(w *tx.Writer) error { step.check(t, w); return nil })
			}
		})
	}
}

func TestCachedStatementsAreRightInsideTheTransactionThatChangesTheSchema(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, createU)
	for _, result := range []error{errTest, nil} {
		for range 2 {
			first := schemaSteps[0].check
			err := db.Write(bg, func(w *tx.Writer) error {
				first(t, w)
				for _, step := range schemaSteps[1:] {
					require.NoError(t, w.Script(step.sql), step.sql)
					step.check(t, w)
					require.Equal(t, errTest, w.Savepoint(func(w *tx.Writer) error {
						require.NoError(t, w.Script(`CREATE TABLE other (x); ALTER TABLE other RENAME TO other2`))
						step.check(t, w)
						return errTest
					}))
					step.check(t, w)
				}
				require.NoError(t, w.Script(`DROP VIEW u; `+createU))
				return result
			})
			require.Equal(t, result, err)
			// Rolled back or not, it looks as before.
			write(t, db, func(w *tx.Writer) error { first(t, w); return nil })
			require.NoError(t, db.Read(bg, func(r *tx.Reader) error { first(t, r); return nil }))
		}
	}
}

// The schema cookie after a rollback and another change is the one of the schema that was rolled back.
func TestAStatementPreparedOnASchemaThatWasRolledBack(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, createU)
	for range 3 {
		require.Equal(t, errTest, db.Write(bg, func(w *tx.Writer) error {
			exec(t, w, `ALTER TABLE u ADD COLUMN c INTEGER DEFAULT 3`)
			assert.Equal(t, added{1, 2, 3}, rowOf[added](t, w))
			return errTest
		}))
		require.Equal(t, errTest, db.Write(bg, func(w *tx.Writer) error {
			exec(t, w, `ALTER TABLE u RENAME COLUMN a TO x`)
			got, err := tx.One[struct{ X, B int }](w, starU)
			require.NoError(t, err)
			assert.Equal(t, struct{ X, B int }{1, 2}, got)
			return errTest
		}))
		write(t, db, func(w *tx.Writer) error { assert.Equal(t, before{1, 2}, rowOf[before](t, w)); return nil })
	}
}

// A temporary table takes the place of a table of the same name for as long as it lives.
func TestCachedStatementsSeeATemporaryTableComeAndGo(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, createU)
	for range 2 {
		write(t, db, func(w *tx.Writer) error {
			assert.Equal(t, before{1, 2}, rowOf[before](t, w))
			require.NoError(t, w.Script(`CREATE TEMP TABLE u (x, b, c); INSERT INTO temp.u VALUES (7, 8, 9)`))
			assert.Equal(t, renamed{7, 8, 9}, rowOf[renamed](t, w))
			return nil
		})
	}
	write(t, db, func(w *tx.Writer) error { assert.Equal(t, before{1, 2}, rowOf[before](t, w)); return nil })
}

// A reader that is in the middle of its transaction goes on seeing the schema it began with.
func TestASnapshotKeepsItsSchema(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, createU)
	require.NoError(t, db.Read(bg, func(r *tx.Reader) error {
		for _, step := range schemaSteps {
			write(t, db, func(w *tx.Writer) error { return w.Script(step.sql) })
			assert.Equal(t, before{1, 2}, rowOf[before](t, r))
		}
		return nil
	}))
}
