package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
)

func TestRestoredFileOpensAsTheDatabase(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		from := open(t, 300)
		path := beside(from, "copy")
		_, err := way(t.Context(), from, path, nil)
		require.NoError(t, err)
		dst := dbtest.Path(t)
		for range 2 { // where there is none, and in the place of one
			result, err := backup.RestoreFile(t.Context(), path, dst, nil)
			require.NoError(t, err)
			assert.Equal(t, backup.VerifyFull, result.Verified)
			assert.Equal(t, []string{"test.db"}, files(t, dst))
			c := rawConn(t, dst)
			assert.Equal(t, "wal", ask(t, c, `PRAGMA journal_mode`))
			require.NoError(t, c.Close())
			db := dbtest.OpenAt(t, dst, nil, "")
			assert.Equal(t, 300, count(t, db))
			fill(t, db, 1)
			require.NoError(t, db.Close())
		}
		assert.Equal(t, []string{"copy", "test.db"}, files(t, path), "the copy is as it was")
		assert.Equal(t, 300, rowsOf(t, path))
	})
}

// case B4: the way that Restore names.
func TestRestoreFileTakesAnotherPageSize(t *testing.T) {
	t.Parallel()
	path := copied(t, 10)
	dst := dbtest.Path(t)
	require.NoError(t, dbtest.OpenAt(t, dst, &sqlitex.Options{Pragmas: pragma.Config{PageSize: 8192}}, schema).Close())
	_, err := backup.RestoreFile(t.Context(), path, dst, nil)
	require.NoError(t, err)
	assert.Equal(t, 10, count(t, dbtest.OpenAt(t, dst, nil, "")))
}

func TestRestoreFileOverAnOpenDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	path := copied(t, 10)
	refused := func(dst string) {
		t.Helper()
		_, err := backup.RestoreFile(t.Context(), path, dst, nil)
		require.ErrorIs(t, err, backup.ErrInUse)
		assert.Empty(t, leftovers(t, dst))
	}
	db := open(t, 3)
	refused(db.Path())
	require.NoError(t, os.Symlink(db.Path(), beside(db, "link")))
	refused(beside(db, "link"))
	assert.Equal(t, 3, count(t, db))
	require.NoError(t, db.Close())

	release := start(t, "hold", db.Path(), `SELECT count(*) FROM t`) // another process, in WAL mode, idle
	refused(db.Path())
	release()
	release = start(t, "hold", db.Path(), `PRAGMA journal_mode = DELETE`, `BEGIN IMMEDIATE`)
	refused(db.Path())
	release()
	_, err := backup.RestoreFile(t.Context(), path, db.Path(), &backup.Options{Progress: func(p backup.Progress) error {
		if p.PagesLeft == 0 { // meanwhile
			release = start(t, "hold", db.Path(), `PRAGMA journal_mode = WAL`, `SELECT count(*) FROM t`)
		}
		return nil
	}})
	require.ErrorIs(t, err, backup.ErrInUse)
	release()
	_, err = backup.RestoreFile(t.Context(), path, db.Path(), nil)
	require.NoError(t, err)
}

func TestRestoreFileOntoItselfIsRefused(t *testing.T) {
	t.Parallel()
	path := copied(t, 10)
	require.NoError(t, os.Symlink(path, path+"link"))
	require.NoError(t, os.Link(path, path+"hard"))
	for _, dst := range []string{path, path + "link", path + "hard", path + "-wal", path + "-journal"} {
		_, err := backup.RestoreFile(t.Context(), path, dst, nil)
		require.ErrorIs(t, err, backup.ErrSame, dst)
	}
	assert.Equal(t, 10, rowsOf(t, path))
}

// crashed makes what a process leaves that is killed in the middle: a database with a log, or with a hot journal.
func crashed(t testing.TB, mode string) (dst string) {
	t.Helper()
	live := filepath.Join(t.TempDir(), "live")
	c := rawConn(t, live)
	runOn(t, c, `PRAGMA journal_mode = `+mode, `PRAGMA cache_size = 5`, schema1, schema2, `INSERT INTO account VALUES (1, 100), (2, 0)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 77) INSERT INTO t (v) SELECT i FROM n`)
	if mode == "DELETE" {
		runOn(t, c, `BEGIN`, `UPDATE t SET v = hex(randomblob(2000))`) // spills, and is not committed
	}
	dst = filepath.Join(t.TempDir(), "app.db")
	for _, suffix := range []string{"", "-wal", "-journal", "-shm"} {
		if content, err := os.ReadFile(live + suffix); err == nil {
			require.NoError(t, os.WriteFile(dst+suffix, content, 0o644))
		}
	}
	require.NoError(t, c.Close())
	return dst
}

