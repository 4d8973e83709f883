package sqlitex_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/pragma"
	"github.com/sanelite/sanelite/sqlitex"
)

// case O1: the path is a file name, and nothing in it has a meaning.
func TestPathIsTakenLiterally(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a#b.db", "a.db?mode=ro", "a.db?mode=rwc&cache=shared", "a%41.db", "a%00.db", "a b.db", " .db", "file:a.db", "file:a.db?mode=memory", "file::memory:",
		"a\tb\n.db", "ü漢.db", `quo"te'.db`, "-wal", "a;b.db", ":memory: ", "memory", "a*?.db", "$HOME", "~", "a.db?immutable=1", "a\x80.db", `back\slash.db`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			t.Cleanup(func() { dbtest.Verify(t, path) })
			db, err := sqlitex.Open(t.Context(), path, nil)
			require.NoError(t, err)
			require.NoError(t, execute(t.Context(), db, schema))
			insert(t, db, "x")
			require.NoError(t, db.Close())
			assert.Equal(t, []string{name}, files(t, dir))

			ro := dbtest.OpenAt(t, path, &sqlitex.Options{Mode: sqlitex.ReadOnly}, "")
			assert.Equal(t, 1, count(t, ro))
			_, err = ro.Exec(t.Context(), `INSERT INTO t (v) VALUES ('y')`)
			require.ErrorIs(t, err, sqlitex.ErrReadOnly)
			assert.Equal(t, path, ro.Path())
		})
	}
}

// case O1
func TestDoubleSlashAndDotsLeadToTheSameFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join("a", "b"), filepath.Join(dir, "link")))
	for path, want := range map[string]string{
		"/" + dir + "/one.db":     "one.db",
		dir + "//two.db":          "two.db",
		dir + "/./three.db":       "three.db",
		dir + "/a/../four.db":     "four.db",
		dir + "/link/five.db":     "a/b/five.db",
		dir + "/link/../six.db":   "a/six.db", // as the system resolves it, not the text
		dir + "/link/.././x/../7": "",         // x is not there
	} {
		db, err := sqlitex.Open(t.Context(), path, nil)
		if want == "" {
			require.ErrorIs(t, err, fs.ErrNotExist, path)
			continue
		}
		require.NoError(t, err, path)
		require.NoError(t, db.Close())
		assert.FileExists(t, filepath.Join(dir, want), path)
		dbtest.Verify(t, filepath.Join(dir, want))
	}
	assert.ElementsMatch(t, []string{"a", "link", "one.db", "two.db", "three.db", "four.db"}, files(t, dir))
	assert.ElementsMatch(t, []string{"b", "six.db"}, files(t, filepath.Join(dir, "a")))
}

// case O1: the working directory is the process's, so this test is not parallel.
func TestRelativeNameStaysWhereItWasWhenTheWorkingDirectoryChanges(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"file:rel.db", "rel.db?x=%41", "./-.db"} {
		db, err := sqlitex.Open(t.Context(), name, nil)
		require.NoError(t, err)
		_, err = db.Exec(t.Context(), schema)
		require.NoError(t, err)
		t.Chdir(t.TempDir())
		assert.Equal(t, 0, count(t, db), "readers are opened later")
		require.NoError(t, db.Close())
		t.Chdir(dir)
		dbtest.Verify(t, filepath.Join(dir, name))
	}
	assert.ElementsMatch(t, []string{"file:rel.db", "rel.db?x=%41", "-.db"}, files(t, dir))
}

