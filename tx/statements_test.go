package tx_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// case S1
func TestTheNumberOfArgumentsMustMatchAndNothingIsLeftFromBefore(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, `CREATE TABLE v (a, b, c)`)
	const sql = `INSERT INTO v VALUES (?, ?, ?)`
	big := strings.Repeat("x", 10_000)
	write(t, db, func(w *tx.Writer) error {
		exec(t, w, sql, big, 2, 3)
		for _, args := range [][]any{nil, {1}, {1, 2}, {1, 2, 3, 4}, {1, 2, make(chan int)}, {big, big, uint64(1 << 63)}} {
			_, err := w.Exec(sql, args...)
			require.ErrorIs(t, err, tx.ErrArguments, "%d arguments", len(args))
			_, err = tx.All[int64](w, sql+` RETURNING 1`, args...)
			require.ErrorIs(t, err, tx.ErrArguments)
			for _, err := range tx.Each[int64](w, sql+` RETURNING 1`, args...) {
				require.ErrorIs(t, err, tx.ErrArguments)
			}
		}
		exec(t, w, sql, nil, nil, nil)
		_, err := w.Exec(`SELECT 1`, 1)
		require.ErrorIs(t, err, tx.ErrArguments)
		require.ErrorIs(t, w.Script(`SELECT ?`), tx.ErrArguments)
		require.ErrorIs(t, w.Script(`SELECT 1; SELECT :a`), tx.ErrArguments)
		return nil
	})
	got, err := sqlitex.All[string](bg, db, `SELECT coalesce(length(a), '-') || coalesce(b, '-') || coalesce(c, '-') FROM v ORDER BY rowid`)
	require.NoError(t, err)
	assert.Equal(t, []string{"1000023", "---"}, got)
}

// case S2
func TestTheSameQueryNestedInItsOwnLoop(t *testing.T) {
	t.Parallel()
	const sql = `SELECT id FROM t WHERE id > ? ORDER BY id`
	for name, o := range map[string]*sqlitex.Options{"default": nil, "one statement": {MaxStatements: 1}, "no cache": {MaxStatements: -1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, o, table+`; INSERT INTO t (id) VALUES (1), (2), (3), (4)`)
			nested := func(q tx.Queryer) error {
				for range 3 {
					var got [][3]int
					for a, err := range tx.Each[int](q, sql, 0) {
						require.NoError(t, err)
						for b, err := range tx.Each[int](q, sql, a) {
							require.NoError(t, err)
							if b == 4 {
								break
							}
							for c, err := range tx.Each[int](q, sql, b) {
								require.NoError(t, err)
								got = append(got, [3]int{a, b, c})
							}
							all, err := tx.All[int](q, sql, 2)
							require.NoError(t, err)
							assert.Equal(t, []int{3, 4}, all)
							one, err := tx.One[int](q, sql, 3)
							require.NoError(t, err)
							assert.Equal(t, 4, one)
						}
					}
					assert.Equal(t, [][3]int{{1, 2, 3}, {1, 2, 4}, {1, 3, 4}, {2, 3, 4}}, got)
				}
				return nil
			}
			require.NoError(t, db.Read(bg, func(r *tx.Reader) error { return nested(r) }))
			write(t, db, func(w *tx.Writer) error { return nested(w) })
			for a, err := range sqlitex.Each[int](bg, db, sql, 2) {
				require.NoError(t, err)
				for b, err := range sqlitex.Each[int](bg, db, sql, a) {
					require.NoError(t, err)
					assert.Equal(t, []int{3, 4}, []int{a, b})
				}
			}
		})
	}
}

func TestEachRunsTheQueryAnewAtEveryRange(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	write(t, db, func(w *tx.Writer) error {
		inserts := tx.Each[int64](w, `INSERT INTO t (s) VALUES ('x') RETURNING id`)
		assert.Equal(t, []int64{}, ids(t, tx.Each[int64](w, `SELECT id FROM t`)))
		for range inserts {
			break
		}
		for range inserts {
		}
		rows := tx.Each[int64](w, `SELECT id FROM t`)
		assert.Equal(t, []int64{1, 2}, ids(t, rows))
		exec(t, w, `INSERT INTO t (id) VALUES (3)`)
		assert.Equal(t, []int64{1, 2, 3}, ids(t, rows))
		return nil
	})
	each := sqlitex.Each[int64](bg, db, `SELECT id FROM t`)
	assert.Equal(t, []int64{1, 2, 3}, ids(t, each))
	_, err := db.Exec(bg, `DELETE FROM t WHERE id = 2`)
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 3}, ids(t, each))
}

