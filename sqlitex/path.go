package sqlitex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/sanelite/sanelite/internal/capi"
	"github.com/sanelite/sanelite/internal/netfs"
	"github.com/sanelite/sanelite/internal/sqlerr"
)

const memoryPath = ":memory:"

// location is where a database lies, and whether this Open made the file.
type location struct {
	path    string // absolute, or ":memory:"
	created bool
}

// locate turns the path of a caller into a file that SQLite can open, and finds the reasons why it could not: SQLite itself
// says no more than "unable to open database file".
func locate(ctx context.Context, path string, o *Options) (location, error) {
	if path == memoryPath {
		if o.Mode == ReadOnly {
			return location{}, openError(path, errors.New("a private in-memory database cannot be opened read-only: it would be empty for ever"))
		}
		return location{path: path}, nil
	}
	if path == "" {
		return location{}, openError(path, errors.New("the path is empty"))
	}
	if strings.IndexByte(path, 0) >= 0 {
		return location{}, openError(path, errors.New("the path contains a NUL byte"))
	}
	abs, err := absolute(path)
	if err != nil {
		return location{}, openError(path, err)
	}
	dir := filepath.Dir(abs)
	if info, err := os.Stat(dir); err != nil {
		return location{}, openError(path, fmt.Errorf("its folder: %w", err))
	} else if !info.IsDir() {
		return location{}, openError(path, fmt.Errorf("its folder: %w", &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}))
	}
	info, err := os.Stat(abs)
	onDisk := abs // where a link leads counts, not where the link is
	if err != nil {
		onDisk = dir
	}
	if err := checkFilesystem(ctx, onDisk, path, o); err != nil {
		return location{}, err
	}
	switch {
	case err == nil && info.IsDir():
		return location{}, openError(path, &fs.PathError{Op: "open", Path: abs, Err: syscall.EISDIR})
	case err == nil && !info.Mode().IsRegular():
		return location{}, openError(path, fmt.Errorf("it is no regular file but %v", info.Mode().Type()))
	case err == nil:
		if err := accessible(abs, o.Mode); err != nil {
			return location{}, openError(path, err)
		}
		waitForCreation()
		return location{path: abs}, nil
	case !errors.Is(err, fs.ErrNotExist) || o.Mode != ReadWriteCreate:
		return location{}, openError(path, err)
	}
	created, err := create(abs, o.FileMode)
	if err != nil {
		return location{}, openError(path, err)
	}
	return location{path: abs, created: created}, nil
}

// creating makes sure that a file which one Open has just created, and must close again, is not yet open through another:
// closing any descriptor of a file drops the locks that the process has on it.
// https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_
var creating sync.Mutex

func waitForCreation() {
	creating.Lock()
	defer creating.Unlock()
}

// absolute makes path independent of the working directory, since connections are opened later too. What stands before ".."
// may be a link, from where ".." leads elsewhere than the text says.
func absolute(path string) (string, error) {
	dir, name := filepath.Split(path)
	if name == "" || name == "." || name == ".." {
		return "", &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	if slices.Contains(strings.FieldsFunc(dir, func(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) }), "..") {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		path = filepath.Join(resolved, name)
	}
	return filepath.Abs(path)
}

// create makes an empty file, which SQLite takes for a new database. It reports false if somebody else was faster.
func create(path string, mode fs.FileMode) (created bool, err error) {
	creating.Lock()
	defer creating.Unlock()
	perm := mode
	if perm == 0 {
		perm = 0o644 // SQLITE_DEFAULT_FILE_PERMISSIONS
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if mode != 0 {
		err = f.Chmod(mode)
	}
	return true, errors.Join(err, f.Close())
}

// discard removes a database that this Open made and could not finish. It stays where somebody else has opened it meanwhile,
// which side files tell of another process.
func (l location) discard() {
	if !l.created || capi.OpenConnections(l.path) > 0 {
		return
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Lstat(l.path + suffix); err == nil {
			return
		}
	}
	journal, err := os.ReadFile(l.path + "-journal")
	if len(journal) > 0 && journal[0] != 0 { // that of a transaction; one that only persists begins with zeros
		return
	}
	if err == nil {
		_ = os.Remove(l.path + "-journal")
	}
	_ = os.Remove(l.path)
}

func checkFilesystem(ctx context.Context, dir, path string, o *Options) error {
	kind, name, err := netfs.Check(dir)
	switch {
	case err != nil:
		return openError(path, err)
	case kind == netfs.Network && !o.AllowNetworkFS:
		return sqlerr.Wrapf(ErrNetworkFilesystem, "sqlite: open %q: its folder is on %s: locks and shared memory cannot be trusted there (Options.AllowNetworkFS)", path, name)
	case kind != netfs.Local && o.Logger != nil:
		o.Logger.LogAttrs(ctx, slog.LevelWarn, "database may be on a network filesystem", slog.String("path", path), slog.String("filesystem", name))
	}
	return nil
}

// openError names the path and keeps the reason for errors.Is.
func openError(path string, err error) error {
	return sqlerr.Wrapf(ErrCannotOpen, "sqlite: open %q: %w", path, err)
}
