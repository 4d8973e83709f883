package sqlitex_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

const schema = `CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)`

// endless never returns a row: only an interrupt ends it.
const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0`

// insert adds one row.
func insert(t testing.TB, db *sqlitex.DB, v string) {
	t.Helper()
	_, err := db.Exec(context.Background(), `INSERT INTO t (v) VALUES (?)`, v)
	require.NoError(t, err)
}

// count returns the rows of t, as a reader sees them.
func count(t testing.TB, db *sqlitex.DB) int {
	t.Helper()
	n, err := sqlitex.One[int](context.Background(), db, `SELECT count(*) FROM t`)
	require.NoError(t, err)
	return n
}

// usable fails the test unless db reads, writes and lends its connections as one that was just opened.
func usable(t testing.TB, db *sqlitex.DB) {
	t.Helper()
	ctx := context.Background()
	before := count(t, db)
	insert(t, db, "usable")
	assert.Equal(t, before+1, count(t, db))
	assert.NoError(t, db.ReadConn(ctx, func(c *sqlite.Conn) error { return run(c, `SELECT count(*) FROM t`) }))
	assert.NoError(t, db.WriteConn(ctx, func(c *sqlite.Conn) error { return run(c, `DELETE FROM t WHERE v = 'usable'`) }))
	assert.Equal(t, before, count(t, db))
}

// rawConn opens a raw connection that ends with the test.
func rawConn(t testing.TB, path string) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// run runs one statement on a raw connection.
func run(c *sqlite.Conn, sql string) error { return zsqlitex.ExecuteTransient(c, sql, nil) }

// ask returns the first column of the first row.
func ask(t testing.TB, c *sqlite.Conn, sql string) (answer string) {
	t.Helper()
	require.NoError(t, zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		answer = s.ColumnText(0)
		return nil
	}}))
	return answer
}

// holdWriter keeps db's writer until release.
func holdWriter(t testing.TB, db *sqlitex.DB) (release func()) {
	t.Helper()
	held, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.Write(context.Background(), func(*tx.Writer) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(free)
		assert.NoError(t, <-done)
	})
}

// holdReaders keeps n of db's readers until release.
func holdReaders(t testing.TB, db *sqlitex.DB, n int) (release func()) {
	t.Helper()
	held, free, done := make(chan struct{}, n), make(chan struct{}), make(chan error, n)
	for range n {
		go func() {
			done <- db.Read(context.Background(), func(*tx.Reader) error {
				held <- struct{}{}
				<-free
				return nil
			})
		}()
	}
	for range n {
		<-held
	}
	return sync.OnceFunc(func() {
		close(free)
		for range n {
			assert.NoError(t, <-done)
		}
	})
}

// eventually waits for a condition that another goroutine is about to bring about.
func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, time.Millisecond, what)
}

// within fails the test if fn takes longer than what a bound of milliseconds excuses on a slow machine.
func within(t testing.TB, what string, fn func()) {
	t.Helper()
	start := time.Now()
	fn()
	assert.Less(t, time.Since(start), 2*time.Second, what)
}

// files lists the names in dir.
func files(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// database makes a closed database with one row at path, in the given journal mode.
func database(t testing.TB, path, journal string) {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(t, err)
	require.Equal(t, journal, ask(t, c, "PRAGMA journal_mode="+journal))
	require.NoError(t, run(c, schema))
	require.NoError(t, run(c, `INSERT INTO t (v) VALUES ('first')`))
	require.NoError(t, c.Close())
}

// absent fails the test if any of the side files of the database at path is there.
func absent(t testing.TB, path string) {
	t.Helper()
	for _, name := range files(t, filepath.Dir(path)) {
		if rest, ok := strings.CutPrefix(name, filepath.Base(path)); ok {
			assert.Empty(t, rest, "a side file is left")
		}
	}
}

// goexit ends the calling goroutine, as t.FailNow does.
func goexit() { runtime.Goexit() }
