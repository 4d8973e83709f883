package bind

import (
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/sqlerr"
)

func TestAListIsAJSONArray(t *testing.T) {
	c := open(t)
	for want, slice := range map[string]any{
		`'[]'`:                                []string(nil),
		`'[1,-2]'`:                            []int{1, -2},
		`'[255]'`:                             []uint16{255},
		`'[1.5e+00,2e+00]'`:                   []float64{1.5, 2},
		`'["a","\"\\\u000a<é"]'`:              []word{"a", "\"\\\n<é"},
		`'[1,0]'`:                             [2]bool{true, false},
		`'["1970-01-01 00:00:00.000000000"]'`: []time.Time{time.Unix(0, 0)},
		`'[1,"a",null,2]'`:                    []any{1, "a", nil, byValue{int64(2)}},
		`'[null,3]'`:                          []*int{nil, ptr(3)},
	} {
		assert.Equal(t, want, stored(t, c, List{slice}))
	}
	s := prepare(t, c, "SELECT group_concat(column1) FROM (VALUES (1), (2), (3)) WHERE column1 IN (SELECT value FROM json_each(?))")
	defer s.Finalize()
	require.NoError(t, Args(s, []any{List{[]int{1, 3, 5}}}))
	assert.Equal(t, "1,3", first(t, s))
}

func TestWhatJSONCannotCarryIsRefused(t *testing.T) {
	s := prepare(t, open(t), "SELECT ?")
	defer s.Finalize()
	for says, slice := range map[string]any{
		"element 0: a blob":        [][]byte{{1}},
		"blob":                     []byte{1},
		"element 1: NaN":           []float64{0, math.NaN()},
		"infinity":                 []float64{math.Inf(-1)},
		"element 2: text that is":  []string{"", "a", "\xff"},
		"element 0: unsigned":      []uint64{math.MaxUint64},
		"list of type int: want":   7,
		"list of type <nil>: want": nil,
		"type chan int":            []chan int{nil},
		"a list cannot":            []List{{[]int{1}}},
	} {
		err := Args(s, []any{List{slice}})
		require.ErrorIs(t, err, sqlerr.ErrArguments, says)
		assert.ErrorContains(t, err, says)
	}
}

// An element that is accepted equals, for SQLite, the same value bound alone, kind included.
func FuzzAnElementIsTheValueItself(f *testing.F) {
	f.Add("a\"\\\n\u2028<", int64(math.MaxInt64), 0.1)
	f.Add("\x00", int64(math.MinInt64), 1e308)
	f.Add("\ud7ff", int64(0), 5e-324)
	c := open(f)
	s := prepare(f, c, `SELECT group_concat(typeof(a.value) = typeof(b) AND a.value IS b)
		FROM json_each(?1) a, (SELECT 0 AS k, ?2 AS b UNION ALL SELECT 1, ?3 UNION ALL SELECT 2, ?4) WHERE k = a.key`)
	f.Cleanup(s.Finalize)
	f.Fuzz(func(t *testing.T, text string, n int64, x float64) {
		err := Args(s, []any{List{[]any{text, n, x}}, text, n, x})
		if err != nil {
			bad := !utf8.ValidString(text) || x != x || math.IsInf(x, 0)
			assert.True(t, bad, "%q %v %v: %v", text, n, x, err)
			return
		}
		assert.Equal(t, "1,1,1", first(t, s), "%q %v %v", text, n, x)
	})
}
