package sqlitex_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
)

// halfWritten is a transaction that has reached the database file, or its log, and is not committed.
var halfWritten = []string{
	"PRAGMA cache_size=1", "BEGIN IMMEDIATE",
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO t (v) SELECT hex(randomblob(400)) FROM n",
	"UPDATE t SET v = 'lost' WHERE id = 1",
}

// case X1: a process dies in the middle of a transaction while the handle is open. With a rollback journal a connection that only
// reads could not undo that; the handle does.
func TestReadsGoOnAfterAnotherProcessDiedInATransaction(t *testing.T) {
	t.Parallel()
	for _, journal := range []pragma.JournalMode{pragma.JournalWAL, pragma.JournalDelete, pragma.JournalTruncate, pragma.JournalPersist} {
		t.Run(string(journal), func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			db := dbtest.OpenAt(t, path, &sqlitex.Options{MaxReaders: 2, Pragmas: pragma.Config{JournalMode: journal}}, schema)
			insert(t, db, "first")
			for name, read := range map[string]func() error{
				"a reader that was there": func() error { return db.Ping(t.Context()) },
				"a reader that is opened": func() error { return holdAndPing(t, db) },
				"a lent connection": func() error {
					return db.ReadConn(t.Context(), func(c *sqlite.Conn) error { return run(c, "SELECT 1") })
				},
				"a check":                   func() error { return db.Check(t.Context()) },
				"the writer":                func() error { return execute(t.Context(), db, `UPDATE t SET v = v`) },
				"another handle, to write":  func() error { return openAndPing(t, path, journal, sqlitex.ReadWrite) },
				"another handle, to create": func() error { return openAndPing(t, path, journal, sqlitex.ReadWriteCreate) },
			} {
				die(t, path, halfWritten...)
				require.NoError(t, read(), name)
				v, err := sqlitex.All[string](t.Context(), db, `SELECT v FROM t`)
				require.NoError(t, err, name)
				require.Equal(t, []string{"first"}, v, name)
			}
			usable(t, db)
		})
	}
}

func holdAndPing(t *testing.T, db *sqlitex.DB) error {
	return db.ReadConn(t.Context(), func(*sqlite.Conn) error { return db.Ping(t.Context()) })
}

func openAndPing(t *testing.T, path string, journal pragma.JournalMode, mode sqlitex.Mode) error {
	db, err := sqlitex.Open(t.Context(), path, &sqlitex.Options{Mode: mode, Pragmas: pragma.Config{JournalMode: journal}})
	if err != nil {
		return err
	}
	return errors.Join(db.Ping(t.Context()), db.Close())
}

// A handle that never changes the database cannot undo it either: one clear error.
func TestReadOnlyHandleSaysThatADeadProcessLeftATransaction(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	database(t, path, "delete")
	die(t, path, halfWritten...)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = sqlitex.Open(t.Context(), path, &sqlitex.Options{Mode: sqlitex.ReadOnly})
	require.ErrorIs(t, err, sqlitex.ErrCannotOpen)
	assert.ErrorContains(t, err, "a process died")
	assert.ErrorContains(t, err, path)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after, "not changed")
	assert.FileExists(t, path+"-journal")

	require.NoError(t, openAndPing(t, path, pragma.JournalDelete, sqlitex.ReadWrite))
	db := dbtest.OpenAt(t, path, &sqlitex.Options{Mode: sqlitex.ReadOnly}, "")
	assert.Equal(t, 1, count(t, db))
}
