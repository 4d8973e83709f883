package query_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/query"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/pragma"
)

func TestMain(m *testing.M) { dbtest.Main(m, nil) }

// open returns a connection with a table t. When the test ends no statement may be in use.
func open(t *testing.T) *conn.Conn {
	t.Helper()
	c, err := conn.Open(context.Background(), &conn.Config{
		Path: ":memory:", Flags: sqlite.OpenReadWrite | sqlite.OpenCreate | sqlite.OpenMemory,
		Pragmas: pragma.Config{JournalMode: pragma.JournalMemory}, Statements: 20,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Zero(t, c.Stmts.Busy(), "statements were not given back")
		assert.NoError(t, c.Close())
	})
	require.NoError(t, query.Script(c, `CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT NOT NULL)`))
	return c
}

func fill(t *testing.T, c *conn.Conn, n int) {
	t.Helper()
	for i := range n {
		res, err := query.Exec(c, `INSERT INTO t (id, s) VALUES (?, ?)`, []any{i + 1, fmt.Sprint("row ", i+1)})
		require.NoError(t, err)
		require.Equal(t, query.Result{RowsAffected: 1, LastInsertID: int64(i + 1)}, res)
	}
}

type row struct {
	ID int
	S  string
}

func TestAllSizesItsSliceByTheLastResult(t *testing.T) {
	t.Parallel()
	c := open(t)
	fill(t, c, 1000)
	const sql = `SELECT id, s FROM t WHERE id <= ?`
	for _, n := range []int{1000, 1000, 0, 1, 1000, 10} {
		rows, err := query.All[row](c, false, sql, []any{n})
		require.NoError(t, err)
		require.Len(t, rows, n)
		require.NotNil(t, rows)
		for i, r := range rows {
			require.Equal(t, row{i + 1, fmt.Sprint("row ", i+1)}, r)
		}
	}
	rows, err := query.All[row](c, false, sql, []any{1000})
	require.NoError(t, err)
	assert.Less(t, cap(rows), 4000, "what the last run expected is a guess, not a promise")
}

// The guess is bounded in bytes: rows may be large, and have been many.
func TestTheFirstAllocationIsBounded(t *testing.T) {
	t.Parallel()
	c := open(t)
	fill(t, c, 300)
	type large struct {
		row
		_ [1 << 20]byte
	}
	const sql = `SELECT id, s FROM t WHERE id <= ?`
	_, err := query.All[row](c, false, sql, []any{300})
	require.NoError(t, err)
	rows, err := query.All[large](c, false, sql, []any{1})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.LessOrEqual(t, cap(rows), 8)
}

// The same text scanned into more types than plans are kept of it.
func TestOneStatementForManyTypes(t *testing.T) {
	t.Parallel()
	c := open(t)
	fill(t, c, 1)
	const sql = `SELECT id FROM t`
	for range 3 {
		one[int](t, c, sql, 1)
		one[int8](t, c, sql, 1)
		one[uint16](t, c, sql, 1)
		one[int32](t, c, sql, 1)
		one[float64](t, c, sql, 1)
		one[any](t, c, sql, int64(1))
		one[struct{ ID int }](t, c, sql, struct{ ID int }{1})
		one[row](t, c, sql, row{ID: 1})
	}
}

func one[T any](t *testing.T, c *conn.Conn, sql string, want T) {
	t.Helper()
	got, err := query.One[T](c, false, sql, nil)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestEveryFailureGivesTheStatementBack(t *testing.T) {
	t.Parallel()
	c := open(t)
	fill(t, c, 3)
	for name, f := range map[string]struct {
		sql  string
		args []any
		want error
	}{
		"arguments":     {`SELECT id FROM t WHERE id = ?`, nil, sqlerr.ErrArguments},
		"a column type": {`SELECT s FROM t`, nil, sqlerr.ErrScan},
		"a column more": {`SELECT id, s FROM t`, nil, sqlerr.ErrScan},
		"a step":        {`SELECT abs(-9223372036854775807 - id) FROM t`, nil, sqlerr.ErrSyntax},
		"a constraint":  {`INSERT INTO t (id, s) VALUES (1, '') RETURNING id`, nil, sqlerr.ErrUnique},
		"a reader":      {`DELETE FROM t`, nil, sqlerr.ErrReadOnly},
	} {
		write := !errors.Is(f.want, sqlerr.ErrReadOnly)
		_, err := query.One[int](c, write, f.sql, f.args)
		require.ErrorIs(t, err, f.want, name)
		_, err = query.All[int](c, write, f.sql, f.args)
		require.ErrorIs(t, err, f.want, name)
		rows, err := query.Open[int](c, write, f.sql, f.args)
		for err == nil {
			var ok bool
			if _, ok, err = rows.Next(); !ok {
				break
			}
		}
		require.ErrorIs(t, err, f.want, name)
		if c.Stmts.Busy() > 0 {
			rows.Close()
		}
		require.Zero(t, c.Stmts.Busy(), name)
	}
}

func TestRowsOfAStatementThatWritesAreReadAhead(t *testing.T) {
	t.Parallel()
	c := open(t)
	rows, err := query.Open[int](c, true, `INSERT INTO t (id, s) VALUES (1, ''), (2, '') RETURNING id`, nil)
	require.NoError(t, err)
	assert.Zero(t, c.Stmts.Busy(), "it holds no statement")
	require.NoError(t, query.Control(c, "SAVEPOINT x"))
	require.NoError(t, query.Control(c, "RELEASE x"))
	for want := range 2 {
		id, ok, err := rows.Next()
		require.NoError(t, err)
		require.True(t, ok)
		assert.Equal(t, want+1, id)
	}
	for range 2 {
		_, ok, err := rows.Next()
		require.NoError(t, err)
		assert.False(t, ok)
	}
	rows.Close()
}

func TestNextAfterTheLastRowStaysAtTheEnd(t *testing.T) {
	t.Parallel()
	c := open(t)
	fill(t, c, 1)
	rows, err := query.Open[int](c, false, `SELECT id FROM t`, nil)
	require.NoError(t, err)
	defer rows.Close()
	_, ok, err := rows.Next()
	require.NoError(t, err)
	require.True(t, ok)
	for range 3 { // SQLite would start over
		_, ok, err := rows.Next()
		require.NoError(t, err)
		require.False(t, ok)
	}
}
