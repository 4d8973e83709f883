package scan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadingAllocatesOnlyWhatItReturns(t *testing.T) {
	allocs[int64](t, 0, "SELECT 7")
	allocs[int32](t, 0, "SELECT 7")
	allocs[bool](t, 0, "SELECT 1")
	allocs[float64](t, 0, "SELECT 1.5")
	allocs[time.Time](t, 0, "SELECT '2024-01-02 03:04:05.000000001'")
	allocs[string](t, 1, "SELECT 'a string'")
	allocs[[]byte](t, 1, "SELECT x'0102'")
	allocs[*int64](t, 1, "SELECT 7")
	allocs[struct {
		ID         int64
		Name, Mail string
		CreatedAt  time.Time
		audit
	}](t, 2, "SELECT 7 AS id, 'Ann Other' AS name, 'ann@example.com' AS mail, '2024-01-02' AS created_at")
}

func allocs[T any](t *testing.T, want float64, q string) {
	t.Helper()
	s := prepare(t, open(t), q)
	defer s.Finalize()
	_, err := s.Step()
	require.NoError(t, err)
	p, err := PlanFor[T](s)
	require.NoError(t, err)
	assert.Equal(t, want, testing.AllocsPerRun(100, func() {
		if _, err := p.One(s); err != nil {
			t.Error(err)
		}
	}), "One into %T", *new(T))
	assert.Equal(t, want, testing.AllocsPerRun(100, func() {
		var v T
		if err := p.ScanStatic(s, &v); err != nil {
			t.Error(err)
		}
	}), "ScanStatic into %T", *new(T))
}

func TestShortStringsShareChunksOfBoundedSize(t *testing.T) {
	var buf Strings
	var got, want []string
	for i := range 10_000 {
		want = append(want, strings.Repeat(fmt.Sprint(i), i%50))
		got = append(got, buf.carve([]byte(want[i])))
		assert.LessOrEqual(t, len(buf.free), maxChunk)
	}
	assert.Equal(t, want, got)
	assert.Equal(t, maxChunk, buf.size)

	free := len(buf.free)
	long := strings.Repeat("x", maxChunk/4+1)
	assert.Equal(t, long, buf.carve([]byte(long)))
	assert.Empty(t, buf.carve(nil))
	assert.Len(t, buf.free, free, "a long string has memory of its own")

	b := []byte("a short string")
	buf = Strings{}
	assert.Less(t, testing.AllocsPerRun(1000, func() { buf.carve(b) }), 0.5)
}

func BenchmarkOneStruct(b *testing.B) {
	type row struct {
		ID          int64
		Name, Email string
		CreatedAt   int64
	}
	s := prepare(b, open(b), "SELECT 7 AS id, 'Ann Other' AS name, 'ann@example.com' AS email, 1700000000 AS created_at")
	defer s.Finalize()
	_, err := s.Step()
	require.NoError(b, err)
	p, err := PlanFor[row](s)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.One(s); err != nil {
			b.Fatal(err)
		}
	}
}
