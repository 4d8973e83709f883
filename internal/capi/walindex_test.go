package capi_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/dbtest"
)

// indexReader is a connection that looks at the WAL-index.
type indexReader struct {
	t     testing.TB
	conn  *capi.Conn
	index *capi.WALIndex
}

func openReader(t testing.TB, path string) *indexReader {
	t.Helper()
	c, err := capi.Open(path, sqlite.OpenReadOnly)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	exec(t, c.Zombie(), "PRAGMA schema_version")
	r := &indexReader{t: t, conn: c, index: c.WALIndex()}
	require.NotNil(t, r.index)
	return r
}

func (r *indexReader) zombie() *sqlite.Conn { return r.conn.Zombie() }

func (r *indexReader) header() capi.Header {
	r.t.Helper()
	h, ok := r.index.Load()
	require.True(r.t, ok)
	return h
}

func exec(t testing.TB, c *sqlite.Conn, script string) {
	t.Helper()
	for _, sql := range strings.Split(script, ";") {
		require.NoError(t, zsqlitex.ExecuteTransient(c, sql, nil), "%s", sql)
	}
}

func emptyFile(t testing.TB) (path string) {
	t.Helper()
	path = dbtest.Path(t)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

// newDatabase returns a database with a table of some hundred pages, and the connection that writes it. Checkpoints happen
// only when a test orders one.
func newDatabase(t testing.TB) (path string, w *sqlite.Conn) {
	t.Helper()
	path = emptyFile(t)
	return path, fill(t, path)
}

// newDatabaseToDamage is newDatabase for tests after which the last connection to close cannot copy the log back. The next
// one that opens the database can: nothing is lost.
func newDatabaseToDamage(t testing.TB) (path string, w *sqlite.Conn) {
	t.Helper()
	path = emptyFile(t)
	t.Cleanup(func() {
		c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
		require.NoError(t, err)
		exec(t, c, "PRAGMA schema_version")
		require.NoError(t, c.Close())
	})
	return path, fill(t, path)
}

func fill(t testing.TB, path string) (w *sqlite.Conn) {
	t.Helper()
	c, err := capi.Open(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	exec(t, c.Zombie(), `
		PRAGMA page_size = 512; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;
		CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, s TEXT);
		CREATE TABLE o (id INTEGER PRIMARY KEY, b BLOB);
		INSERT INTO o VALUES (1, zeroblob(10));
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 4000)
		INSERT INTO t SELECT i, 0, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' FROM c`)
	return c.Zombie()
}

func TestAHeaderIsValidOnlyAsAWhole(t *testing.T) {
	t.Parallel()
	path, _ := newDatabase(t)
	h := openReader(t, path).header()
	require.True(t, h.Valid())
	for word := range h {
		for bit := range 32 {
			torn := h
			torn[word] ^= 1 << bit
			require.False(t, torn.Valid(), "word %d, bit %d", word, bit)
		}
	}
	empty := capi.Header{}
	require.False(t, empty.Valid(), "not initialised")
}

func TestTheHeaderOfASnapshotStaysWhenOthersCommit(t *testing.T) {
	t.Parallel()
	path, w := newDatabase(t)
	r := openReader(t, path)
	_, ok := r.conn.SnapshotHeader()
	require.False(t, ok, "no transaction is open")
	exec(t, r.zombie(), "BEGIN; PRAGMA schema_version")
	own, ok := r.conn.SnapshotHeader()
	require.True(t, ok)
	require.True(t, own.Valid())
	require.Equal(t, r.header(), own)
	require.True(t, r.index.Is(&own))

	exec(t, w, "BEGIN IMMEDIATE; UPDATE t SET k = 1; ROLLBACK")
	require.True(t, r.index.Is(&own), "nothing was committed")
	exec(t, w, "BEGIN IMMEDIATE; UPDATE t SET k = 2; INSERT INTO o VALUES (2, zeroblob(9000))")
	require.True(t, r.index.Is(&own), "not yet")
	exec(t, w, "COMMIT")
	require.False(t, r.index.Is(&own))
	still, ok := r.conn.SnapshotHeader()
	require.True(t, ok)
	require.Equal(t, own, still)
	exec(t, r.zombie(), "COMMIT; BEGIN; PRAGMA schema_version")
	next, ok := r.conn.SnapshotHeader()
	require.True(t, ok)
	require.True(t, r.index.Is(&next))
	require.Greater(t, next.Pages(), own.Pages())
	exec(t, r.zombie(), "COMMIT")
}

func TestEveryWordOfTheHeaderCounts(t *testing.T) {
	t.Parallel()
	path, _ := newDatabase(t)
	r := openReader(t, path)
	h := r.header()
	for i := range h {
		other := h
		other[i] ^= 1
		require.False(t, r.index.Is(&other), "word %d", i)
	}
	require.True(t, r.index.Is(&h))
}

// In a transaction SQLite does not clear the cache, so it cannot be found.
func TestTheCacheIsFoundOutsideOfTransactionsOnly(t *testing.T) {
	t.Parallel()
	path, _ := newDatabase(t)
	r := openReader(t, path)
	exec(t, r.zombie(), "CREATE TEMP TABLE x (a); INSERT INTO x VALUES (1); BEGIN; PRAGMA schema_version")
	require.Nil(t, r.conn.Renewal())
	exec(t, r.zombie(), "COMMIT")
	if os.Getenv("SANELITE_PAGECACHE") == "" {
		require.NotNil(t, r.conn.Renewal())
		require.Nil(t, r.conn.Renewal(), "there is one for each cache")
	}
}
