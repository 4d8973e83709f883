package bind

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

type (
	number  int16
	natural uint64
	ratio   float32
	word    string
	key     []byte
	truth   bool
)

// byValue and byPointer are Valuers with the two kinds of receiver.
type byValue struct{ v any }

func (b byValue) Value() (driver.Value, error) { return b.v, nil }

type byPointer struct{ n int64 }

func (p *byPointer) Value() (driver.Value, error) {
	if p == nil {
		return "none", nil
	}
	return p.n, nil
}

type endless struct{}

func (e endless) Value() (driver.Value, error) { return e, nil }

var errValuer = errors.New("no value today")

type failing struct{}

func (failing) Value() (driver.Value, error) { return nil, errValuer }

func TestEveryKindOfArgumentIsStoredAsDocumented(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 30, 0, 5, time.FixedZone("", 5*3600+45*60))
	c := open(t)
	for _, test := range []struct {
		arg  any
		want string
	}{
		{nil, "NULL"},
		{true, "1"},
		{false, "0"},
		{truth(true), "1"},
		{int(-1), "-1"},
		{int8(-1), "-1"},
		{int16(-1), "-1"},
		{int32(-1), "-1"},
		{int64(math.MinInt64), "-9223372036854775808"},
		{uint(1), "1"},
		{uint8(255), "255"},
		{uint16(1), "1"},
		{uint32(math.MaxUint32), "4294967295"},
		{uint64(math.MaxInt64), "9223372036854775807"},
		{number(-3), "-3"},
		{natural(3), "3"},
		{1.5, "1.5"},
		{float32(1.5), "1.5"},
		{ratio(1.5), "1.5"},
		{math.Inf(1), "9.0e+999"},
		{"it's", "'it''s'"},
		{"", "''"},
		{word("w"), "'w'"},
		{[]byte("\x00\xff"), "X'00FF'"},
		{[]byte{}, "X''"},     // case S4
		{[]byte(nil), "NULL"}, // case S4
		{key("k"), "X'6B'"},
		{key(nil), "NULL"},
		{sql.RawBytes("k"), "X'6B'"},
		{json.RawMessage("{}"), "X'7B7D'"},
		{at, "'2024-02-29 06:45:00.000000005'"}, // case S5
		{time.Time{}, "'0001-01-01 00:00:00.000000000'"},
		{time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), "'9999-12-31 23:59:59.999999999'"},
		{(*string)(nil), "NULL"}, // case S6
		{ptr("p"), "'p'"},
		{ptr(int64(7)), "7"},
		{ptr(7), "7"},
		{ptr(true), "1"},
		{ptr(1.5), "1.5"},
		{&at, "'2024-02-29 06:45:00.000000005'"},
		{(*int64)(nil), "NULL"},
		{(*int)(nil), "NULL"},
		{(*bool)(nil), "NULL"},
		{(*float64)(nil), "NULL"},
		{(*time.Time)(nil), "NULL"},
		{ptr(uint16(7)), "7"},
		{ptr(ptr(number(7))), "7"},
		{(*number)(nil), "NULL"},
		{ptr([]byte("k")), "X'6B'"},
		{ptr(any(nil)), "NULL"},
		{byValue{int64(7)}, "7"},
		{byValue{nil}, "NULL"},
		{byValue{byValue{ptr("p")}}, "'p'"},
		{&byValue{at}, "'2024-02-29 06:45:00.000000005'"},
		{(*byValue)(nil), "NULL"},
		{&byPointer{7}, "7"},
		{(*byPointer)(nil), "'none'"},
		{sql.Null[int64]{}, "NULL"},
		{sql.Null[word]{V: "w", Valid: true}, "'w'"},
		{sql.NullString{String: "s", Valid: true}, "'s'"},
	} {
		assert.Equal(t, test.want, stored(t, c, test.arg), "%T", test.arg)
		plain, err := Convert([]any{test.arg})
		require.NoError(t, err, "%T", test.arg)
		assert.Equal(t, test.want, stored(t, c, plain...), "%T converted", test.arg)
	}
}

