package dbtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"echo": func(args []string) { fmt.Println(strings.Join(args, "+")) }})
}

func TestCommandRunsTheChildInAProcessOfItsOwn(t *testing.T) {
	t.Parallel()
	out, err := dbtest.Command(t, "echo", "a", "-b", "c d").Output()
	require.NoError(t, err)
	assert.Equal(t, "a+-b+c d\n", string(out))
	unknown := dbtest.Command(t, "nobody")
	unknown.Stderr = nil
	assert.Error(t, unknown.Run())
}

// witness takes the failures of a check instead of the test.
type witness struct {
	testing.TB
	failures []string
}

func (w *witness) Helper() {}

func (w *witness) Errorf(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func verify(t *testing.T, path string) string {
	t.Helper()
	w := &witness{TB: t}
	dbtest.Verify(w, path)
	return strings.Join(w.failures, "\n")
}

func TestVerifyFindsWhatIsLeftOrBroken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	assert.Empty(t, verify(t, path), "no file, no fault")
	db, err := sqlitex.Open(t.Context(), path, nil)
	require.NoError(t, err)
	assert.Contains(t, verify(t, path), "connections left open")
	assert.Contains(t, verify(t, path), "files left open")
	require.NoError(t, db.Close())
	assert.Empty(t, verify(t, path))

	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	require.NoError(t, err)
	require.NoError(t, zsqlitex.ExecuteScript(c, `CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p); INSERT INTO c VALUES (1)`, nil))
	require.NoError(t, c.Close())
	assert.Contains(t, verify(t, path), "foreign_key_check")

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := 4200; i < len(content); i++ {
		content[i] ^= 0x55
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
	assert.Contains(t, verify(t, path), "integrity_check")
}
