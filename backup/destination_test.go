package backup_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/backup"
	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
)

// case B2
func TestExistingFileIsKeptUnlessOverwriteIsAskedFor(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 100)
		path := beside(db, "copy")
		require.NoError(t, os.WriteFile(path, []byte("precious"), 0o644))
		_, err := way(t.Context(), db, path, nil)
		require.ErrorIs(t, err, backup.ErrExists)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "precious", string(content))

		_, err = way(t.Context(), db, path, &backup.Options{Overwrite: true}) // not a database, so nobody's database
		require.NoError(t, err)
		assert.Equal(t, 100, rowsOf(t, path))
		fill(t, db, 1)
		_, err = way(t.Context(), db, path, &backup.Options{Overwrite: true})
		require.NoError(t, err)
		assert.Equal(t, 101, rowsOf(t, path))
		assert.Equal(t, []string{"copy", "test.db"}, files(t, path))
	})
}

// case B2
func TestFileThatCameUpMeanwhileIsKept(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 100)
		path := beside(db, "copy")
		_, err := way(t.Context(), db, path, &backup.Options{Progress: func(p backup.Progress) error {
			if p.PagesLeft == 0 {
				return os.WriteFile(path, []byte("precious"), 0o644)
			}
			return nil
		}})
		require.ErrorIs(t, err, backup.ErrExists)
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "precious", string(content))
		assert.Empty(t, leftovers(t, path))
	})
}

// case B2: whatever leads to the source, existing or not, overwritten or not.
func TestSourceItselfIsNeverTheDestination(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 100)
		dir := filepath.Dir(db.Path())
		other := t.TempDir()
		require.NoError(t, os.Symlink("test.db", beside(db, "symlink")))
		require.NoError(t, os.Symlink("symlink", beside(db, "symlink2")))
		require.NoError(t, os.Link(db.Path(), beside(db, "hardlink")))
		require.NoError(t, os.Symlink("test.db-wal", beside(db, "walLink")))
		require.NoError(t, os.Symlink(dir, filepath.Join(other, "folder")))
		for _, path := range []string{
			db.Path(), beside(db, "symlink"), beside(db, "symlink2"), beside(db, "hardlink"), beside(db, "walLink"),
			db.Path() + "-wal", db.Path() + "-shm", db.Path() + "-journal", filepath.Join(other, "folder", "test.db"),
			filepath.Join(other, "folder", "test.db-journal"), filepath.Join(dir, "..", filepath.Base(dir), "test.db"), dir + "//test.db",
		} {
			for _, overwrite := range []bool{false, true} {
				_, err := way(t.Context(), db, path, &backup.Options{Overwrite: overwrite})
				require.ErrorIs(t, err, backup.ErrSame, path)
			}
		}
		assert.Equal(t, 100, count(t, db))
		assert.Empty(t, leftovers(t, db.Path()))
		_, err := os.Lstat(db.Path() + "-journal")
		assert.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, os.Remove(beside(db, "hardlink")))
	})
}

// case B2: a source that was opened by a link has its side files where the link leads.
func TestSourceThatWasOpenedByALinkIsFoundOut(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, dbtest.OpenAt(t, path, nil, "").Close())
	db := dbtest.OpenAt(t, link, nil, schema)
	for _, name := range []string{path, path + "-wal", path + "-journal", link} {
		_, err := backup.To(t.Context(), db, name, &backup.Options{Overwrite: true})
		require.ErrorIs(t, err, backup.ErrSame, name)
	}
}

// case B4
func TestDestinationThatIsOpenIsRefused(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 100)
		refused := func(path string) {
			t.Helper()
			_, err := way(t.Context(), db, path, &backup.Options{Overwrite: true})
			require.ErrorIs(t, err, backup.ErrInUse)
			assert.Empty(t, leftovers(t, path))
		}
		path := beside(db, "copy")
		_, err := way(t.Context(), db, path, nil)
		require.NoError(t, err)

		release := start(t, "hold", path, `SELECT count(*) FROM t`) // in WAL mode, idle
		refused(path)
		release()

		release = start(t, "hold", path, `PRAGMA journal_mode = DELETE`, `BEGIN`, `SELECT count(*) FROM t`)
		refused(path)
		release()

		for _, mode := range []pragma.JournalMode{pragma.JournalWAL, pragma.JournalDelete} { // in this process, idle
			other, err := sqlitex.Open(t.Context(), path, &sqlitex.Options{Pragmas: pragma.Config{JournalMode: mode}})
			require.NoError(t, err)
			refused(path)
			require.NoError(t, other.Close())
		}
		_, err = way(t.Context(), db, path, &backup.Options{Overwrite: true})
		require.NoError(t, err)
	})
}

