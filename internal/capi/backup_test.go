package capi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

// atRest makes a closed database in WAL mode.
func atRest(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(t, err)
	require.NoError(t, zsqlitex.ExecuteScript(c, `CREATE TABLE t (v); INSERT INTO t VALUES (1)`, nil))
	require.NoError(t, zsqlitex.ExecuteTransient(c, `PRAGMA journal_mode = WAL`, nil))
	require.NoError(t, c.Close())
	return path
}

func TestImmutableFileIsReadWithoutSideFilesWhateverItsName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "a?mode=memory", "a#b", "a%41", "a&b=c", "a b", "a\x80", "file:a", `back\slash`} {
		path := atRest(t, name)
		c, err := capi.OpenImmutable(path)
		require.NoError(t, err, "%q", name)
		s, _, err := c.Prepare(`SELECT v FROM t`, false)
		require.NoError(t, err)
		row, err := s.Step()
		require.NoError(t, err)
		assert.True(t, row)
		s.Finalize()
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		assert.Len(t, entries, 1, "%q", name)
		assert.Equal(t, 1, capi.OpenConnections(path))
		require.NoError(t, c.Close())
	}
	_, err := capi.OpenImmutable(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, sqlerr.ErrCannotOpen)
}

func TestLockedFileIsNobodyElses(t *testing.T) {
	t.Parallel()
	path := atRest(t, "a")
	lock, err := capi.LockFile(path)
	require.NoError(t, err)
	_, err = capi.LockFile(path)
	require.ErrorIs(t, err, sqlerr.ErrBusy)
	_, err = capi.Open(path, sqlite.OpenReadOnly)
	require.ErrorIs(t, err, sqlerr.ErrBusy)
	lock.Release()

	c, err := capi.Open(path, sqlite.OpenReadOnly)
	require.NoError(t, err)
	_, err = capi.LockFile(path)
	require.ErrorIs(t, err, sqlerr.ErrBusy)
	require.NoError(t, c.Close())

	_, err = capi.LockFile(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, sqlerr.ErrCannotOpen)
}

func TestFileThatIsNoDatabaseCanBeLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, []byte("something else"), 0o600))
	lock, err := capi.LockFile(path)
	require.NoError(t, err)
	lock.Release()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "something else", string(content))
}

func TestConnectionIsFoundByItsFile(t *testing.T) {
	t.Parallel()
	path := atRest(t, "a")
	is := func(other string) bool { return other == path }
	assert.False(t, capi.AnyConnection(is))
	c, err := capi.Open(path, sqlite.OpenReadOnly)
	require.NoError(t, err)
	assert.True(t, capi.AnyConnection(is))
	require.NoError(t, c.Close())
	assert.False(t, capi.AnyConnection(is))
}
