package tx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// More texts than the cache holds, nested so that busy statements would have to go: every answer is right.
func TestMoreStatementsThanTheCacheHolds(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{-1, 1, 2, 7} {
		db := dbtest.Open(t, &sqlitex.Options{MaxStatements: limit}, table+`; INSERT INTO t (id) VALUES (1), (2), (3)`)
		var nest func(q tx.Queryer, depth int)
		nest = func(q tx.Queryer, depth int) {
			if depth == 4 {
				return
			}
			var seen []int
			for id, err := range tx.Each[int](q, fmt.Sprintf(`SELECT id FROM t WHERE id <> %d ORDER BY id`, -depth)) {
				require.NoError(t, err)
				seen = append(seen, id)
				n, err := tx.One[int](q, fmt.Sprintf(`SELECT %d + ?`, 100*depth+id), 1)
				require.NoError(t, err)
				assert.Equal(t, 100*depth+id+1, n)
				nest(q, depth+1)
			}
			assert.Equal(t, []int{1, 2, 3}, seen)
		}
		require.NoError(t, db.Read(bg, func(r *tx.Reader) error { nest(r, 0); return nil }))
		write(t, db, func(w *tx.Writer) error {
			nest(w, 0)
			return w.Savepoint(func(w *tx.Writer) error { nest(w, 0); return nil })
		})
	}
}

// A statement left active would keep the snapshot of its connection, and the log could not be cut.
func TestNoStatementIsLeftActive(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	db, other := dbtest.OpenAt(t, path, nil, table), dbtest.OpenAt(t, path, nil, "")
	_, err := db.Exec(bg, `INSERT INTO t (id, n, s) VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z')`)
	require.NoError(t, err)
	const rows = `SELECT id FROM t`
	uses := map[string]func(q tx.Queryer){
		"break": func(q tx.Queryer) {
			for range tx.Each[int64](q, rows) {
				break
			}
		},
		"too many rows": func(q tx.Queryer) {
			_, err := tx.One[int64](q, rows)
			assert.ErrorIs(t, err, tx.ErrTooManyRows)
		},
		"wrong type": func(q tx.Queryer) {
			_, err := tx.One[int64](q, `SELECT s FROM t`)
			assert.ErrorIs(t, err, tx.ErrScan)
			_, err = tx.All[int64](q, `SELECT s FROM t`)
			assert.ErrorIs(t, err, tx.ErrScan)
			for _, err := range tx.Each[int64](q, `SELECT s FROM t`) {
				assert.ErrorIs(t, err, tx.ErrScan)
			}
		},
		"no plan": func(q tx.Queryer) {
			_, err := tx.All[int64](q, `SELECT * FROM t`)
			assert.ErrorIs(t, err, tx.ErrScan)
			for _, err := range tx.Each[int64](q, `SELECT * FROM t`) {
				assert.ErrorIs(t, err, tx.ErrScan)
			}
		},
		"panic": func(q tx.Queryer) {
			assert.Panics(t, func() {
				for range tx.Each[int64](q, rows) {
					panic("boom")
				}
			})
		},
		"step error": func(q tx.Queryer) {
			_, err := tx.All[int64](q, `SELECT abs(CASE id WHEN 2 THEN -9223372036854775808 ELSE id END) FROM t`)
			assert.ErrorIs(t, err, tx.ErrSyntax)
		},
	}
	for name, use := range uses {
		require.NoError(t, db.Read(bg, func(r *tx.Reader) error { use(r); return nil }))
		write(t, db, func(w *tx.Writer) error { use(w); exec(t, w, `UPDATE t SET s = s || '.'`); return nil })
		// The other handle has no kept snapshot of db's to ask for; waiting is bounded by its busy timeout.
		_, err := other.Checkpoint(bg, sqlitex.CheckpointTruncate)
		require.NoError(t, err, name)
	}
	holds(t, db, 1, 2, 3)
}

func TestAStepErrorIsNotTheEndOfTheRows(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table+`; INSERT INTO t (id) VALUES (1), (2), (3)`)
	const sql = `SELECT abs(CASE id WHEN 3 THEN -9223372036854775808 ELSE id END) FROM t ORDER BY id`
	each := func(q tx.Queryer) (seen []int64, err error) {
		var v int64
		for v, err = range tx.Each[int64](q, sql) {
			if err == nil {
				seen = append(seen, v)
			}
		}
		return seen, err
	}
	check := func(q tx.Queryer) error {
		seen, err := each(q)
		assert.Equal(t, []int64{1, 2}, seen)
		require.ErrorIs(t, err, tx.ErrSyntax)
		_, err = tx.All[int64](q, sql)
		require.ErrorIs(t, err, tx.ErrSyntax)
		_, err = tx.One[int64](q, sql+` LIMIT 1 OFFSET 2`)
		require.ErrorIs(t, err, tx.ErrSyntax)
		_, err = tx.One[int64](q, `SELECT abs(CASE id WHEN 3 THEN -9223372036854775808 ELSE id END) FROM t WHERE id > 1 ORDER BY id`)
		require.ErrorIs(t, err, tx.ErrSyntax, "one row and an error is not one row")
		return nil
	}
	require.NoError(t, db.Read(bg, func(r *tx.Reader) error { return check(r) }))
	write(t, db, func(w *tx.Writer) error { return check(w) })
}
