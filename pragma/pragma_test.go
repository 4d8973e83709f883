package pragma_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
)

// newFile returns the path of a database that does not exist yet.
func newFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "test.db")
}

// open opens path for writing, or with the flags given, and closes it at the end of the test.
func open(t *testing.T, path string, flags ...sqlite.OpenFlags) *sqlite.Conn {
	t.Helper()
	if len(flags) == 0 {
		flags = []sqlite.OpenFlags{sqlite.OpenReadWrite | sqlite.OpenCreate}
	}
	c, err := sqlite.OpenConn(path, flags...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// get runs one statement and returns the first column of its first row, or "".
func get(t *testing.T, c *sqlite.Conn, sql string) (value string) {
	t.Helper()
	stmt, _, err := c.PrepareTransient(sql)
	require.NoError(t, err)
	defer func() { require.NoError(t, stmt.Finalize()) }()
	row, err := stmt.Step()
	require.NoError(t, err)
	if row {
		value = stmt.ColumnText(0)
	}
	for row {
		row, err = stmt.Step()
		require.NoError(t, err)
	}
	return value
}
