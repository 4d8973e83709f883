package tx_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
	"github.com/sanelite/sanelite/tx"
)

func TestMain(m *testing.M) {
	dbtest.Main(m, map[string]dbtest.Child{"script": runScript, "serve": serveScripts})
}

var (
	bg      = context.Background()
	errTest = errors.New("the test's own error")
)

// runScript is a process that runs args[1] in one write transaction on the database args[0].
func runScript(args []string) {
	db, err := sqlitex.Open(bg, args[0], nil)
	exitOn(err)
	exitOn(db.Write(bg, func(w *tx.Writer) error { return w.Script(args[1]) }))
	exitOn(db.Close())
}

// serveScripts is a process that runs each line of its input likewise, and answers with a line.
func serveScripts(args []string) {
	db, err := sqlitex.Open(bg, args[0], nil)
	exitOn(err)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		exitOn(db.Write(bg, func(w *tx.Writer) error { return w.Script(in.Text()) }))
		fmt.Println("committed")
	}
	exitOn(db.Close())
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inOtherProcess runs sql in a process of its own.
func inOtherProcess(t *testing.T, path, sql string) {
	t.Helper()
	require.NoError(t, dbtest.Command(t, "script", path, sql).Run())
}

// write runs fn in a write transaction that must succeed.
func write(t testing.TB, db *sqlitex.DB, fn func(w *tx.Writer) error) {
	t.Helper()
	require.NoError(t, db.Write(bg, fn))
}

// exec runs one statement that must succeed.
func exec(t testing.TB, q *tx.Writer, sql string, args ...any) tx.Result {
	t.Helper()
	res, err := q.Exec(sql, args...)
	require.NoError(t, err)
	return res
}

// ints reads a column of integers in a transaction of its own.
func ints(t testing.TB, db *sqlitex.DB, sql string, args ...any) []int64 {
	t.Helper()
	got, err := sqlitex.All[int64](bg, db, sql, args...)
	require.NoError(t, err)
	return got
}

// holds checks that table t holds exactly these ids: through the handle's readers, through its writer, through a second
// handle, and that the writer is free and works.
func holds(t testing.TB, db *sqlitex.DB, want ...int64) {
	t.Helper()
	if want == nil {
		want = []int64{}
	}
	const sql = `SELECT id FROM t ORDER BY id`
	assert.Equal(t, want, ints(t, db, sql), "readers")
	write(t, db, func(w *tx.Writer) error {
		got, err := tx.All[int64](w, sql)
		assert.Equal(t, want, got, "writer")
		return err
	})
	_, err := db.Exec(bg, `INSERT INTO t (id) VALUES (-12345)`)
	assert.NoError(t, err, "the writer is not usable")
	_, err = db.Exec(bg, `DELETE FROM t WHERE id = -12345`)
	assert.NoError(t, err)
	if db.Path() == ":memory:" {
		return
	}
	other, err := sqlitex.Open(bg, db.Path(), nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, other.Close()) }()
	assert.Equal(t, want, ints(t, other, sql), "a second handle")
}

const table = `CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE, s TEXT)`

// family has rows of which the children refer to parents, at once and deferred.
const family = `
	CREATE TABLE t (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES p);
	CREATE TABLE p (id INTEGER PRIMARY KEY);
	CREATE TABLE later (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES p DEFERRABLE INITIALLY DEFERRED);`
