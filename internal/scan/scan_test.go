package scan

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/bind"
	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

type (
	count  int32
	title  string
	digest []byte
	flag   bool
)

// upper is a Scanner of its own.
type upper struct{ s string }

var errUpper = errors.New("upper wants text")

func (u *upper) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return errUpper
	}
	u.s = strings.ToUpper(s)
	return nil
}

func TestEveryKindOfValueIsRead(t *testing.T) {
	c := open(t)
	is(t, c, "7", int64(7))
	is(t, c, "7", 7)
	is(t, c, "-7", int8(-7))
	is(t, c, "7", int16(7))
	is(t, c, "7", count(7))
	is(t, c, "7", uint8(7))
	is(t, c, "7", uint16(7))
	is(t, c, "4294967295", uint32(math.MaxUint32))
	is(t, c, "9223372036854775807", uint64(math.MaxInt64))
	is(t, c, "7", uint(7))
	is(t, c, "7.0", int64(7))
	is(t, c, "-9223372036854775808.0", int64(math.MinInt64))
	is(t, c, "1", true)
	is(t, c, "0", flag(false))
	is(t, c, "1.5", 1.5)
	is(t, c, "1.5", float32(1.5))
	is(t, c, "3", 3.0)
	is(t, c, "9e999", math.Inf(1))
	is(t, c, "'a'", "a")
	is(t, c, "''", "")
	is(t, c, "x'00ff'", title("\x00\xff"))
	is(t, c, "CAST(x'ff' AS TEXT)", "\xff") // case S7
	is(t, c, "'a'", []byte("a"))
	is(t, c, "x'00ff'", digest("\x00\xff"))
	is(t, c, "x''", []byte{})           // case S4
	is(t, c, "NULL", []byte(nil))       // case S4
	is(t, c, "NULL", (*int64)(nil))     // case S6
	is(t, c, "NULL", sql.Null[int64]{}) // case S6
	is(t, c, "7", sql.Null[int64]{V: 7, Valid: true})
	is(t, c, "'a'", sql.NullString{String: "a", Valid: true})
	is(t, c, "NULL", sql.NullTime{})
	is(t, c, "7", ptr(int64(7)))
	is(t, c, "7", ptr(ptr(int16(7))))
	is(t, c, "'2024-02-29'", ptr(time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)))
	is(t, c, "'2024-02-29 12:30:00'", time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC))
	is(t, c, "'a'", upper{"A"})
	is(t, c, "'a'", &upper{"A"})
	is(t, c, "NULL", (*upper)(nil))
	is(t, c, "'a'", sql.Null[upper]{V: upper{"A"}, Valid: true})
	is(t, c, "NULL", sql.Null[upper]{})
	is(t, c, "'a'", json.RawMessage("a"))
	is[any](t, c, "7", int64(7))
	is[any](t, c, "1.5", 1.5)
	is[any](t, c, "'a'", "a")
	is[any](t, c, "x''", []byte{})
	is[any](t, c, "NULL", nil)
}

func TestAValueThatDoesNotFitIsAnErrorThatNamesColumnKindAndType(t *testing.T) {
	c := open(t)
	not[int64](t, c, "NULL", "int64", "NULL") // case S6
	not[int64](t, c, "'7'", "int64", "TEXT")
	not[int64](t, c, "x'37'", "BLOB")
	not[int64](t, c, "1.5", "fraction")
	not[int64](t, c, "9223372036854775808.0", "out of range")
	not[int64](t, c, "9e999", "out of range")
	not[int32](t, c, "2147483648", "int32", "out of range")
	not[int16](t, c, "-32769", "out of range")
	not[int8](t, c, "128", "out of range")
	not[uint64](t, c, "-1", "uint64", "out of range")
	not[uint32](t, c, "4294967296", "out of range")
	not[uint16](t, c, "-1", "out of range")
	not[uint8](t, c, "256", "out of range")
	not[bool](t, c, "2", "neither 0 nor 1")
	not[bool](t, c, "1.0", "REAL")
	not[bool](t, c, "NULL", "NULL")
	not[float64](t, c, "'1.5'", "TEXT")
	not[float64](t, c, "NULL", "NULL")
	not[float32](t, c, "1e39", "out of range")
	not[string](t, c, "7", "INTEGER")
	not[string](t, c, "1.5", "REAL")
	not[string](t, c, "NULL", "NULL")
	not[[]byte](t, c, "7", "INTEGER")
	not[time.Time](t, c, "7", "INTEGER")
	not[time.Time](t, c, "'nonsense'", "not a time") // case S5
	not[time.Time](t, c, "NULL", "NULL")
	not[*int8](t, c, "300", "int8", "out of range")
	not[sql.Null[int8]](t, c, "300", "int8", "out of range")
	not[sql.NullString](t, c, "300", "INTEGER")
	not[upper](t, c, "NULL", "NULL", errUpper.Error())
	not[*upper](t, c, "7", "INTEGER", errUpper.Error())
}