func TestWhatSQLiteCannotHoldIsRefusedWithTypeAndPositionButWithoutTheValue(t *testing.T) {
	s := prepare(t, open(t), "SELECT ?, ?")
	defer s.Finalize()
	for _, test := range []struct {
		arg  any
		says string
	}{
		{uint64(math.MaxInt64 + 1), "9223372036854775807"},
		{uint(math.MaxUint64), "9223372036854775807"},
		{natural(math.MaxUint64), "9223372036854775807"},
		{math.NaN(), "NaN"},
		{ratio(math.NaN()), "NaN"},
		{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "years"},
		{time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 60)), "years"},
		{struct{ Secret string }{"4711"}, "struct { Secret string }"},
		{[]string{"4711"}, "[]string"},
		{[2]byte{47, 11}, "[2]uint8"},
		{map[string]int{"4711": 1}, "map[string]int"},
		{4711i, "complex128"},
		{uintptr(4711), "uintptr"},
		{func() {}, "func()"},
		{make(chan int), "chan int"},
		{endless{}, "without end"},
		{failing{}, errValuer.Error()},
		{sql.Named("a", 4711), "mix"},
		{Struct{struct{}{}}, "only argument"},
	} {
		err := Args(s, []any{1, test.arg})
		require.ErrorIs(t, err, sqlerr.ErrArguments, "%T", test.arg)
		assert.ErrorContains(t, err, "argument 2", "%T", test.arg)
		assert.ErrorContains(t, err, test.says, "%T", test.arg)
		assert.NotContains(t, err.Error(), "4711")
	}
	assert.ErrorIs(t, Args(s, []any{1, failing{}}), errValuer)
}

func TestTheNumberOfArgumentsMustMatch(t *testing.T) { // case S1
	c := open(t)
	s := prepare(t, c, "SELECT coalesce(?1, 'none') || coalesce(?3, 'none')")
	defer s.Finalize()
	require.Equal(t, 3, s.Params())
	for _, args := range [][]any{nil, {1}, {1, 2}, {1, 2, 3, 4}} {
		err := Args(s, args)
		require.ErrorIs(t, err, sqlerr.ErrArguments)
		assert.ErrorContains(t, err, "parameters for 3")
	}
	require.NoError(t, Args(s, []any{"a", "b", "c"}))
	assert.Equal(t, "ac", first(t, s))
	require.NoError(t, Args(s, []any{nil, nil, nil}))
	assert.Equal(t, "nonenone", first(t, s), "nothing is left from before")
}

func TestNamedArgumentsGoToEveryParameterOfTheirName(t *testing.T) {
	s := prepare(t, open(t), "SELECT :a || @b || $a || @a")
	defer s.Finalize()
	require.NoError(t, Args(s, []any{sql.Named("b", "B"), sql.Named("a", "A")}))
	assert.Equal(t, "ABAA", first(t, s))
	require.NoError(t, Args(s, []any{"1", "2", "3", "4"}), "by position")
	assert.Equal(t, "1234", first(t, s))
	for says, args := range map[string][]any{
		`no argument for parameter "b"`: {sql.Named("a", 1)},
		`no parameter named "c"`:        {sql.Named("a", 1), sql.Named("b", 1), sql.Named("c", 1)},
		`"a" is given twice`:            {sql.Named("a", 1), sql.Named("b", 1), sql.Named("a", 1)},
		`do not mix`:                    {sql.Named("a", 1), 2, 3, 4},
		`no parameter named "A"`:        {sql.Named("a", 1), sql.Named("b", 1), sql.Named("A", 1)},
		`argument "b": type chan int`:   {sql.Named("a", 1), sql.Named("b", make(chan int))},
		`parameters for 4`:              {1, 2, 3},
		`argument 1`:                    {Struct{struct{}{}}, 1},
	} {
		err := Args(s, args)
		require.ErrorIs(t, err, sqlerr.ErrArguments, says)
		assert.ErrorContains(t, err, says)
	}
	p := prepare(t, open(t), "SELECT :a, ?, ?7")
	defer p.Finalize()
	assert.ErrorContains(t, Args(p, []any{sql.Named("a", 1)}), "parameter 2 has no name")
}

func TestAStatementTooManyBytesLongIsSQLitesError(t *testing.T) {
	c := open(t)
	s := prepare(t, c, "SELECT ?")
	defer s.Finalize()
	c.Zombie().Limit(sqlite.LimitLength, 100)
	assert.ErrorIs(t, Args(s, []any{strings.Repeat("x", 101)}), sqlerr.ErrTooBig)
}

func TestTheCommonTypesAreBoundWithoutAllocating(t *testing.T) {
	s := prepare(t, open(t), "SELECT ?, ?, ?, ?, ?, ?, ?")
	defer s.Finalize()
	args := []any{1, int64(2), "text", []byte("blob"), time.Now(), 1.5, true}
	require.NoError(t, Args(s, args))
	require.NoError(t, Args(s, args))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := Args(s, args); err != nil {
			t.Error(err)
		}
	}))
}

// stored returns how SQLite writes the value of the last of args.
func stored(t *testing.T, c *capi.Conn, args ...any) string {
	t.Helper()
	s := prepare(t, c, "SELECT quote(?)")
	defer s.Finalize()
	require.NoError(t, Args(s, args))
	return first(t, s)
}

// first runs s and returns its first column.
func first(t testing.TB, s *capi.Stmt) string {
	t.Helper()
	row, err := s.Step()
	require.NoError(t, err)
	require.True(t, row)
	defer s.Reset()
	return string(s.ColumnText(0))
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
