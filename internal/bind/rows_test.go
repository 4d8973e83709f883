package bind

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// bindRows binds each row with one plan, and returns what the statement, a query of one column, answers.
func bindRows[T any](t *testing.T, s *capi.Stmt, rows ...T) (got []string) {
	t.Helper()
	plan, err := RowsFor[T](s)
	require.NoError(t, err)
	for _, row := range rows {
		require.NoError(t, plan.Bind(s, row))
		got = append(got, first(t, s))
		s.Reset()
	}
	plan.Clear()
	var zero T
	assert.Equal(t, zero, plan.row, "no row is kept")
	return got
}

// sameAsArgs checks that a row of type T is stored as Args stores it as the only argument.
func sameAsArgs[T any](values ...T) func(t *testing.T, c *capi.Conn) {
	return func(t *testing.T, c *capi.Conn) {
		t.Helper()
		s := prepare(t, c, "SELECT typeof(?1) || ' ' || quote(?1)")
		defer s.Finalize()
		var want []string
		for _, v := range values {
			require.NoError(t, Args(s, []any{v}))
			want = append(want, first(t, s))
			s.Reset()
		}
		assert.Equal(t, want, bindRows(t, s, values...), "%T", values)
		var pointers []*T
		for i := range values {
			pointers = append(pointers, &values[i])
		}
		if _, ok := any(new(T)).(driver.Valuer); !ok { // through a pointer it may be another Valuer
			assert.Equal(t, want, bindRows(t, s, pointers...), "*%T", values)
		}
		arrays := [][1]T{}
		slices := [][]T{}
		for _, v := range values {
			arrays, slices = append(arrays, [1]T{v}), append(slices, []T{v})
		}
		if _, blob := any(slices[0]).([]byte); !blob {
			assert.Equal(t, want, bindRows(t, s, arrays...), "[1]%T", values)
			assert.Equal(t, want, bindRows(t, s, slices...), "[]%T", values)
		}
	}
}

func TestEveryKindOfRowIsStoredAsAnArgument(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 30, 0, 5, time.FixedZone("", 5*3600+45*60))
	c := open(t)
	for _, check := range []func(*testing.T, *capi.Conn){
		sameAsArgs(int64(1), math.MinInt64, 0),
		sameAsArgs(1, -1),
		sameAsArgs(int8(-8)), sameAsArgs(int16(-16)), sameAsArgs(int32(-32)),
		sameAsArgs(uint(3)), sameAsArgs(uint16(16)), sameAsArgs(uint32(32)), sameAsArgs(uint64(64)),
		sameAsArgs(true, false), sameAsArgs(1.5, math.Inf(1)), sameAsArgs(float32(0.25)),
		sameAsArgs("", "text", "nul\x00 and \xff"),
		sameAsArgs([]byte(nil), []byte{}, []byte{1, 2}),
		sameAsArgs(sql.RawBytes("raw")), sameAsArgs(json.RawMessage("{}")),
		sameAsArgs(at, time.Time{}),
		sameAsArgs(number(1)), sameAsArgs(natural(2)), sameAsArgs(ratio(0.5)), sameAsArgs(word("w"), ""), sameAsArgs(key("k"), nil), sameAsArgs(truth(true)),
		sameAsArgs(byValue{int64(5)}, byValue{nil}, byValue{at}), sameAsArgs(&byPointer{6}, nil),
		sameAsArgs(sql.NullString{String: "s", Valid: true}, sql.NullString{}), sameAsArgs(sql.Null[int]{V: 1, Valid: true}),
		sameAsArgs(ptr(int64(7)), nil), sameAsArgs(ptr("p"), nil), sameAsArgs(ptr(at), nil), sameAsArgs(ptr(ptr(9)), ptr[*int](nil), nil),
		sameAsArgs(ptr(word("w")), nil), sameAsArgs(ptr([]byte("b")), nil), sameAsArgs(&byValue{int64(5)}, nil),
		sameAsArgs[any](nil, 1, "x", at, []byte("b"), List{[]int{1, 2}}, byValue{"v"}),
		sameAsArgs[driver.Valuer](byValue{"v"}, &byPointer{1}),
	} {
		check(t, c)
	}
}