// case O2
func TestOpenSaysWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	text := "Dear diary, today I was opened as a database.\n" + strings.Repeat("Nothing else happened. ", 1000)
	for _, test := range []struct {
		name    string
		prepare func(path string) error
		path    string
		mode    sqlitex.Mode
		is      []error
		not     []error
	}{
		{name: "missing folder", path: "missing/a.db", is: []error{sqlitex.ErrCannotOpen, fs.ErrNotExist}, not: []error{sqlitex.ErrNotADatabase}},
		{name: "folder is a file", path: "a/b.db", prepare: func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) }, is: []error{sqlitex.ErrCannotOpen, syscall.ENOTDIR}},
		{name: "a folder", path: "a.db", prepare: func(path string) error { return os.Mkdir(path, 0o755) }, is: []error{sqlitex.ErrCannotOpen, syscall.EISDIR}},
		{name: "a text file", path: "a.db", prepare: func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }, is: []error{sqlitex.ErrNotADatabase}, not: []error{fs.ErrNotExist, sqlitex.ErrCannotOpen}},
		{name: "a short text file", path: "a.db", prepare: func(path string) error { return os.WriteFile(path, []byte("hello"), 0o600) }, is: []error{sqlitex.ErrNotADatabase}},
		{name: "a text file, only to be read", path: "a.db", mode: sqlitex.ReadOnly, prepare: func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }, is: []error{sqlitex.ErrNotADatabase}},
		{name: "missing, only to be read", path: "a.db", mode: sqlitex.ReadOnly, is: []error{sqlitex.ErrCannotOpen, fs.ErrNotExist}},
		{name: "missing, not to be created", path: "a.db", mode: sqlitex.ReadWrite, is: []error{sqlitex.ErrCannotOpen, fs.ErrNotExist}},
		{name: "empty path", path: "", is: []error{sqlitex.ErrCannotOpen}},
		{name: "NUL in the path", path: "a\x00b.db", is: []error{sqlitex.ErrCannotOpen}},
		{name: "trailing slash", path: "a.db/", is: []error{sqlitex.ErrCannotOpen}},
		{name: "name too long", path: strings.Repeat("x", 300), is: []error{sqlitex.ErrCannotOpen, syscall.ENAMETOOLONG}},
		{name: "named pipe", path: "a.db", prepare: func(path string) error { return syscall.Mkfifo(path, 0o600) }, is: []error{sqlitex.ErrCannotOpen}},
		{name: "link to itself", path: "a.db", prepare: func(path string) error { return os.Symlink(path, path) }, is: []error{sqlitex.ErrCannotOpen}},
		{name: "link to nothing, only to be read", path: "a.db", mode: sqlitex.ReadOnly, prepare: func(path string) error { return os.Symlink(path+"x", path) }, is: []error{sqlitex.ErrCannotOpen, fs.ErrNotExist}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, path := t.TempDir(), test.path
			if path != "" {
				path = dir + "/" + path
			}
			if test.prepare != nil {
				require.NoError(t, test.prepare(path))
			}
			before := files(t, dir)
			within(t, "nothing to wait for", func() {
				db, err := sqlitex.Open(t.Context(), path, &sqlitex.Options{Mode: test.mode})
				require.Error(t, err)
				assert.Nil(t, db)
				assert.ErrorContains(t, err, strings.Trim(strconv.Quote(path), `"`), "names the path")
				for _, target := range test.is {
					assert.ErrorIs(t, err, target)
				}
				for _, target := range test.not {
					assert.NotErrorIs(t, err, target)
				}
			})
			assert.Equal(t, before, files(t, dir), "nothing new on disk")
			assert.Empty(t, dbtest.OpenFiles(dir))
		})
	}
}

// case O2
func TestTextFileIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.txt")
	text := []byte(strings.Repeat("notes ", 5000))
	require.NoError(t, os.WriteFile(path, text, 0o640))
	_, err := sqlitex.Open(t.Context(), path, &sqlitex.Options{FileMode: 0o600})
	require.ErrorIs(t, err, sqlitex.ErrNotADatabase)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, text, after)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o640), info.Mode())
}

// case O2
func TestZeroByteFileIsANewDatabase(t *testing.T) {
	t.Parallel()
	for _, mode := range []sqlitex.Mode{sqlitex.ReadWriteCreate, sqlitex.ReadWrite} {
		path := dbtest.Path(t)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		db := dbtest.OpenAt(t, path, &sqlitex.Options{Mode: mode, Pragmas: pragma.Config{PageSize: 8192}}, schema)
		usable(t, db)
	}
}