const (
	schema1 = `CREATE TABLE account (id INTEGER PRIMARY KEY, amount INTEGER NOT NULL)`
	schema2 = `CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)`
)

func TestRestoreFileDealsWithWhatACrashHasLeft(t *testing.T) {
	t.Parallel()
	path := copied(t, 10)
	for _, mode := range []string{"WAL", "DELETE"} {
		dst := crashed(t, mode)
		require.Greater(t, len(files(t, dst)), 1)
		_, err := backup.RestoreFile(t.Context(), path, dst, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"app.db"}, files(t, dst))
		assert.Equal(t, 10, rowsOf(t, dst))
	}
}

// Until the new file is there, the old database is, with all that was committed to it.
func TestRestoreFileThatFailsLeavesTheOldDatabase(t *testing.T) {
	t.Parallel()
	path := copied(t, 2000)
	enough := errors.New("enough")
	for _, mode := range []string{"WAL", "DELETE"} {
		dst := crashed(t, mode)
		_, err := backup.RestoreFile(t.Context(), path, dst, &backup.Options{Progress: func(p backup.Progress) error {
			if p.PagesLeft == 0 {
				return enough
			}
			return nil
		}})
		require.ErrorIs(t, err, enough)
		ctx, cancel := context.WithCancel(t.Context())
		_, err = backup.RestoreFile(ctx, path, dst, &backup.Options{Progress: func(backup.Progress) error { cancel(); return nil }})
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, os.WriteFile(path+"bad", []byte("no database"), 0o600))
		_, err = backup.RestoreFile(t.Context(), path+"bad", dst, nil)
		require.Error(t, err)
		assert.Empty(t, leftovers(t, dst))
		c := rawConn(t, dst)
		assert.Equal(t, "77", ask(t, c, `SELECT count(*) FROM t`))
		assert.Equal(t, "ok", ask(t, c, `PRAGMA integrity_check`))
		require.NoError(t, c.Close())
	}
}

// The log or journal of a database that is damaged or gone would damage the new one.
func TestRestoreFileClearsSideFilesOfADatabaseThatIsBroken(t *testing.T) {
	t.Parallel()
	path := copied(t, 10)
	for name, breakIt := range map[string]func(dst string) error{
		"gone": os.Remove,
		"garbage": func(dst string) error {
			return os.WriteFile(dst, []byte("this is no database, but large enough to be one .................................................................."), 0o644)
		},
		"empty": func(dst string) error { return os.Truncate(dst, 0) },
	} {
		for _, mode := range []string{"WAL", "DELETE"} {
			dst := crashed(t, mode)
			require.NoError(t, breakIt(dst))
			_, err := backup.RestoreFile(t.Context(), path, dst, nil)
			require.NoError(t, err, name)
			assert.Equal(t, []string{"app.db"}, files(t, dst), name)
			assert.Equal(t, 10, rowsOf(t, dst), name)
		}
	}
}

func TestRestoreFileKeepsAJournalThatPersistsFromBeingApplied(t *testing.T) {
	t.Parallel()
	path := copied(t, 10)
	dst := filepath.Join(t.TempDir(), "app.db")
	c := rawConn(t, dst)
	runOn(t, c, `PRAGMA journal_mode = PERSIST`, `CREATE TABLE t (v)`)
	require.NoError(t, c.Close())
	require.Equal(t, []string{"app.db", "app.db-journal"}, files(t, dst))
	_, err := backup.RestoreFile(t.Context(), path, dst, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"app.db"}, files(t, dst))
}

// A log beside the file that is restored is part of it.
func TestRestoreFileTakesTheLogOfTheSourceIntoAccount(t *testing.T) {
	t.Parallel()
	path := crashed(t, "WAL")
	dst := filepath.Join(t.TempDir(), "app.db")
	_, err := backup.RestoreFile(t.Context(), path, dst, nil)
	require.NoError(t, err)
	assert.Equal(t, 77, rowsOf(t, dst))
}

func TestRestoredFileHasThePermissionsOfTheOldOneElseOfTheCopy(t *testing.T) {
	t.Parallel()
	path := copied(t, 10)
	require.NoError(t, os.Chmod(path, 0o640))
	dst := filepath.Join(t.TempDir(), "app.db")
	mode := func() os.FileMode {
		info, err := os.Stat(dst)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	_, err := backup.RestoreFile(t.Context(), path, dst, nil)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), mode())
	require.NoError(t, os.Chmod(dst, 0o600))
	_, err = backup.RestoreFile(t.Context(), path, dst, nil)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), mode())
}
