package capi_test

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/dbtest"
)

// first runs sql on the C side of c and returns the first column of the first row.
func first(t testing.TB, c *capi.Conn, sql string) string {
	t.Helper()
	s, _, err := c.Prepare(sql, false)
	require.NoError(t, err)
	defer s.Finalize()
	row, err := s.Step()
	require.NoError(t, err)
	require.True(t, row)
	return string(s.ColumnText(0))
}

func memory(t testing.TB) *capi.Conn {
	t.Helper()
	c, err := capi.Open(":memory:", sqlite.OpenReadWrite|sqlite.OpenMemory)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// Many goroutines open at once, here and through zombiezen's package alone, which the automatic extension sees as well. Each must
// get the handle of its own connection.
func TestHandleIsThatOfTheConnectionUnderConcurrentOpens(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	var all sync.WaitGroup
	for g := range 8 {
		path := filepath.Join(dir, strconv.Itoa(g))
		all.Go(func() {
			for range rounds {
				if g%2 == 0 {
					z, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
					if assert.NoError(t, err) {
						assert.NoError(t, z.Close())
					}
					continue
				}
				c, err := capi.Open(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, path, first(t, c, "SELECT file FROM pragma_database_list"))
				assert.Equal(t, 1, capi.OpenConnections(path))
				// What one side does, the other sees.
				exec(t, c.Zombie(), "PRAGMA user_version = "+strconv.Itoa(g))
				assert.Equal(t, strconv.Itoa(g), first(t, c, "PRAGMA user_version"))
				exec(t, c.Zombie(), "BEGIN")
				assert.False(t, c.Autocommit())
				exec(t, c.Zombie(), "COMMIT")
				assert.NoError(t, c.Close())
				assert.Zero(t, capi.OpenConnections(path))
			}
		})
	}
	all.Wait()
	assert.Empty(t, dbtest.OpenFiles(dir))
}

func TestHandleFunctionIsGoneOnceTheHandleIsKnown(t *testing.T) {
	t.Parallel()
	_, _, err := memory(t).Prepare("SELECT sanelite_handle()", false)
	require.ErrorContains(t, err, "no such function")
}

func TestHandleFunctionServesNoSchema(t *testing.T) {
	t.Parallel()
	z, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite|sqlite.OpenMemory)
	require.NoError(t, err)
	defer func() { assert.NoError(t, z.Close()) }()
	exec(t, z, "CREATE VIEW v AS SELECT sanelite_handle()")
	_, _, err = z.PrepareTransient("SELECT * FROM v")
	assert.Error(t, err, "of a connection that is not ours: an address is not for views and triggers to read")
}

func TestCloseFinalizesWhatUserCodeLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, leave := range map[string]func(c *capi.Conn){
		"nothing":               func(*capi.Conn) {},
		"statement":             func(c *capi.Conn) { _, _, _ = c.Zombie().PrepareTransient("SELECT 1") },
		"statement in its rows": func(c *capi.Conn) { s, _, _ := c.Zombie().PrepareTransient("SELECT x FROM t"); _, _ = s.Step() },
		"cached statement":      func(c *capi.Conn) { _, _ = c.Zombie().Prep("SELECT x FROM t").Step() },
		"transaction":           func(c *capi.Conn) { exec(t, c.Zombie(), "BEGIN IMMEDIATE") },
		"blob":                  func(c *capi.Conn) { _, err := c.Zombie().OpenBlob("", "t", "x", 1, true); assert.NoError(t, err) },
		"closed": func(c *capi.Conn) {
			_, _, err := c.Prepare("SELECT 1", true) // as the connections of package conn always have
			assert.NoError(t, err)
			assert.Error(t, c.Zombie().Close())
		},
	} {
		c, err := capi.Open(filepath.Join(dir, "a.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
		require.NoError(t, err)
		exec(t, c.Zombie(), "CREATE TABLE IF NOT EXISTS t (x)")
		exec(t, c.Zombie(), "INSERT INTO t VALUES ('x')")
		leave(c)
		require.NoError(t, c.Close(), name)
		assert.Empty(t, dbtest.OpenFiles(dir), name)
	}
}

func TestOpenDoesNotWaitForALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	z, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(t, err)
	exec(t, z, "CREATE TABLE t (x)")
	exec(t, z, "BEGIN EXCLUSIVE")
	_, err = capi.Open(path, sqlite.OpenReadWrite)
	require.ErrorContains(t, err, "SQLITE_BUSY")
	require.NoError(t, z.Close())
	c, err := capi.Open(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	require.NoError(t, c.Close())
}