// case O2: the other kinds of failure come after the file was made.
func TestOpenThatFailsLaterLeavesNothing(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		options sqlitex.Options
		is      error
	}{
		"setup": {options: sqlitex.Options{Setup: func(context.Context, *sqlite.Conn) error { return boom }}, is: boom},
		"setup, another program checkpoints": {is: boom, options: sqlitex.Options{
			Setup:       func(_ context.Context, c *sqlite.Conn) error { return errors.Join(run(c, schema), boom) },
			Checkpoints: sqlitex.CheckpointsExternal,
		}},
		"setup that wrote": {is: boom, options: sqlitex.Options{Setup: func(_ context.Context, c *sqlite.Conn) error {
			return errors.Join(run(c, schema), boom)
		}}},
		"setup that left a transaction": {is: sqlitex.ErrStateChanged, options: sqlitex.Options{Setup: func(_ context.Context, c *sqlite.Conn) error {
			return errors.Join(run(c, "BEGIN"), run(c, schema))
		}}},
		"setup that changed a pragma": {is: sqlitex.ErrStateChanged, options: sqlitex.Options{Setup: func(_ context.Context, c *sqlite.Conn) error {
			return run(c, "PRAGMA foreign_keys=OFF")
		}}},
		"rollback journal": {is: boom, options: sqlitex.Options{
			Setup:   func(_ context.Context, c *sqlite.Conn) error { return errors.Join(run(c, schema), boom) },
			Pragmas: pragma.Config{JournalMode: pragma.JournalPersist},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := dbtest.Path(t)
			_, err := sqlitex.Open(t.Context(), path, &test.options)
			require.ErrorIs(t, err, test.is)
			assert.ErrorContains(t, err, path)
			assert.Empty(t, files(t, filepath.Dir(path)))
		})
	}
}

func TestOpenUnderADoneContextDoesNothing(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := sqlitex.Open(ctx, path, nil)
	require.ErrorIs(t, err, context.Canceled)
	assert.NoFileExists(t, path)
}

func TestSetupThatPanicsLeavesNothing(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	require.PanicsWithValue(t, "boom", func() {
		_, _ = sqlitex.Open(t.Context(), path, &sqlitex.Options{Setup: func(context.Context, *sqlite.Conn) error { panic("boom") }})
	})
	assert.Empty(t, files(t, filepath.Dir(path)))
	assert.Empty(t, dbtest.OpenFiles(filepath.Dir(path)))
}

func TestOptionsThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]sqlitex.Options{
		"Mode":              {Mode: 7},
		"Checkpoints":       {Checkpoints: -1},
		"FileMode":          {FileMode: fs.ModeDir | 0o600},
		"MaxReaders":        {MaxReaders: -1},
		"PageSize":          {Pragmas: pragma.Config{PageSize: 1000}},
		"JournalMode":       {Pragmas: pragma.Config{JournalMode: "wal; DROP TABLE t"}},
		"Synchronous":       {Pragmas: pragma.Config{Synchronous: 9}},
		"CacheSize":         {CacheSize: 1 << 50},
		"WALAutoCheckpoint": {Pragmas: pragma.Config{WALAutoCheckpoint: 1 << 40}},
	} {
		path := dbtest.Path(t)
		_, err := sqlitex.Open(t.Context(), path, &o)
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, path)
		assert.NoFileExists(t, path)
	}
}

func TestDurationsAreWholeMillisecondsAndNeverNone(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]int{1: 1, time.Millisecond + 1: 2, 365 * 24 * time.Hour: 2147483647, -time.Hour: 0} {
		db := dbtest.Open(t, &sqlitex.Options{BusyTimeout: given}, "")
		got, err := sqlitex.One[int](t.Context(), db, "PRAGMA busy_timeout")
		require.NoError(t, err)
		assert.Equal(t, want, got, given)
	}
}