func TestATypeThatNoColumnFitsHasNoPlan(t *testing.T) {
	c := open(t)
	noPlan[chan int](t, c, "SELECT 1", "chan int")
	noPlan[[]int](t, c, "SELECT 1", "[]int")
	noPlan[fmt.Stringer](t, c, "SELECT 1", "Stringer")
	noPlan[complex128](t, c, "SELECT 1", "complex128")
	noPlan[*user](t, c, "SELECT 1", "*scan.user")
	noPlan[int64](t, c, "SELECT 1, 2", "2 columns", "int64")
	noPlan[int64](t, c, "CREATE TABLE t (a)", "no columns", "RETURNING")
	noPlan[user](t, c, "CREATE TABLE t (a)", "no columns", "RETURNING")
}

func TestAScannersErrorIsKept(t *testing.T) {
	c := open(t)
	_, err := one[upper](t, c, "SELECT 7 AS n")
	assert.ErrorIs(t, err, errUpper)
	assert.ErrorIs(t, err, sqlerr.ErrScan)
}

// noPlan requires that T has no plan for q.
func noPlan[T any](t *testing.T, c *capi.Conn, q string, says ...string) {
	t.Helper()
	s := prepare(t, c, q)
	defer s.Finalize()
	_, err := PlanFor[T](s)
	require.ErrorIs(t, err, sqlerr.ErrScan)
	for _, text := range says {
		assert.ErrorContains(t, err, text)
	}
}

// is requires that the SQL expression expr reads as want.
func is[T any](t *testing.T, c *capi.Conn, expr string, want T) {
	t.Helper()
	got, err := one[T](t, c, "SELECT "+expr)
	assert.NoError(t, err, "%s into %T", expr, want)
	assert.Equal(t, want, got, expr)
}

// not requires that expr does not fit T and the error says so, without the value.
func not[T any](t *testing.T, c *capi.Conn, expr string, says ...string) {
	t.Helper()
	_, err := one[T](t, c, "SELECT "+expr+" AS col")
	require.ErrorIs(t, err, sqlerr.ErrScan, "%s into %T", expr, *new(T))
	for _, text := range append(says, `"col"`) {
		assert.ErrorContains(t, err, text)
	}
	assert.NotContains(t, err.Error(), "nonsense")
}

// one reads the first row of q in every way a plan offers, which must agree.
func one[T any](t testing.TB, c *capi.Conn, q string, args ...any) (T, error) {
	t.Helper()
	s := prepare(t, c, q)
	defer s.Finalize()
	require.NoError(t, bind.Args(s, args))
	row, err := s.Step()
	require.NoError(t, err)
	require.True(t, row)
	p, err := PlanFor[T](s)
	require.NoError(t, err)
	v, err := p.One(s)

	var scanned T
	assert.Equal(t, err == nil, p.Scan(s, &scanned) == nil)
	rows, appendErr := p.Append(s, nil, &Strings{})
	assert.Equal(t, err == nil, appendErr == nil)
	if err == nil {
		assert.Equal(t, v, scanned)
		assert.Equal(t, []T{v}, rows)
	} else {
		assert.Empty(t, rows)
	}
	return v, err
}

func prepare(t testing.TB, c *capi.Conn, q string) *capi.Stmt {
	t.Helper()
	s, _, err := c.Prepare(q, false)
	require.NoError(t, err)
	return s
}

func open(t testing.TB) *capi.Conn {
	c, err := capi.Open(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func ptr[T any](v T) *T { return &v }
