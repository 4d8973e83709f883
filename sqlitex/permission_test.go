//go:build unix

package sqlitex_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sanelite/sanelite/internal/dbtest"
	"github.com/sanelite/sanelite/sqlitex"
)

// childUnprivileged opens a database as a user whom permissions bind, and prints how many rows it has, or why it could not.
func childUnprivileged(args []string) {
	const nobody = 65534
	if os.Geteuid() == 0 {
		fatal(syscall.Setgroups(nil))
		fatal(syscall.Setgid(nobody))
		fatal(syscall.Setuid(nobody))
	}
	mode := map[string]sqlitex.Mode{"create": sqlitex.ReadWriteCreate, "write": sqlitex.ReadWrite, "read": sqlitex.ReadOnly}[args[0]]
	ctx := context.Background()
	n, err := func() (n int, err error) {
		db, err := sqlitex.Open(ctx, args[1], &sqlitex.Options{Mode: mode})
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if _, err := db.Exec(ctx, `INSERT INTO t (v) VALUES ('x')`); (mode == sqlitex.ReadOnly) != errors.Is(err, sqlitex.ErrReadOnly) {
			return 0, fmt.Errorf("insert: %w", err)
		}
		return sqlitex.One[int](ctx, db, `SELECT count(*) FROM t`)
	}()
	var kinds []string
	for name, target := range map[string]error{
		"permission": fs.ErrPermission, "cannot open": sqlitex.ErrCannotOpen, "read-only": sqlitex.ErrReadOnly, "named": nil,
	} {
		if err != nil && (target == nil && strings.Contains(err.Error(), args[1]) || target != nil && errors.Is(err, target)) {
			kinds = append(kinds, name)
		}
	}
	fmt.Println(n, kinds, err)
}

// unprivileged opens path as another user. It returns the rows that were found and the kinds of the error.
func unprivileged(t *testing.T, mode, path string) (n int, kinds string) {
	t.Helper()
	out, err := dbtest.Command(t, "unprivileged", mode, path).Output()
	require.NoError(t, err)
	t.Logf("%s %s: %s", mode, filepath.Base(path), out)
	answer := string(out)
	_, err = fmt.Sscan(answer, &n)
	require.NoError(t, err)
	return n, answer[strings.Index(answer, "["):strings.Index(answer, "]")]
}

// folder returns a folder that everybody can reach, with the given permission at the end.
func folder(t *testing.T) (dir string, seal func(fs.FileMode)) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	return dir, func(mode fs.FileMode) { require.NoError(t, os.Chmod(dir, mode)) }
}

// case O6: a cleanly closed WAL database in a folder without write permission. It opens, or one clear error says why not.
func TestDatabaseInAFolderWithoutWritePermission(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, journal, mode string
		file, folder        fs.FileMode
		rows                int
		kinds               []string // of the error; nil where it opens
	}{
		{name: "WAL, to be read", journal: "wal", mode: "read", file: 0o644, folder: 0o555, kinds: []string{"cannot open", "named"}},
		{name: "rollback journal, to be read", journal: "delete", mode: "read", file: 0o644, folder: 0o555, rows: 1},
		{name: "WAL, to be written", journal: "wal", mode: "write", file: 0o666, folder: 0o555, kinds: []string{"named"}},
		{name: "file that may only be read, to be written", journal: "wal", mode: "write", file: 0o444, folder: 0o777, kinds: []string{"permission", "cannot open", "named"}},
		{name: "file that may only be read, to be created", journal: "wal", mode: "create", file: 0o444, folder: 0o777, kinds: []string{"permission", "cannot open", "named"}},
		{name: "file that may not be read", journal: "wal", mode: "read", file: 0o000, folder: 0o777, kinds: []string{"permission", "cannot open", "named"}},
		{name: "folder that may not be searched", journal: "wal", mode: "read", file: 0o644, folder: 0o600, kinds: []string{"permission", "cannot open", "named"}},
		{name: "WAL, to be read, folder may be written", journal: "wal", mode: "read", file: 0o444, folder: 0o777, rows: 1},
		{name: "to be written", journal: "wal", mode: "write", file: 0o666, folder: 0o777, rows: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, seal := folder(t)
			path := filepath.Join(dir, "test.db")
			database(t, path, test.journal)
			require.NoError(t, os.Chmod(path, test.file))
			seal(test.folder)
			rows, kinds := unprivileged(t, test.mode, path)
			if test.kinds == nil {
				assert.Equal(t, test.rows, rows)
				assert.Equal(t, "[", kinds)
			}
			for _, kind := range test.kinds {
				assert.Contains(t, kinds, kind)
			}
			seal(0o755)
			if rows == 1 && test.journal == "wal" { // SQLite may have made them, and a reader may not remove them
				assert.Subset(t, []string{"test.db", "test.db-wal", "test.db-shm"}, files(t, dir))
			} else {
				assert.Equal(t, []string{"test.db"}, files(t, dir), "nothing new")
			}
			dbtest.Verify(t, path)
		})
	}
}

// case O6: the log and the shared memory are there, since another process has the database open.
func TestOpenWALDatabaseIsReadInAFolderWithoutWritePermission(t *testing.T) {
	t.Parallel()
	dir, seal := folder(t)
	path := filepath.Join(dir, "test.db")
	db := dbtest.OpenAt(t, path, &sqlitex.Options{FileMode: 0o666}, schema)
	insert(t, db, "in the log")
	seal(0o555)
	rows, _ := unprivileged(t, "read", path)
	assert.Equal(t, 1, rows)
	seal(0o755)
}

// case O2
func TestNewDatabaseInAFolderWithoutWritePermission(t *testing.T) {
	t.Parallel()
	dir, seal := folder(t)
	seal(0o555)
	_, kinds := unprivileged(t, "create", filepath.Join(dir, "test.db"))
	assert.Contains(t, kinds, "permission")
	assert.Contains(t, kinds, "cannot open")
	assert.Contains(t, kinds, "named")
	assert.Empty(t, files(t, dir))
}

func TestFileModeIsThatOfTheDatabaseAndItsSideFiles(t *testing.T) {
	t.Parallel()
	for _, mode := range []fs.FileMode{0o600, 0o640, 0o666} {
		path := dbtest.Path(t)
		db := dbtest.OpenAt(t, path, &sqlitex.Options{FileMode: mode}, schema)
		insert(t, db, "x")
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + suffix)
			require.NoError(t, err)
			assert.Equal(t, mode, info.Mode(), "test.db"+suffix)
		}
	}
}

func TestFileModeLeavesAnExistingFileAlone(t *testing.T) {
	t.Parallel()
	path := dbtest.Path(t)
	database(t, path, "wal")
	require.NoError(t, os.Chmod(path, 0o604))
	dbtest.OpenAt(t, path, &sqlitex.Options{FileMode: 0o600}, "")
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o604), info.Mode())
}
