//go:build unix

package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/conn"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/internal/snapshot"
	"github.com/sanelite/sanelite/pragma"
)

// reader is a connection whose snapshot is kept, and whose page cache survives.
type reader struct {
	t    testing.TB
	path string
	conn *conn.Conn
	keep *snapshot.Keep
	snap snapshot.Snapshot
	uses snapshot.Uses
	seen snapshot.Uses // of uses
}

// openReader opens a reader at path with a cache of the given number of pages, or its default for 0.
func openReader(t testing.TB, path string, cacheSize int) *reader {
	t.Helper()
	r, err := newReader(t, path, cacheSize)
	require.NoError(t, err)
	t.Cleanup(r.close)
	return r
}

func newReader(t testing.TB, path string, cacheSize int) (*reader, error) {
	p := pragma.Default()
	c, err := conn.Open(context.Background(), &conn.Config{
		Path: path, Flags: sqlite.OpenReadOnly, Pragmas: p, Statements: 10, BusyTimeout: p.BusyTimeout,
	})
	if err != nil {
		return nil, err
	}
	r := &reader{t: t, path: path, conn: c, keep: new(snapshot.Keep)}
	if cacheSize > 0 {
		err = zsqlitex.ExecuteTransient(c.Zombie(), fmt.Sprintf("PRAGMA cache_size = %d", cacheSize), nil)
	}
	r.snap.Init(c, r.keep)
	return r, err
}

func (r *reader) close() {
	if r.conn != nil {
		r.snap.GiveUp()
		assert.NoError(r.t, r.conn.Close())
		r.conn = nil
	}
}

func (r *reader) acquire() {
	r.t.Helper()
	require.NoError(r.t, r.snap.Acquire(context.Background()))
	r.count()
}

func (r *reader) count() snapshot.Uses {
	u := r.snap.Uses()
	u.Reused, u.Survived, u.Dropped = u.Reused-r.seen.Reused, u.Survived-r.seen.Survived, u.Dropped-r.seen.Dropped
	r.seen = r.snap.Uses()
	r.uses.Reused += u.Reused
	r.uses.Survived += u.Survived
	r.uses.Dropped += u.Dropped
	return u
}

func (r *reader) release() { r.snap.Release(nil) }

func (r *reader) known() bool {
	_, known := r.snap.Header()
	return known
}

// renew takes the newest snapshot, checks every page of it, and gives it back.
func (r *reader) renew() {
	r.t.Helper()
	r.acquire()
	n, err := r.compare(false)
	require.NoError(r.t, err)
	require.Positive(r.t, n, "nothing could be compared")
	r.release()
}

// compare compares all pages that the reader sees with those that a fresh connection reads, and returns their number. It is 0
// where the fresh connection has another snapshot, since others have committed. A deep comparison looks at what queries find, too.
func (r *reader) compare(deep bool) (pages int, err error) {
	fresh, err := capi.Open(r.path, sqlite.OpenReadOnly)
	if err != nil {
		return 0, err
	}
	defer fresh.Close()
	z := fresh.Zombie()
	z.SetBusyTimeout(pragma.Default().BusyTimeout)
	if err := zsqlitex.ExecuteScript(z, "PRAGMA schema_version", nil); err != nil {
		return 0, err
	}
	if err := zsqlitex.ExecuteTransient(z, "BEGIN", nil); err != nil {
		return 0, err
	}
	want, _, err := image(z)
	if err != nil {
		return 0, err
	}
	header, ok := fresh.SnapshotHeader()
	if own, known := r.snap.Header(); ok && known && header != own {
		return 0, nil
	}
	got, size, err := image(r.conn.Zombie())
	if err != nil {
		return 0, err
	}
	if len(got) != len(want) {
		return 0, fmt.Errorf("the reader sees %d bytes, a fresh connection %d", len(got), len(want))
	}
	for at := 0; at < len(got); at += size {
		if !bytes.Equal(got[at:at+size], want[at:at+size]) {
			return 0, fmt.Errorf("WRONG PAGE %d of %d, snapshot %v", at/size+1, len(got)/size, header)
		}
	}
	if deep {
		want, err := digest(z)
		if err != nil {
			return 0, err
		}
		if got, err := digest(r.conn.Zombie()); err != nil || got != want {
			return 0, fmt.Errorf("queries find %s (%w), a fresh connection %s", got, err, want)
		}
	}
	return len(got) / max(size, 1), nil
}

// image returns all pages of a database, and the size of one.
func image(c *sqlite.Conn) (pages []byte, size int, err error) {
	err = zsqlitex.ExecuteTransient(c, "SELECT data FROM sqlite_dbpage", &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		size = s.ColumnLen(0)
		pages = append(pages, make([]byte, size)...)
		s.ColumnBytes(0, pages[len(pages)-size:])
		return nil
	}})
	return pages, size, err
}

// openWriter opens a connection of zombiezen's own that can write, after this module has installed its page cache.
func openWriter(t testing.TB, path, sql string) *sqlite.Conn {
	t.Helper()
	first, err := capi.Open(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	c.SetBusyTimeout(pragma.Default().BusyTimeout)
	script(t, c, sql)
	return c
}

func script(t testing.TB, c *sqlite.Conn, text string) {
	t.Helper()
	for _, sql := range bytes.Split([]byte(text), []byte(";")) {
		require.NoError(t, zsqlitex.ExecuteTransient(c, string(sql), nil), "%s", sql)
	}
}

func value(t testing.TB, c *sqlite.Conn, sql string) (v int64) {
	t.Helper()
	require.NoError(t, zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		v = s.ColumnInt64(0)
		return nil
	}}))
	return v
}

// newDatabase returns a database of some hundred pages with a table t, and the connection that writes it. Checkpoints happen
// only when a test orders one.
func newDatabase(t testing.TB) (path string, w *sqlite.Conn) {
	t.Helper()
	path = dbtest.Path(t)
	return path, fill(t, path)
}

func fill(t testing.TB, path string) (w *sqlite.Conn) {
	t.Helper()
	return openWriter(t, path, `
		PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0;
		CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER NOT NULL, s TEXT);
		CREATE TABLE o (id INTEGER PRIMARY KEY, b BLOB);
		INSERT INTO o VALUES (1, zeroblob(10));
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 6000)
		INSERT INTO t SELECT i, 0, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' FROM c`)
}

const (
	sumOfK  = "SELECT sum(k) FROM t"
	setSome = "UPDATE t SET k = k + 1 WHERE id BETWEEN 3000 AND 3100"
)

// newDatabaseToDamage is newDatabase for tests after which the last connection to close cannot copy the log back. The next
// one that opens the database can: nothing is lost.
func newDatabaseToDamage(t testing.TB) (path string, w *sqlite.Conn) {
	t.Helper()
	path = dbtest.Path(t)
	t.Cleanup(func() {
		c, err := openRaw(path, "PRAGMA schema_version")
		require.NoError(t, err)
		require.NoError(t, c.Close())
	})
	return path, fill(t, path)
}
