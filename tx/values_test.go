package tx_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/tx"
)

// inOne runs fn with a Writer on v, a table of one column without a type.
func inOne(t *testing.T, fn func(w *tx.Writer)) {
	t.Helper()
	db := dbtest.Open(t, nil, `CREATE TABLE v (id INTEGER PRIMARY KEY, x)`)
	write(t, db, func(w *tx.Writer) error { fn(w); return nil })
}

// stored inserts arg, and returns its type and what it looks like as a T.
func stored[T any](t *testing.T, w *tx.Writer, arg any) (string, T) {
	t.Helper()
	id, err := tx.One[int64](w, `INSERT INTO v (x) VALUES (?) RETURNING id`, arg)
	require.NoError(t, err)
	kind, err := tx.One[string](w, `SELECT typeof(x) FROM v WHERE id = ?`, id)
	require.NoError(t, err)
	back, err := tx.One[T](w, `SELECT x FROM v WHERE id = ?`, id)
	require.NoError(t, err)
	return kind, back
}

// case S4
func TestNilAndEmptyBytesAreToldApart(t *testing.T) {
	t.Parallel()
	inOne(t, func(w *tx.Writer) {
		kind, back := stored[[]byte](t, w, nil)
		assert.Equal(t, "null", kind)
		assert.Nil(t, back)
		kind, back = stored[[]byte](t, w, []byte(nil))
		assert.Equal(t, "null", kind)
		assert.Nil(t, back)
		kind, back = stored[[]byte](t, w, []byte{})
		assert.Equal(t, "blob", kind)
		assert.NotNil(t, back)
		assert.Empty(t, back)
		kind, text := stored[string](t, w, "")
		assert.Equal(t, "text", kind)
		assert.Empty(t, text)
	})
}