func TestRowsOfStructsFillNamedParameters(t *testing.T) {
	const all = "SELECT quote(:id) ||' '|| quote(@full_name) ||' '|| quote($tags) ||' '|| quote(:born) ||' '|| quote(:seen) ||' '|| quote(:left) ||' '|| quote(:city) ||' '|| quote(:id)"
	rows := []person{
		{Address: &Address{"Rome"}, ID: 7, Name: "Ann", Tags: []int{1, 2}, Born: time.Unix(1, 0), Seen: time.Unix(2, 0), Left: ptr(time.UnixMilli(3))},
		{Born: time.Unix(1, 0)},
		{ID: 8, Address: &Address{}},
	}
	c := open(t)
	s := prepare(t, c, all)
	defer s.Finalize()
	var want []string
	var pointers []*person
	for i := range rows {
		require.NoError(t, Args(s, []any{Struct{rows[i]}}))
		want = append(want, first(t, s))
		s.Reset()
		pointers = append(pointers, &rows[i])
	}
	assert.Equal(t, want, bindRows(t, s, rows...))
	assert.Equal(t, want, bindRows(t, s, pointers...))
	type outer struct{ person }
	assert.Equal(t, want[:1], bindRows(t, s, outer{rows[0]}))
}

func TestRowsOfArgumentsAreBoundByPosition(t *testing.T) {
	c := open(t)
	s := prepare(t, c, "SELECT quote(?) ||' '|| quote(?)")
	defer s.Finalize()
	type record []any
	want := []string{"1 'one'", "NULL X'02'"}
	assert.Equal(t, want, bindRows(t, s, []any{1, "one"}, []any{nil, []byte{2}}))
	assert.Equal(t, want, bindRows(t, s, record{1, "one"}, record{nil, []byte{2}}))
	assert.Equal(t, want, bindRows(t, s, [2]any{1, "one"}, [2]any{nil, []byte{2}}))
	assert.Equal(t, []string{"'a' 'b'", "'' 'c'"}, bindRows(t, s, []string{"a", "b"}, []string{"", "c"}))
	assert.Equal(t, []string{"1 2"}, bindRows(t, s, [2]int{1, 2}))
	names := prepare(t, c, "SELECT quote(:a) ||' '|| quote(:b)")
	defer names.Finalize()
	assert.Equal(t, []string{"1 2"}, bindRows(t, names, []any{sql.Named("b", 2), sql.Named("a", 1)}))
	assert.Equal(t, []string{"1 2"}, bindRows(t, names, []any{Struct{struct{ A, B int }{1, 2}}}))
	assert.Equal(t, []string{"1 2"}, bindRows[any](t, names, Struct{struct{ A, B int }{1, 2}}))
	one := prepare(t, c, "SELECT quote(:a)")
	defer one.Finalize()
	assert.Equal(t, []string{"3"}, bindRows(t, one, sql.Named("a", 3)))
}

func TestRowsThatNeverFitAreRefusedByThePlan(t *testing.T) {
	c := open(t)
	refused := func(q, says string, plan func(*capi.Stmt) error) {
		t.Helper()
		s := prepare(t, c, q)
		defer s.Finalize()
		err := plan(s)
		assert.ErrorIs(t, err, sqlerr.ErrArguments, q)
		assert.ErrorContains(t, err, says, q)
	}
	refused("SELECT ?, ?", "parameters for 2, got 1", planError[int])
	refused("SELECT 1", "parameters for 0, got 1", planError[int])
	refused("SELECT 1", "parameters for 0, got 1", planError[person])
	refused("SELECT ?", "parameter 1 has no name", planError[person])
	refused("SELECT ?1", "parameter 1 has no name", planError[*person])
	refused("SELECT :name", `no argument for parameter "name"`, planError[person])
	refused("SELECT :channel", `argument "channel": type chan int cannot be stored`, planError[person])
	refused("SELECT :a", "unknown tag option", planError[struct {
		A int `db:",csv"`
	}])
	refused("SELECT ?", "type map[string]int cannot be stored", planError[map[string]int])
	refused("SELECT ?", "type [16]uint8 cannot be stored", planError[[16]byte])
	refused("SELECT ?", "type func() cannot be stored", planError[func()])
	refused("SELECT ?", "type chan int cannot be stored", planError[[]chan int])
	refused("SELECT ?", "parameters for 1, got 2", planError[[2]int])
}

