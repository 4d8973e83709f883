package scan

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/bind"
	"github.com/sanelite/sanelite/internal/capi"
)

// back requires that v comes back from SQLite as it went in.
func back[T any](t *testing.T, c *capi.Conn, v T) {
	t.Helper()
	got, err := one[T](t, c, "SELECT ?", v)
	assert.NoError(t, err)
	assert.Equal(t, v, got)
}

func FuzzTextsAndBlobsComeBackByteForByte(f *testing.F) {
	for _, s := range []string{"", "a", "a\x00b", "\x00", "\xff\xfe", "\ufeff", "日本", "1", "'"} { // case S7
		f.Add(s)
	}
	c := open(f)
	f.Fuzz(func(t *testing.T, s string) {
		back(t, c, s)
		back(t, c, []byte(s))
		back(t, c, title(s))
		back(t, c, &s)
		back[any](t, c, s)
	})
}

func FuzzNumbersComeBack(f *testing.F) {
	for _, n := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt32 + 1, math.MaxUint8} {
		f.Add(n, math.Float64frombits(uint64(n)))
	}
	f.Add(int64(7), math.Inf(-1))
	c := open(f)
	f.Fuzz(func(t *testing.T, n int64, x float64) {
		back(t, c, n)
		back(t, c, int(n))
		back(t, c, int32(n))
		back(t, c, int16(n))
		back(t, c, int8(n))
		back(t, c, uint64(n)&math.MaxInt64)
		back(t, c, uint(n)&math.MaxInt64)
		back(t, c, uint32(n))
		back(t, c, uint16(n))
		back(t, c, uint8(n))
		back(t, c, count(n))
		back(t, c, n%2 == 0)
		if x == x {
			back(t, c, x)
			back(t, c, float32(x))
		}
	})
}

func FuzzTimesComeBackAsTheSameInstantAndSort(f *testing.F) {
	f.Add(int64(1700000000), int64(500_000_000), int64(50_000_001), 20700) // Asia/Kathmandu
	f.Add(int64(-62167219200), int64(0), int64(1), 0)
	c := open(f)
	f.Fuzz(func(t *testing.T, seconds, nanoA, nanoB int64, offset int) {
		zone := time.FixedZone("", offset%86400)
		a := time.Unix(seconds%62167219200, nanoA%1e9).In(zone)
		b := time.Unix(seconds%62167219200, nanoB%1e9)
		if a.UTC().Year() < 0 || b.UTC().Year() < 0 {
			return
		}
		back(t, c, a.UTC())
		got, err := one[time.Time](t, c, "SELECT ?", a)
		require.NoError(t, err)
		assert.True(t, a.Equal(got))
		order, err := one[int](t, c, "SELECT (?1 > ?2) - (?1 < ?2)", a, b)
		require.NoError(t, err)
		assert.Equal(t, a.Compare(b), order)
	})
}

func TestTimesComeBackFromAZoneWithMinutes(t *testing.T) { // case S5
	zone := time.FixedZone("Asia/Kathmandu", 5*3600+45*60)
	now := time.Now().In(zone)
	c := open(t)
	got, err := one[time.Time](t, c, "SELECT ?", now)
	require.NoError(t, err)
	assert.True(t, now.Equal(got))
	n, err := one[bool](t, c, "SELECT abs(julianday(?) - julianday('now')) < 1 AND ? > datetime('now', '-1 day')", now, now)
	require.NoError(t, err)
	assert.True(t, n, "SQLite's own functions read it")
}

func TestNullAndEmptyBlobAreTold(t *testing.T) { // case S4
	c := open(t)
	for want, arg := range map[string]any{"null": []byte(nil), "blob": []byte{}, "text": "", "integer": false} {
		got, err := one[string](t, c, "SELECT typeof(?)", arg)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	back(t, c, []byte{})
	back(t, c, []byte(nil))
	back(t, c, (*string)(nil)) // case S6
}

func TestAStructGoesInAsItComesOut(t *testing.T) {
	c := open(t)
	want := user{ID: 3, Name: "Ann", Tags: []string{"<x>"}, Seen: time.Unix(17, 0).UTC(), Active: true, Owner: &Owner{OwnerID: 7}}
	want.Changed, want.CreatedAt = ptr(time.UnixMilli(12).UTC()), time.Unix(5, 6).UTC()
	got, err := one[user](t, c, `SELECT :id AS id, @name AS name, $e_mail AS e_mail, :tags AS tags, :seen AS seen, :active AS active,
		:rating AS rating, :created_at AS created_at, :changed AS changed, :owner_id AS owner_id`, bind.Struct{V: &want})
	require.NoError(t, err)
	assert.Equal(t, want, got)
	kinds, err := one[string](t, c, `SELECT typeof(:tags) || typeof(:seen) || typeof(:changed) || typeof(:rating)`, bind.Struct{V: want})
	require.NoError(t, err)
	assert.Equal(t, "textintegerintegernull", kinds)
}

func TestBoolsFitAStrictIntegerColumn(t *testing.T) { // case S6
	c := open(t)
	s := prepare(t, c, "CREATE TABLE t (b INTEGER NOT NULL) STRICT")
	require.NoError(t, s.Run())
	s.Finalize()
	for _, b := range []bool{true, false} {
		got, err := one[bool](t, c, "INSERT INTO t VALUES (?) RETURNING b", b)
		require.NoError(t, err)
		assert.Equal(t, b, got)
	}
}