// case S5
func TestTimesComeBackAsTheSameInstantAndSort(t *testing.T) {
	t.Parallel()
	inOne(t, func(w *tx.Writer) {
		kathmandu := time.FixedZone("Asia/Kathmandu", 5*3600+45*60)
		for _, at := range []time.Time{
			time.Now().In(kathmandu), time.Unix(0, 0), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		} {
			kind, back := stored[time.Time](t, w, at)
			assert.Equal(t, "text", kind)
			assert.True(t, at.Equal(back), "%v came back as %v", at, back)
		}
		exec(t, w, `DELETE FROM v`)
		half := time.Date(2024, 2, 29, 12, 0, 0, 500_000_000, kathmandu)
		exec(t, w, `INSERT INTO v (x) VALUES (?), (?)`, half.Add(10*time.Nanosecond), half)
		sorted, err := tx.All[time.Time](w, `SELECT x FROM v ORDER BY x`)
		require.NoError(t, err)
		assert.True(t, half.Equal(sorted[0]))

		start := time.Now().Add(-2 * time.Second)
		now, err := tx.One[time.Time](w, `SELECT CURRENT_TIMESTAMP`)
		require.NoError(t, err)
		assert.WithinRange(t, now, start, time.Now())
		later, err := tx.One[bool](w, `SELECT CURRENT_TIMESTAMP < ?`, time.Now().Add(time.Hour))
		require.NoError(t, err)
		assert.True(t, later)

		for _, nonsense := range []string{"yesterday", "", "2024-13-01 00:00:00", "2024-02-30", "1718000000"} {
			_, err := tx.One[time.Time](w, `SELECT ?`, nonsense)
			require.ErrorIs(t, err, tx.ErrScan, nonsense)
		}
		_, err = w.Exec(`INSERT INTO v (x) VALUES (?)`, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
		require.ErrorIs(t, err, tx.ErrArguments)
	})
}

// case S6
func TestNULLAndBoolean(t *testing.T) {
	t.Parallel()
	inOne(t, func(w *tx.Writer) {
		_, err := tx.One[int64](w, `SELECT NULL`)
		require.ErrorIs(t, err, tx.ErrScan)
		_, err = tx.All[string](w, `SELECT NULL`)
		require.ErrorIs(t, err, tx.ErrScan)
		p, err := tx.One[*int64](w, `SELECT NULL`)
		require.NoError(t, err)
		assert.Nil(t, p)
		p, err = tx.One[*int64](w, `SELECT 7`)
		require.NoError(t, err)
		assert.Equal(t, int64(7), *p)
		n, err := tx.One[sql.Null[int64]](w, `SELECT NULL`)
		require.NoError(t, err)
		assert.Equal(t, sql.Null[int64]{}, n)
		n, err = tx.One[sql.Null[int64]](w, `SELECT 7`)
		require.NoError(t, err)
		assert.Equal(t, sql.Null[int64]{V: 7, Valid: true}, n)

		kind, s := stored[*string](t, w, (*string)(nil))
		assert.Equal(t, "null", kind)
		assert.Nil(t, s)
		exec(t, w, `CREATE TABLE flags (f INTEGER) STRICT`)
		exec(t, w, `INSERT INTO flags VALUES (?), (?)`, true, false)
		flags, err := tx.All[bool](w, `SELECT f FROM flags`)
		require.NoError(t, err)
		assert.Equal(t, []bool{true, false}, flags)
		numbers, err := tx.All[int](w, `SELECT f FROM flags`)
		require.NoError(t, err)
		assert.Equal(t, []int{1, 0}, numbers)
	})
}

// case S7
func TestTextSurvivesByteForByte(t *testing.T) {
	t.Parallel()
	inOne(t, func(w *tx.Writer) {
		for _, s := range []string{"a\x00b", "\x00", "\xff", "é\xc3", "\xef\xbb\xbfx"} {
			kind, back := stored[string](t, w, s)
			assert.Equal(t, "text", kind)
			assert.Equal(t, s, back)
			kind, bytes := stored[[]byte](t, w, []byte(s))
			assert.Equal(t, "blob", kind)
			assert.Equal(t, []byte(s), bytes)
		}
		s, err := tx.One[string](w, `SELECT CAST(X'FF' AS TEXT)`)
		require.NoError(t, err)
		assert.Equal(t, "\xff", s)
		b, err := tx.One[[]byte](w, `SELECT CAST(X'FF' AS TEXT)`)
		require.NoError(t, err)
		assert.Equal(t, []byte{0xff}, b)
	})
}

// case S8
func TestTwoColumnsForOneFieldAreAnErrorThatNamesThem(t *testing.T) {
	t.Parallel()
	type row struct{ N int }
	inOne(t, func(w *tx.Writer) {
		for _, query := range []string{`SELECT 1 AS n, 2 AS n`, `SELECT 1 AS n, 2 AS N`} {
			_, err := tx.One[row](w, query)
			require.ErrorIs(t, err, tx.ErrScan)
			assert.Contains(t, err.Error(), `"n"`)
		}
		_, err := tx.All[row](w, `SELECT 1 AS n, 2 AS m`)
		require.ErrorIs(t, err, tx.ErrScan)
		assert.Contains(t, err.Error(), `"m"`)
		_, err = tx.All[row](w, `SELECT 'x' AS n`)
		require.ErrorIs(t, err, tx.ErrScan)
		assert.Contains(t, err.Error(), `"n"`)
		assert.Contains(t, err.Error(), "TEXT")
		_, err = tx.One[int](w, `SELECT 1, 2`)
		require.ErrorIs(t, err, tx.ErrScan)
	})
}

func TestNamedArgumentsAndLists(t *testing.T) {
	t.Parallel()
	inOne(t, func(w *tx.Writer) {
		type user struct {
			UserID int
			Name   string
		}
		got, err := tx.One[user](w, `SELECT :user_id AS user_id, @name || $name AS name`, tx.Args(user{7, "ab"}))
		require.NoError(t, err)
		assert.Equal(t, user{7, "abab"}, got)
		n, err := tx.One[int](w, `SELECT :a - :b`, sql.Named("b", 2), sql.Named("a", 5))
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		for _, args := range [][]any{{sql.Named("a", 1)}, {sql.Named("a", 1), sql.Named("c", 1)}, {tx.Args(user{})}, {tx.Args(nil)}} {
			_, err = tx.One[int](w, `SELECT :a - :b`, args...)
			require.ErrorIs(t, err, tx.ErrArguments)
		}
		list, err := tx.All[int](w, `SELECT value FROM json_each(?)`, tx.List([]int{3, 1, 2}))
		require.NoError(t, err)
		assert.Equal(t, []int{3, 1, 2}, list)
	})
}
