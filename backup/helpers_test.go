package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"
	zsqlitex "zombiezen.com/go/sqlite/sqlitex"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// schema holds two accounts, whose sum is 100 in every snapshot, and rows to make the file large.
const schema = `
	CREATE TABLE account (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL);
	INSERT INTO account VALUES (1, 100), (2, 0);
	CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, owner INTEGER REFERENCES account);
	CREATE INDEX t_v ON t (v);`

const transfer = `
	UPDATE account SET amount = amount - 1 WHERE id = 1;
	UPDATE account SET amount = amount + 1 WHERE id = 2;
	INSERT INTO t (v, owner) VALUES (hex(randomblob(100)), 1);`

// ways are the two calls that make a file, which promise the same.
var ways = map[string]func(context.Context, backup.Source, string, *backup.Options) (backup.Result, error){
	"To":         backup.To,
	"VacuumInto": backup.VacuumInto,
}

// eachWay runs a test with both.
func eachWay(t *testing.T, test func(t *testing.T, way func(context.Context, backup.Source, string, *backup.Options) (backup.Result, error))) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, way)
		})
	}
}

// open returns a database with rows.
func open(t testing.TB, rows int) *sqlitex.DB {
	t.Helper()
	db := dbtest.Open(t, nil, schema)
	fill(t, db, rows)
	return db
}

func fill(t testing.TB, db *sqlitex.DB, rows int) {
	t.Helper()
	_, err := db.Exec(context.Background(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO t (v, owner) SELECT hex(randomblob(100)), 1 FROM n`, rows)
	require.NoError(t, err)
}

// beside returns a name in the folder of db.
func beside(db *sqlitex.DB, name string) string { return filepath.Join(filepath.Dir(db.Path()), name) }

func count(t testing.TB, db *sqlitex.DB) int {
	t.Helper()
	n, err := sqlitex.One[int](context.Background(), db, `SELECT count(*) FROM t`)
	require.NoError(t, err)
	return n
}

// rowsOf returns how many rows the copy at path has, and makes sure that it is whole. It looks through a copy of the copy, as
// opening a file in WAL mode leaves traces beside it.
func rowsOf(t testing.TB, path string) (rows int) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return rowsIn(t, content)
}

func rowsIn(t testing.TB, content []byte) (rows int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	c := rawConn(t, path)
	assert.Equal(t, "ok", ask(t, c, `PRAGMA integrity_check`))
	assert.Equal(t, "100", ask(t, c, `SELECT sum(amount) FROM account`), "a snapshot between two commits")
	require.NoError(t, zsqlitex.ExecuteTransient(c, `SELECT count(*) FROM t`, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		rows = s.ColumnInt(0)
		return nil
	}}))
	return rows
}

// rawConn opens a raw connection that ends with the test.
func rawConn(t testing.TB, path string) *sqlite.Conn {
	t.Helper()
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func runOn(t testing.TB, c *sqlite.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		require.NoError(t, zsqlitex.ExecuteTransient(c, sql, nil), sql)
	}
}

// ask returns the first column of the first row.
func ask(t testing.TB, c *sqlite.Conn, sql string) (answer string) {
	t.Helper()
	require.NoError(t, zsqlitex.ExecuteTransient(c, sql, &zsqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		answer = s.ColumnText(0)
		return nil
	}}))
	return answer
}

// files lists the names in the folder of path, but for the side files of the live database.
func files(t testing.TB, path string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	names = []string{}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "test.db-") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// leftovers lists what a killed process has left in the folder of path.
func leftovers(t testing.TB, path string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), backup.LeftoverPattern))
	require.NoError(t, err)
	return found
}

// nothing makes sure that a failed call has left nothing at path nor beside it.
func nothing(t testing.TB, path string) {
	t.Helper()
	_, err := os.Lstat(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.Empty(t, leftovers(t, path))
}

// eventually waits for a condition that somebody else is about to bring about.
func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, 20*time.Second, time.Millisecond, what)
}
