package sqlitex_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// What changes the schema or a setting has a transaction for itself, in its place in the queue.
func TestASchemaChangeOrPRAGMAIsNotShared(t *testing.T) {
	t.Parallel()
	handles(t, nil, schema+`; CREATE TABLE old (x); CREATE INDEX i ON t (v)`, func(t *testing.T, db *sqlitex.DB) {
		for _, sql := range []string{
			`CREATE TABLE new (x)`, `CREATE TEMP TABLE t (v)`, `CREATE INDEX j ON t (v)`, `ALTER TABLE old ADD COLUMN y`, `DROP TABLE old`, `REINDEX`,
			`ANALYZE`, `PRAGMA user_version = 5`, `PRAGMA user_version`, `PRAGMA optimize`, `PRAGMA incremental_vacuum`, `EXPLAIN DROP TABLE new`,
		} {
			before := len(values(t, db))
			n, callers := commits(db, func() {
				succeeded(t, together(t, db, adds(db, "a"), adds(db, "b"), executes(db, sql), adds(db, "c"), adds(db, "d"))...)
			})
			assert.Equal(t, []int64{3, 5}, []int64{n, callers}, sql)
			assert.Equal(t, []string{"a", "b", "c", "d"}, values(t, db)[before:], sql)
		}
	})
}

// case P10: what a Batch leaves on the connection ends with it, before the part of a stranger.
func TestATemporaryTableOfABatchIsNotMetByTheNextPart(t *testing.T) {
	t.Parallel()
	shadows := func(w *tx.Writer) error {
		if _, err := w.Exec(`CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, v TEXT)`); err != nil {
			return err
		}
		return addsIn(w, "in the shadow")
	}
	scripted := func(w *tx.Writer) error {
		return w.Script(`CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t (v) VALUES ('in the shadow')`)
	}
	handles(t, nil, schema, func(t *testing.T, db *sqlitex.DB) {
		total := 0
		for _, fn := range []func(w *tx.Writer) error{
			shadows, scripted,
			func(w *tx.Writer) error { return w.Savepoint(shadows) },
			func(w *tx.Writer) error {
				_ = w.Savepoint(func(w *tx.Writer) error { _ = shadows(w); return errOwn })
				return nil
			},
			func(w *tx.Writer) error {
				_, err := w.Exec(`CREATE TEMP VIEW t AS SELECT 1 AS id, 'x' AS v`)
				return err
			},
			func(w *tx.Writer) error {
				_, err := w.Exec(`CREATE TEMP TRIGGER g BEFORE INSERT ON main.t BEGIN SELECT RAISE(IGNORE); END`)
				return err
			},
		} {
			succeeded(t, together(t, db, batches(db, fn), adds(db, "x"), batches(db, fn), adds(db, "x"), batches(db, fn), batches(db, fn),
				returns(db, `INSERT INTO t (v) VALUES ('x') RETURNING id`))...)
			total += 3
			require.Len(t, values(t, db), total)
		}
		assert.NotContains(t, values(t, db), "in the shadow")
	})
}

// A PRAGMA that is in force until the transaction ends is in force for one part only.
func TestDeferredForeignKeysOfABatchAreNotThoseOfTheNextPart(t *testing.T) {
	t.Parallel()
	const family = schema + `; CREATE TABLE c (id INTEGER PRIMARY KEY, t INTEGER REFERENCES t)`
	deferring := func(w *tx.Writer) error {
		if _, err := w.Exec(`PRAGMA defer_foreign_keys = 1`); err != nil {
			return err
		}
		if _, err := w.Exec(`INSERT INTO c (t) SELECT coalesce(max(id), 0) + 1 FROM t`); err != nil {
			return err
		}
		return addsIn(w, "parent")
	}
	handles(t, nil, family, func(t *testing.T, db *sqlitex.DB) {
		immediate := func(w *tx.Writer) error {
			_, err := w.Exec(`INSERT INTO c (t) VALUES (-1)`)
			assert.ErrorIs(t, err, tx.ErrForeignKey, "at once")
			return nil
		}
		runs := 0
		for range 2 {
			outcomes := together(t, db, batches(db, deferring), batches(db, immediate), adds(db, "x"), batches(db, deferring),
				batches(db, immediate), executes(db, `INSERT INTO c (t) VALUES (-1)`), batchAdds(db, "x", &runs))
			require.ErrorIs(t, outcomes[5].err, tx.ErrForeignKey)
			succeeded(t, outcomes[:5]...)
			succeeded(t, outcomes[6])
		}
		assert.Equal(t, 2, runs, "nothing was repeated for the foreign key")
		n, err := sqlitex.One[int](context.Background(), db, `SELECT count(*) FROM c`)
		require.NoError(t, err)
		assert.Equal(t, 4, n)
	})
}

// A schema change inside a Batch is part of its commit, like everything else.
func TestASchemaChangeInABatchIsUndoneWithIt(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, schema)
	rename := func(fail error) func() error {
		return batches(db, func(w *tx.Writer) error {
			if err := w.Script(`ALTER TABLE t RENAME COLUMN v TO value; CREATE TABLE made (x)`); err != nil {
				return err
			}
			if fail == nil {
				return nil
			}
			if _, err := w.Exec(`INSERT INTO t (value) VALUES ('undone')`); err != nil {
				return err
			}
			return fail
		})
	}
	outcomes := together(t, db, adds(db, "a"), rename(errOwn), adds(db, "b"), rename(errOwn), rename(nil),
		executes(db, `INSERT INTO t (value) VALUES ('c')`), adds(db, "no such column"))
	require.ErrorIs(t, outcomes[1].err, errOwn)
	require.ErrorIs(t, outcomes[3].err, errOwn)
	require.ErrorIs(t, outcomes[6].err, tx.ErrSyntax)
	succeeded(t, outcomes[0], outcomes[2], outcomes[4], outcomes[5])
	got, err := sqlitex.All[string](t.Context(), db, `SELECT value FROM t ORDER BY id`)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c"}, got)
}
