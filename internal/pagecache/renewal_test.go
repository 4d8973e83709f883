package pagecache

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"modernc.org/libc"

	"github.com/sanelite/sanelite/internal/cmem"
)

// filled returns a model with pages 1 to n, none in use.
func filled(t testing.TB, n int) *model {
	m := newModel(t, true)
	m.setLimit(2 * n)
	for key := uint32(1); key <= uint32(n); key++ {
		m.fetch(key, 2)
		m.unpin(key, false)
	}
	m.check()
	return m
}

func (m *model) has(key uint32) bool {
	got := xFetch(m.tls, m.c, key, 0)
	if got != 0 {
		xUnpin(m.tls, m.c, got, 0)
	}
	return got != 0
}

func TestPagesSetAsideAreAbsentUntilTheyAreTakenBack(t *testing.T) {
	m := filled(t, 9)
	m.announce()
	m.truncate(1)
	for key := uint32(1); key <= 9; key++ {
		assert.False(t, m.has(key), "page %d", key)
	}
	m.takeBack([]uint32{2, 5, 77}, 7)
	m.check()
	for key := uint32(1); key <= 9; key++ {
		assert.Equal(t, key != 2 && key != 5 && key <= 7, m.has(key), "page %d", key)
	}
	m.destroy()
}

func TestAPageFetchedDuringARenewalIsNotDroppedWithThoseThatChanged(t *testing.T) {
	m := filled(t, 9)
	m.announce()
	m.truncate(1)
	m.fetch(1, 2)
	m.fetch(2, 1)
	m.unpin(2, false)
	m.takeBack([]uint32{1, 2, 3}, 9)
	m.check()
	assert.True(t, m.has(2))
	assert.False(t, m.has(3))
	m.unpin(1, false)
	m.destroy()
}

func TestWhatIsSetAsideIsDropped(t *testing.T) {
	for name, end := range map[string]func(m *model){
		"by a second clearing":                     func(m *model) { m.truncate(1) },
		"by a clearing from page 2":                func(m *model) { m.truncate(2) },
		"by the next announcement":                 func(m *model) { m.announce(); m.drop() },
		"by Drop":                                  func(m *model) { m.drop() },
		"when a late clearing precedes a TakeBack": func(m *model) { m.truncate(1); m.takeBack(nil, 100) },
		"when the next announcement was not cleared": func(m *model) {
			m.announce()
			m.takeBack(nil, 100)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := filled(t, 9)
			m.announce()
			m.truncate(1)
			end(m)
			m.check()
			assert.Zero(t, xPagecount(m.tls, m.c))
			m.destroy()
		})
	}
}

// A page that is in use while everything is cleared means that this is no renewal.
func TestNothingIsSetAsideWhileAPageIsInUse(t *testing.T) {
	m := filled(t, 9)
	m.fetch(4, 0)
	m.announce()
	m.truncate(1)
	m.takeBack(nil, 100)
	m.check()
	assert.Zero(t, xPagecount(m.tls, m.c))
	m.destroy()
}

// With 32 bits, which last five days at 10,000 renewals a second, old pages would then count as new ones.
func TestGenerationsDoNotWrapAround(t *testing.T) {
	m := filled(t, 9)
	cmem.At[cache](m.c).generation = 1<<32 - 3
	for i := range 6 {
		m.announce()
		m.truncate(1)
		for key := uint32(1); key <= 9; key++ {
			require.False(t, m.has(key), "renewal %d: page %d", i, key)
		}
		m.fetch(1, 2)
		m.unpin(1, false)
		m.takeBack(nil, 9)
		m.check()
		require.EqualValues(t, 9, xPagecount(m.tls, m.c), "renewal %d", i)
	}
	m.destroy()
}

func TestFindAnswersOnlyForExactlyOneCache(t *testing.T) {
	before := state
	state = Surviving
	defer func() { state = before }()
	tls := libc.NewTLS()
	defer tls.Close()
	a, b := xCreate(tls, 512, 64, 1), xCreate(tls, 512, 64, 1)
	assert.Nil(t, Find(tls, func() {}), "none was cleared")
	assert.Nil(t, Find(tls, func() { xTruncate(tls, a, 1); xTruncate(tls, b, 1) }), "two were")
	assert.Nil(t, Find(tls, func() { xTruncate(tls, a, 2) }), "one was not cleared as a whole")
	r := Find(tls, func() { xTruncate(tls, a, 1) })
	require.NotNil(t, r)
	assert.Nil(t, Find(tls, func() { xTruncate(tls, a, 1) }), "another renewal has it")
	xDestroy(tls, a)
	assert.Nil(t, r.cache)
	xDestroy(tls, b)
	state = Plain
	assert.Nil(t, Find(tls, func() { t.Error("asked though no cache survives") }))
}

// Other goroutines clear their caches all the time.
func TestFindTellsItsOwnClearingFromThoseOfOthers(t *testing.T) {
	before := state
	state = Surviving
	defer func() { state = before }()
	clearOne := func() {
		tls := libc.NewTLS()
		defer tls.Close()
		c := xCreate(tls, 512, 64, 1)
		xTruncate(tls, c, 1)
		xDestroy(tls, c)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			tls := libc.NewTLS()
			defer tls.Close()
			for range 200 {
				c := xCreate(tls, 512, 64, 1)
				r := Find(tls, func() {
					var other sync.WaitGroup
					other.Go(clearOne)
					other.Wait()
					xTruncate(tls, c, 1)
				})
				if assert.NotNil(t, r) {
					assert.Same(t, cmem.At[cache](c), r.cache)
				}
				clearOne()
				xDestroy(tls, c)
			}
		})
	}
	wg.Wait()
	assert.Empty(t, watched.by)
}

// As for any other page, SQLite is to write dirty ones out first.
func TestAPageSetAsideIsRefusedWhileMostAreInUse(t *testing.T) {
	m := filled(t, 10)
	m.setLimit(10)
	m.announce()
	m.truncate(1)
	for key := uint32(1); key <= 9; key++ {
		m.fetch(key, 1)
	}
	m.fetch(10, 1)
	m.check()
	assert.NotContains(t, m.pinnedKeys(), uint32(10))
	m.fetch(10, 2)
	m.drop()
	m.check()
	assert.Contains(t, m.pinnedKeys(), uint32(10))
	m.destroy()
}