func ids(t *testing.T, rows func(func(int64, error) bool)) []int64 {
	t.Helper()
	got := []int64{}
	for id, err := range rows {
		require.NoError(t, err)
		got = append(got, id)
	}
	return got
}

// case S3
func TestACallTakesExactlyOneStatement(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	one := []string{
		"SELECT 1", "SELECT 1;", "SELECT 1;\n", "SELECT 1; -- c", "SELECT 1; /* c */ ", "SELECT 1 -- c", "SELECT 1; /* c", ";SELECT 1",
		"-- c\nSELECT 1;", "SELECT 1;\xef\xbb\xbf", "SELECT/**/1", "\xef\xbb\xbfSELECT 1",
	}
	several := []string{
		"SELECT 1; SELECT 2", "SELECT 1;SELECT 2;", "SELECT 1; ;", "SELECT 1;;", "SELECT 1; -- c\nSELECT 2", "SELECT 1; garbage", "SELECT 1; COMMIT", "SELECT 1; /* */ BEGIN",
	}
	none := []string{"", " ", "\n", ";", ";;", "-- c", "-- c\n", "/**/", "/* c", "/**", "\xef\xbb\xbf", "; -- c", " /* ; */ ; "}
	each := func(q tx.Queryer) {
		for _, sql := range one {
			for way, err := range ways(q, sql) {
				assert.NoError(t, err, "%s of %q", way, sql)
			}
		}
		for _, sql := range several {
			for way, err := range ways(q, sql) {
				if !strings.Contains(way, "Script") {
					assert.ErrorIs(t, err, tx.ErrNotAllowed, "%s of %q", way, sql)
				}
			}
		}
		for _, sql := range none {
			for way, err := range ways(q, sql) {
				switch way {
				case "Script":
					assert.NoError(t, err, "%q", sql)
				case "One", "All", "Each", "Exec":
					assert.ErrorIs(t, err, tx.ErrSyntax, "%s of %q", way, sql)
				}
			}
		}
		for way, err := range ways(q, "SELECT 1\x00; SELECT 2") {
			assert.ErrorIs(t, err, tx.ErrSyntax, way)
		}
	}
	require.NoError(t, db.Read(bg, func(r *tx.Reader) error { each(r); return nil }))
	write(t, db, func(w *tx.Writer) error { each(w); return nil })
	_, err := db.Exec(bg, `INSERT INTO t (id) VALUES (1); INSERT INTO t (id) VALUES (2)`)
	require.ErrorIs(t, err, tx.ErrNotAllowed)
	holds(t, db)
}

func TestAScriptRunsStatementsThatNeedEachOther(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, "")
	write(t, db, func(w *tx.Writer) error {
		return w.Script("\xef\xbb\xbf" + `
			CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT); -- ; not a statement
			CREATE TRIGGER g AFTER INSERT ON t WHEN new.id = 1 BEGIN
				INSERT INTO t (id) VALUES (2);
				UPDATE t SET s = 'a;b' WHERE id = 2;
			END;;
			INSERT INTO t (id) VALUES (1) RETURNING id;
			PRAGMA user_version = 3;
			SELECT ';' /* ; */`)
	})
	holds(t, db, 1, 2)
	assert.Equal(t, []int64{3}, ints(t, db, `PRAGMA user_version`))
}

func TestAScriptOfManyStatements(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, nil, table)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	require.NoError(t, db.Write(ctx, func(w *tx.Writer) error {
		return w.Script(strings.Repeat("INSERT INTO t (s) VALUES ('one row of a dump');\n", 2000))
	}))
	assert.Equal(t, []int64{2000}, ints(t, db, `SELECT count(*) FROM t`))
}
