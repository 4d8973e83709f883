package bind

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

type Address struct{ City string }

type person struct {
	ID      int64
	Name    string `db:"full_name"`
	Tags    []int  `db:",json"`
	Born    time.Time
	Seen    time.Time  `db:",unix"`
	Left    *time.Time `db:",unixmilli"`
	Channel chan int
	*Address
}

func TestParametersAreFoundInAStruct(t *testing.T) {
	c := open(t)
	p := person{
		ID: 7, Name: "Ann", Tags: []int{1, 2}, Born: time.Unix(1, 0), Seen: time.Unix(2, 0), Left: ptr(time.UnixMilli(3)),
		Address: &Address{"Rome"},
	}
	const all = "SELECT quote(:id) ||' '|| quote(@full_name) ||' '|| quote($tags) ||' '|| quote(:born) ||' '|| quote(:seen) ||' '|| quote(:left) ||' '|| quote(:city)"
	for _, test := range []struct {
		v    any
		want string
	}{
		{p, "7 'Ann' '[1,2]' '1970-01-01 00:00:01.000000000' 2 3 'Rome'"},
		{&p, "7 'Ann' '[1,2]' '1970-01-01 00:00:01.000000000' 2 3 'Rome'"},
		{person{Born: time.Unix(1, 0)}, "0 '' NULL '1970-01-01 00:00:01.000000000' -62135596800 NULL NULL"},
	} {
		s := prepare(t, c, all)
		require.NoError(t, Args(s, []any{Struct{test.v}}))
		assert.Equal(t, test.want, first(t, s))
		plain, err := Convert([]any{Struct{test.v}})
		require.NoError(t, err)
		require.NoError(t, Args(s, plain))
		assert.Equal(t, test.want, first(t, s), "converted")
		s.Finalize()
	}
}

func TestAStructWithoutTheParameterIsRefused(t *testing.T) {
	c := open(t)
	for _, test := range []struct {
		q    string
		v    any
		says string
	}{
		{"SELECT :name", person{}, `no argument for parameter "name"`},
		{"SELECT ?", person{}, "parameter 1 has no name"},
		{"SELECT :channel", person{}, `argument "channel": type chan int`},
		{"SELECT 1", person{}, "parameters for 0"},
		{"SELECT :id", 7, "type int"},
		{"SELECT :id", (*person)(nil), "*bind.person"},
		{"SELECT :id", nil, "want a struct"},
		{"SELECT :id", map[string]any{"id": 1}, "map[string]interface {}"},
		{"SELECT :seen", person{Seen: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)}, "years"},
		{"SELECT :f", struct {
			F func() `db:",json"`
		}{func() {}}, "JSON"},
		{"SELECT :f", struct {
			F int `db:",unix"`
		}{}, "unix"},
	} {
		s := prepare(t, c, test.q)
		err := Args(s, []any{Struct{test.v}})
		require.ErrorIs(t, err, sqlerr.ErrArguments, test.q)
		assert.ErrorContains(t, err, test.says)
		plain, err := Convert([]any{Struct{test.v}})
		if err == nil {
			err = Args(s, plain)
		}
		require.ErrorIs(t, err, sqlerr.ErrArguments, test.q)
		assert.ErrorContains(t, err, test.says, "converted")
		s.Finalize()
	}
}

func TestConvertKeepsWhatIsPlainAndNeverWritesToItsArgument(t *testing.T) {
	plain := []any{nil, 1, "a", []byte("b"), 1.5, true, uint8(7)}
	got, err := Convert(plain)
	require.NoError(t, err)
	assert.Same(t, &plain[0], &got[0])
	assert.Zero(t, testing.AllocsPerRun(100, func() { _, _ = Convert(plain) }))

	args := []any{ptr(7), byValue{"v"}, time.Unix(0, 0), sql.Named("n", ptr("p")), List{[]int{1}}, ptr([]byte("b"))}
	before := append([]any(nil), args...)
	got, err = Convert(args)
	require.NoError(t, err)
	assert.Equal(t, []any{int64(7), "v", "1970-01-01 00:00:00.000000000", sql.Named("n", "p"), "[1]", []byte("b")}, got)
	assert.Equal(t, before, args)

	_, err = Convert([]any{1, failing{}})
	assert.ErrorIs(t, err, sqlerr.ErrArguments)
	assert.ErrorContains(t, err, "argument 2")
	got, err = Convert(nil)
	require.NoError(t, err)
	assert.Empty(t, got)
}
