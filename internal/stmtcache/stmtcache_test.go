package stmtcache_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
	"github.com/sanelite/sanelite/internal/stmtcache"
)

// open returns a cache on a connection of its own. When the test ends the connection must close without complaint about
// statements that were not finalized.
func open(t *testing.T, limit int) *stmtcache.Cache {
	t.Helper()
	c, err := capi.Open(":memory:", sqlite.OpenReadWrite|sqlite.OpenCreate|sqlite.OpenMemory)
	require.NoError(t, err)
	cache := stmtcache.New(c, limit)
	t.Cleanup(func() {
		cache.Close()
		assert.Zero(t, cache.Len())
		assert.Zero(t, cache.Busy())
		assert.NoError(t, c.Close())
	})
	return cache
}

func get(t *testing.T, c *stmtcache.Cache, sql string) *stmtcache.Stmt {
	t.Helper()
	s, err := c.Get(sql, true)
	require.NoError(t, err)
	return s
}

func use(t *testing.T, c *stmtcache.Cache, sql string) *stmtcache.Stmt {
	t.Helper()
	s := get(t, c, sql)
	c.Put(s)
	return s
}

func text(i int) string { return fmt.Sprintf("SELECT %d", i) }

func TestTheSameTextGetsTheSameStatement(t *testing.T) {
	t.Parallel()
	c := open(t, 10)
	assert.Same(t, use(t, c, text(1)), use(t, c, text(1)))
	assert.NotSame(t, use(t, c, text(1)), use(t, c, text(1)+" "))
	assert.Equal(t, 2, c.Len())
}

func TestTheCacheIsBoundedAndDropsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	c := open(t, 3)
	first := map[int]*stmtcache.Stmt{}
	for i := range 3 {
		first[i] = use(t, c, text(i))
	}
	assert.Same(t, first[0], use(t, c, text(0))) // 1 is the oldest now
	use(t, c, text(3))
	assert.Equal(t, 3, c.Len())
	assert.Same(t, first[0], use(t, c, text(0)))
	assert.Same(t, first[2], use(t, c, text(2)))
	assert.NotSame(t, first[1], use(t, c, text(1)))
	for i := range 1000 {
		use(t, c, text(i))
		require.LessOrEqual(t, c.Len(), 3)
	}
}

func TestTheLibrarysOwnStatementsAreKeptWhileTheyAreUsed(t *testing.T) {
	t.Parallel()
	c := open(t, 2)
	own := func() *stmtcache.Stmt {
		s, err := c.Own("SAVEPOINT sanelite_0")
		require.NoError(t, err)
		c.Put(s)
		return s
	}
	first := own()
	for i := range 10 {
		use(t, c, text(i))
		require.Same(t, first, own())
	}
	_, err := c.Get("SAVEPOINT sanelite_0", true)
	require.ErrorIs(t, err, sqlerr.ErrNotAllowed, "found in the cache, but not by a user")
}

func TestAStatementInUseIsNeitherSharedNorDropped(t *testing.T) {
	t.Parallel()
	c := open(t, 2)
	outer := get(t, c, text(1))
	row, err := outer.Step()
	require.NoError(t, err)
	require.True(t, row)
	inner := get(t, c, text(1))
	assert.NotSame(t, outer, inner)
	for i := range 10 {
		use(t, c, text(100+i))
	}
	assert.Equal(t, int64(1), outer.ColumnInt64(0), "still standing on its row")
	c.Put(inner)
	c.Put(outer)
	assert.Same(t, outer, use(t, c, text(1)))
}

func TestTheBoundHoldsAgainOnceBusyStatementsComeBack(t *testing.T) {
	t.Parallel()
	c := open(t, 2)
	var out []*stmtcache.Stmt
	for i := range 6 {
		out = append(out, get(t, c, text(i)))
	}
	assert.Equal(t, 6, c.Busy())
	for _, s := range out {
		c.Put(s)
	}
	assert.Equal(t, 2, c.Len())
	assert.Zero(t, c.Busy())
}

func TestWithoutALimitNothingIsKept(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, -1} {
		c := open(t, limit)
		for range 3 {
			outer := get(t, c, text(1))
			use(t, c, text(1))
			use(t, c, text(2))
			c.Put(outer)
			assert.Zero(t, c.Len())
		}
	}
}

func TestALongTextIsNotKept(t *testing.T) {
	t.Parallel()
	c := open(t, 10)
	use(t, c, "SELECT 1 -- "+strings.Repeat("x", 20_000))
	assert.Zero(t, c.Len())
}

func TestPutResetsTheStatement(t *testing.T) {
	t.Parallel()
	c := open(t, 10)
	const sql = "SELECT 1 UNION ALL SELECT 2"
	for range 2 {
		s := get(t, c, sql)
		_, err := s.Step()
		require.NoError(t, err)
		assert.Equal(t, int64(1), s.ColumnInt64(0))
		c.Put(s)
	}
}

func TestReclaimFinalizesWhatWasNotGivenBack(t *testing.T) {
	t.Parallel()
	c := open(t, 2)
	for range 3 {
		for i := range 4 {
			_, err := get(t, c, text(i%3)).Step()
			require.NoError(t, err)
		}
		c.Reclaim()
		assert.Zero(t, c.Busy())
		assert.Zero(t, c.Len())
		use(t, c, text(1))
	}
}

func TestTextThatIsNotOneStatementIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	c := open(t, 10)
	for sql, want := range map[string]error{
		"":                   sqlerr.ErrSyntax,
		"-- c":               sqlerr.ErrSyntax,
		"SELECT 1; SELECT 2": sqlerr.ErrNotAllowed,
		"SELECT 1;;":         sqlerr.ErrNotAllowed,
		"SELEC 1":            sqlerr.ErrSyntax,
		"COMMIT":             sqlerr.ErrNotAllowed,
		"SELECT 1\x00":       sqlerr.ErrSyntax,
	} {
		_, err := c.Get(sql, true)
		require.ErrorIs(t, err, want, "%q", sql)
	}
	assert.Zero(t, c.Len())
}

// A memory database has one connection for both, and so one cache.
func TestWhatAWriteMayRunIsNotGivenToARead(t *testing.T) {
	t.Parallel()
	c := open(t, 10)
	const sql = "PRAGMA user_version = 1"
	use(t, c, sql)
	_, err := c.Get(sql, false)
	require.ErrorIs(t, err, sqlerr.ErrNotAllowed)
	use(t, c, "SELECT 1")
	s, err := c.Get("SELECT 1", false)
	require.NoError(t, err)
	c.Put(s)
}

// The cache agrees with itself whatever sequence of calls comes.
func TestRandomUseKeepsTheBooks(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{-1, 1, 3, 8} {
		c := open(t, limit)
		var out []*stmtcache.Stmt
		for i := range 5000 {
			switch n := (i*7919 + i/13) % 10; {
			case n < 5 && len(out) < 20:
				s := get(t, c, text(n+i%7))
				_, err := s.Step()
				require.NoError(t, err)
				require.Equal(t, int64(n+i%7), s.ColumnInt64(0))
				out = append(out, s)
			case n == 9 && i%50 == 0:
				c.Reclaim()
				out = nil
			case len(out) > 0:
				k := i % len(out)
				c.Put(out[k])
				out = append(out[:k], out[k+1:]...)
			}
			require.Equal(t, len(out), c.Busy())
			require.LessOrEqual(t, c.Len(), max(0, limit)+len(out))
		}
		for _, s := range out {
			c.Put(s)
		}
		require.LessOrEqual(t, c.Len(), max(0, limit))
	}
}
