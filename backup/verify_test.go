package backup_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/tx"
)

// copied returns a copy of a database with rows, outside of its folder.
func copied(t testing.TB, rows int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	_, err := backup.To(t.Context(), open(t, rows), path, nil)
	require.NoError(t, err)
	return path
}

func TestVerifyFindsDamageAndSaysWhat(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(copied(t, 2000))
	require.NoError(t, err)
	for name, damage := range map[string]func(content []byte) []byte{
		"a page of zeros":     func(b []byte) []byte { clear(b[40*4096 : 41*4096]); return b },
		"a page of noise":     func(b []byte) []byte { copy(b[30*4096:31*4096], b[100:]); return b },
		"the last page":       func(b []byte) []byte { return b[:len(b)-4096] },
		"half a page":         func(b []byte) []byte { return b[:len(b)-2048] },
		"bytes at the end":    func(b []byte) []byte { return append(b, 0) },
		"the schema":          func(b []byte) []byte { copy(b[100:], "garbage"); return b },
		"only a header":       func(b []byte) []byte { return b[:100] },
		"no database":         func([]byte) []byte { return []byte("hello, this is a text file") },
		"an empty file":       func([]byte) []byte { return nil },
		"an index without":    func(b []byte) []byte { return corruptIndex(t, b) },
		"a row that is owned": func(b []byte) []byte { return corruptForeignKey(t, b) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "damaged")
			require.NoError(t, os.WriteFile(path, damage(append([]byte(nil), whole...)), 0o600))
			err := backup.Verify(t.Context(), path)
			require.ErrorIs(t, err, tx.ErrCheckFailed)
			found := new(backup.CheckError)
			require.ErrorAs(t, err, &found)
			assert.Equal(t, path, found.Path)
			assert.ErrorContains(t, err, path)
			assert.True(t, len(found.Integrity)+len(found.ForeignKeys) > 0 || found.Err != nil)
			switch name {
			case "no database", "an empty file":
				assert.ErrorIs(t, err, tx.ErrNotADatabase)
			case "a row that is owned":
				assert.Equal(t, []string{"row 7 of t refers to a row of account that is not there"}, found.ForeignKeys)
			}
			assert.Equal(t, []string{"damaged"}, files(t, path))

			_, err = backup.RestoreFile(t.Context(), path, filepath.Join(t.TempDir(), "restored"), nil)
			require.ErrorIs(t, err, tx.ErrCheckFailed)
			db := dbtest.Open(t, nil, schema)
			_, err = backup.Restore(t.Context(), db, path, nil)
			require.ErrorIs(t, err, tx.ErrCheckFailed)
			assert.Zero(t, count(t, db))
		})
	}
}

func edited(t testing.TB, content []byte, statements ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edited")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	c := rawConn(t, path)
	runOn(t, c, append([]string{`PRAGMA journal_mode = DELETE`}, statements...)...)
	require.NoError(t, c.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

func corruptIndex(t testing.TB, content []byte) []byte {
	return edited(t, content, `PRAGMA writable_schema = 1`, `UPDATE sqlite_schema SET sql = 'CREATE INDEX t_v ON t (owner)' WHERE name = 't_v'`)
}

func corruptForeignKey(t testing.TB, content []byte) []byte {
	return edited(t, content, `PRAGMA foreign_keys = 0`, `UPDATE t SET owner = 99 WHERE id = 7`)
}

// A copy of a database that violates its own foreign keys is not verified in full, but may be had.
func TestForeignKeysAreNotLookedAtByTheQuickCheck(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 10)
		c := rawConn(t, db.Path())
		runOn(t, c, `PRAGMA foreign_keys = 0`, `UPDATE t SET owner = 99 WHERE id = 7`)
		require.NoError(t, c.Close())
		path := beside(db, "copy")
		_, err := way(t.Context(), db, path, nil)
		found := new(backup.CheckError)
		require.ErrorAs(t, err, &found)
		assert.Equal(t, path, found.Path)
		nothing(t, path)
		result, err := way(t.Context(), db, path, &backup.Options{Verify: backup.VerifyQuick})
		require.NoError(t, err)
		assert.Equal(t, backup.VerifyQuick, result.Verified)
		result, err = way(t.Context(), db, path+"2", &backup.Options{Verify: backup.VerifyOff})
		require.NoError(t, err)
		assert.Equal(t, backup.VerifyOff, result.Verified)
		_, err = db.Exec(t.Context(), `UPDATE t SET owner = 1 WHERE id = 7`) // for the cleanup
		require.NoError(t, err)
	})
}

func TestVerifySaysWhyAFileCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for path, want := range map[string]error{
		filepath.Join(dir, "missing"):      fs.ErrNotExist,
		filepath.Join(dir, "missing", "a"): fs.ErrNotExist,
		dir:                                syscall.EISDIR,
		dir + "/":                          syscall.EISDIR,
		"":                                 syscall.EISDIR,
	} {
		err := backup.Verify(t.Context(), path)
		require.ErrorIs(t, err, want, path)
		require.NotErrorIs(t, err, tx.ErrCheckFailed)
	}
	assert.Empty(t, files(t, filepath.Join(dir, "x")))
}

func TestVerifyChangesNothing(t *testing.T) {
	t.Parallel()
	path := copied(t, 100) // in WAL mode
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(path, old, old))
	require.NoError(t, os.Chmod(path, 0o400))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, backup.Verify(t.Context(), path))
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.True(t, info.ModTime().Equal(old))
	assert.Equal(t, []string{"copy"}, files(t, path))
}

func TestVerifyOfADatabaseInUseSeesOneSnapshot(t *testing.T) {
	t.Parallel()
	db := open(t, 3000)
	stop := start(t, "commit", db.Path())
	for range 5 {
		require.NoError(t, backup.Verify(t.Context(), db.Path()))
	}
	stop()
	for _, mode := range []string{"DELETE", "PERSIST", "TRUNCATE"} {
		path := filepath.Join(t.TempDir(), "rollback")
		c := rawConn(t, path)
		runOn(t, c, `PRAGMA journal_mode = `+mode, `CREATE TABLE t (v)`, `INSERT INTO t VALUES (1)`)
		require.NoError(t, backup.Verify(t.Context(), path))
		runOn(t, c, `BEGIN IMMEDIATE`, `INSERT INTO t VALUES (2)`)
		require.NoError(t, backup.Verify(t.Context(), path))
		runOn(t, c, `COMMIT`)
		require.NoError(t, c.Close())
	}
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := copied(t, 20000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, backup.Verify(ctx, path), context.Canceled)
	ctx, cancel = context.WithTimeout(t.Context(), 2*time.Millisecond)
	defer cancel()
	err := backup.Verify(ctx, path)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, tx.ErrCheckFailed)
}
