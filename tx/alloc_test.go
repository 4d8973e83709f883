package tx_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/tx"
)

// What a call allocates beside the strings and slices that it returns, measured and not to become more: nothing. A
// Savepoint needs its Writer and the text of its statements.
func TestCallsInATransactionAllocateLittle(t *testing.T) {
	// Not parallel: AllocsPerRun counts the whole process.
	type user struct {
		ID int64
		S  string
	}
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id, n, s) VALUES (1, 1, 'one'), (2, 2, 'two'), (1000, 3, 'three')`)
	id := int64(1000) // more than what Go boxes without memory
	count := func(q tx.Queryer, what string, most float64, fn func() error) {
		t.Helper()
		require.NoError(t, fn())
		got := testing.AllocsPerRun(200, func() { _ = fn() })
		t.Logf("%-20T %-24s %v", q, what, got)
		assert.LessOrEqual(t, got, most, what)
	}
	reads := func(q tx.Queryer) {
		count(q, "One[int64]", 0, func() error { _, err := tx.One[int64](q, `SELECT n FROM t WHERE id = 1`); return err })
		count(q, "One[int64], argument", 0, func() error { _, err := tx.One[int64](q, `SELECT n FROM t WHERE id = ?`, id); return err })
		count(q, "One[string]", 1, func() error { _, err := tx.One[string](q, `SELECT s FROM t WHERE id = 1`); return err })
		count(q, "One[struct], argument", 1, func() error { _, err := tx.One[user](q, `SELECT id, s FROM t WHERE id = ?`, id); return err })
		count(q, "All[struct], 3 rows", 2, func() error { _, err := tx.All[user](q, `SELECT id, s FROM t`); return err })
		count(q, "Each[int64], 3 rows", 0, func() (err error) {
			for _, err = range tx.Each[int64](q, `SELECT id FROM t`) {
			}
			return err
		})
	}
	require.NoError(t, db.Read(bg, func(r *tx.Reader) error { reads(r); return nil }))
	write(t, db, func(w *tx.Writer) error {
		reads(w)
		count(w, "Exec", 0, func() error { _, err := w.Exec(`UPDATE t SET n = ? WHERE id = 1`, id); return err })
		count(w, "Savepoint", 3, func() error { return w.Savepoint(func(*tx.Writer) error { return nil }) })
		return nil
	})
}