func planError[T any](s *capi.Stmt) error {
	_, err := RowsFor[T](s)
	return err
}

func TestARowThatDoesNotFitIsRefusedAndTheNextOneFits(t *testing.T) {
	c := open(t)
	check := func(q, says string, bad, good func(*capi.Stmt) error) {
		t.Helper()
		s := prepare(t, c, q)
		defer s.Finalize()
		err := bad(s)
		assert.ErrorIs(t, err, sqlerr.ErrArguments)
		assert.ErrorContains(t, err, says)
		assert.NoError(t, good(s))
	}
	type row struct{ A float64 }
	check("SELECT :a", `argument "a": NaN`, bindOne(row{math.NaN()}), bindOne(row{1}))
	check("SELECT ?", "argument 1: unsigned", bindOne(uint64(math.MaxUint64)), bindOne(uint64(1)))
	check("SELECT ?", "argument 1: time outside", bindOne(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)), bindOne(time.Now()))
	check("SELECT ?, ?", "parameters for 2, got 1", bindOne([]int{1}), bindOne([]int{1, 2}))
	check("SELECT ?, ?", "argument 2: NaN", bindOne([]any{1, math.NaN()}), bindOne([]any{1, 2}))
	check("SELECT :a", "a nil *bind.row", bindOne[*row](nil), bindOne(&row{}))
	check("SELECT ?", "argument 1: bind.failing: no value today", bindOne(failing{}), bindOne(byValue{"v"}))
	type moment struct {
		At time.Time `db:",unix"`
	}
	check("SELECT :at", `argument "at": time outside`, bindOne(moment{time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}), bindOne(moment{}))
}

func bindOne[T any](row T) func(*capi.Stmt) error {
	return func(s *capi.Stmt) error {
		plan, err := RowsFor[T](s)
		if err != nil {
			return err
		}
		return plan.Bind(s, row)
	}
}

// What is in a row of fixed types is bound without memory of its own, whatever lies around it.
func TestBindingARowAllocatesNothing(t *testing.T) {
	type base struct{ ID int64 }
	type row struct {
		base
		*Address
		Name  word
		Email *string
		Data  []byte
		Score float32
		OK    bool
		At    time.Time
		Seen  *time.Time `db:",unix"`
	}
	now := time.Now()
	v := row{base: base{1}, Address: &Address{"Rome"}, Name: "n", Email: ptr("e"), Data: []byte("d"), At: now, Seen: &now}
	c := open(t)
	s := prepare(t, c, "SELECT :id, :city, :name, :email, :data, :score, :ok, :at, :seen")
	defer s.Finalize()
	none := func(what string, bind func() error) {
		t.Helper()
		require.NoError(t, bind())
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			_ = bind()
			s.Reset()
		}), what)
	}
	values, err := RowsFor[row](s)
	require.NoError(t, err)
	none("struct", func() error { return values.Bind(s, v) })
	pointers, err := RowsFor[*row](s)
	require.NoError(t, err)
	none("pointer", func() error { return pointers.Bind(s, &v) })
	strs, err := RowsFor[[]string](s)
	require.NoError(t, err)
	record := strings.Split("a b c d e f g h i", " ")
	none("[]string", func() error { return strs.Bind(s, record) })
	anys, err := RowsFor[[9]any](s)
	require.NoError(t, err)
	boxed := [9]any{1, "b", now, nil, 5.0, true, "g", "h", "i"}
	none("[9]any", func() error { return anys.Bind(s, boxed) })
}