// case B4: opened while the copy was made.
func TestDestinationThatIsOpenedMeanwhileIsRefused(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 100)
		path := beside(db, "copy")
		_, err := way(t.Context(), db, path, nil)
		require.NoError(t, err)
		fill(t, db, 1)
		_, err = way(t.Context(), db, path, &backup.Options{Overwrite: true, Progress: func(p backup.Progress) error {
			if p.PagesLeft == 0 {
				start(t, "hold", path, `SELECT count(*) FROM t`)
			}
			return nil
		}})
		require.ErrorIs(t, err, backup.ErrInUse)
		assert.Equal(t, 100, rowsOf(t, path))
		assert.Empty(t, leftovers(t, path))
	})
}

// case B4: a renamed file beside a foreign log would read old data, whether there was a file or not.
func TestLeftOverLogOrJournalIsRefused(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 100)
		for _, suffix := range []string{"-wal", "-journal"} {
			for _, exists := range []bool{true, false} {
				path := filepath.Join(t.TempDir(), "copy")
				if exists {
					_, err := way(t.Context(), db, path, nil)
					require.NoError(t, err)
				}
				before, _ := os.ReadFile(path)
				require.NoError(t, os.WriteFile(path+suffix, []byte("content"), 0o644))
				_, err := way(t.Context(), db, path, &backup.Options{Overwrite: true})
				require.ErrorIs(t, err, backup.ErrInUse)
				require.ErrorContains(t, err, suffix)
				after, _ := os.ReadFile(path)
				assert.Equal(t, before, after)
				assert.Empty(t, leftovers(t, path))

				require.NoError(t, os.Truncate(path+suffix, 0)) // without content they say nothing
				require.NoError(t, os.WriteFile(path+"-shm", nil, 0o644))
				_, err = way(t.Context(), db, path, &backup.Options{Overwrite: true})
				require.NoError(t, err)
				if exists {
					assert.Equal(t, []string{"copy"}, files(t, path), "and are removed")
				}
			}
		}
	})
}

func TestLinkIsFollowedToWhatIsOverwritten(t *testing.T) {
	t.Parallel()
	db := open(t, 100)
	elsewhere := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "copy"), nil, 0o644))
	link := beside(db, "copy")
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "copy"), link))
	_, err := backup.To(t.Context(), db, link, nil)
	require.ErrorIs(t, err, backup.ErrExists)
	_, err = backup.To(t.Context(), db, link, &backup.Options{Overwrite: true})
	require.NoError(t, err)
	assert.Equal(t, 100, rowsOf(t, filepath.Join(elsewhere, "copy")))
	target, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(elsewhere, "copy"), target)

	require.NoError(t, os.Remove(filepath.Join(elsewhere, "copy")))
	_, err = backup.To(t.Context(), db, link, nil) // a link to nowhere
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestDestinationThatCannotBeIsAnErrorThatSaysWhy(t *testing.T) {
	eachWay(t, func(t *testing.T, way way) {
		db := open(t, 10)
		dir := filepath.Dir(db.Path())
		for path, want := range map[string]error{
			filepath.Join(dir, "missing", "copy"): fs.ErrNotExist,
			filepath.Join(db.Path(), "copy"):      syscall.ENOTDIR,
			dir + "/":                             syscall.EISDIR,
			"":                                    syscall.EISDIR,
			"..":                                  syscall.EISDIR,
		} {
			_, err := way(t.Context(), db, path, nil)
			require.ErrorIs(t, err, want, path)
		}
		_, err := way(t.Context(), db, t.TempDir(), &backup.Options{Overwrite: true})
		require.ErrorIs(t, err, syscall.EISDIR)
		_, err = way(t.Context(), db, "a\x00b", nil)
		require.ErrorContains(t, err, "NUL")
		_, err = way(t.Context(), db, os.DevNull, &backup.Options{Overwrite: true})
		require.ErrorContains(t, err, "no regular file")
		assert.Equal(t, []string{"test.db"}, files(t, db.Path()))
	})
}
