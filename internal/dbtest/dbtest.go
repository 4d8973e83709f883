// Package dbtest gives every test a database that checks itself when the test ends: integrity, foreign keys, connections
// and files left open. Main does the same for goroutines, once per test binary.
package dbtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

// Path returns the name of a database file that does not exist yet, and checks at cleanup what has become of it.
func Path(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	t.Cleanup(func() { Verify(t, path) })
	return path
}

// Open opens a new database, runs schema in it, and closes it at cleanup. Connections that the test opens by other means must be
// closed before.
func Open(t testing.TB, o *sqlitex.Options, schema string) *sqlitex.DB {
	t.Helper()
	return OpenAt(t, Path(t), o, schema)
}

// OpenAt is Open for a path that the test has chosen.
func OpenAt(t testing.TB, path string, o *sqlitex.Options, schema string) *sqlitex.DB {
	t.Helper()
	db, err := sqlitex.Open(context.Background(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, db.Close())
		writes := o == nil || o.Mode != sqlitex.ReadOnly && o.Checkpoints != sqlitex.CheckpointsExternal
		if writes && capi.OpenConnections(db.Path()) == 0 {
			assert.NoFileExists(t, path+"-wal", "the last handle to close copies the log back and removes it")
		}
	})
	if schema != "" {
		require.NoError(t, db.Write(context.Background(), func(w *tx.Writer) error { return w.Script(schema) }))
	}
	return db
}

// Verify checks a database that no handle uses any more: nothing of it is open in this process, integrity_check and
// foreign_key_check find nothing. A file that does not exist is fine.
func Verify(t testing.TB, path string) {
	t.Helper()
	assert.Zero(t, capi.OpenConnections(path), "connections left open on %s", path)
	assert.Empty(t, OpenFiles(filepath.Dir(path)), "files left open")
	if _, err := os.Stat(path); err != nil {
		return
	}
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	for pragma, want := range map[string]string{"integrity_check": "ok", "foreign_key_check": ""} {
		var got []string
		err := zsqlitex.ExecuteTransient(c, "PRAGMA "+pragma, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			got = append(got, s.ColumnText(0))
			return nil
		}})
		assert.NoError(t, err)
		assert.Equal(t, want, strings.Join(got, "\n"), pragma)
	}
}

// OpenFiles lists the descriptors of this process that point into dir. Where there is no /proc it finds none.
func OpenFiles(dir string) (found []string) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && strings.HasPrefix(target, dir+string(filepath.Separator)) {
			found = append(found, target)
		}
	}
	return found
}
