package sqlitex_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case P10
func TestTemporaryObjectsAreGoneWhenTheirTransactionIs(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, sql := range []string{
		`CREATE TEMP TABLE t (x)`, `CREATE TEMPORARY TABLE "a""b" AS SELECT 1`, "CREATE TABLE temp.x (x)", `CREATE TEMP VIEW "t" AS SELECT 1 AS id`,
		`CREATE TEMP TRIGGER "t""g" AFTER INSERT ON t BEGIN DELETE FROM t; END`, "CREATE VIRTUAL TABLE temp.f USING fts5(x)",
		"CREATE TABLE IF NOT EXISTS temp.y (id INTEGER PRIMARY KEY AUTOINCREMENT)", "/* c */ ; CREATE TEMP TABLE z (x)",
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, &sqlitex.Options{MaxReaders: 1}, schema)
			ctx := t.Context()
			before := state(t, db)
			for _, outcome := range []error{nil, boom} {
				for name, way := range map[string]func() error{
					"Exec": func() error { _, err := db.Exec(ctx, sql); return errors.Join(err, outcome) },
					"Write": func() error {
						return db.Write(ctx, func(w *tx.Writer) error { _, err := w.Exec(sql); return errors.Join(err, outcome) })
					},
					"Script": func() error {
						return db.Write(ctx, func(w *tx.Writer) error { return errors.Join(w.Script(sql), outcome) })
					},
					"All": func() error {
						return db.Write(ctx, func(w *tx.Writer) error { _, err := tx.All[int](w, sql); return errors.Join(err, outcome) })
					},
					"Savepoint": func() error {
						return db.Write(ctx, func(w *tx.Writer) error {
							return w.Savepoint(func(w *tx.Writer) error { _, err := w.Exec(sql); return errors.Join(err, outcome) })
						})
					},
				} {
					require.ErrorIs(t, errors.Join(way(), boom), boom)
					assert.Equal(t, before, state(t, db), name)
					usable(t, db)
				}
			}
			_, err := sqlitex.All[int](ctx, db, sql)
			require.ErrorIs(t, err, sqlitex.ErrReadOnly, "a reader makes none")
		})
	}
}
