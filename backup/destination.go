package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/sanelite/sanelite/internal/capi"
)

// LeftoverPattern matches, in the sense of path/filepath.Match, the names of temporary files, which lie in the folders of
// destinations. One that belongs to no running call is what a killed process has left, and may be deleted.
const LeftoverPattern = ".sanelite-backup-*"

const memoryPath = ":memory:"

// A destination is the place of a file that is to appear at once or not at all.
type destination struct {
	path      string // absolute, links resolved
	temporary string // empty until there is one
}

// newDestination finds out where path leads to, and refuses what source is made of.
func newDestination(path, source string) (*destination, error) {
	real, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if source != memoryPath {
		if err := refuseSource(real, source); err != nil {
			return nil, err
		}
	}
	return &destination{path: real}, nil
}

// resolve makes path absolute and follows links, which SQLite does too: side files lie beside what a link leads to. The file
// need not exist, its folder must. Nothing in the path has a meaning, except to the system.
func resolve(path string) (string, error) {
	if strings.IndexByte(path, 0) >= 0 {
		return "", errors.New("the path contains a NUL byte")
	}
	dir, name := filepath.Split(path)
	if name == "" || name == "." || name == ".." {
		return "", syscall.EISDIR
	}
	if dir == "" {
		dir = "."
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("its folder: %w", err)
	}
	if path, err = filepath.Abs(filepath.Join(dir, name)); err != nil {
		return "", err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return filepath.EvalSymlinks(path) // a link to nowhere is an error
	}
	return path, nil
}

// refuseSource answers ErrSame where path is the database at source, a link to it, or one of its side files, whether that exists or not.
func refuseSource(path, source string) error {
	real, err := resolve(source)
	if err != nil {
		return err
	}
	for _, suffix := range append([]string{""}, sideFiles[:]...) {
		if sameFile(path, real+suffix) {
			if suffix != "" {
				return fmt.Errorf("%w: it is the %s file of %q", ErrSame, suffix, source)
			}
			return ErrSame
		}
	}
	return nil
}

// sameFile compares files by identity, or by name where there is none. It does not open them.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// free reports whether a file may be put at the place: nothing is there or, if it may be overwritten, a database that nobody
// uses.
func (d *destination) free(overwrite bool) error {
	info, err := os.Lstat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuseSideFiles(d.path)
	case regular(info, err) != nil:
		return regular(info, err)
	case !overwrite:
		return ErrExists
	}
	if err := refuseSideFiles(d.path); err != nil {
		return err
	}
	lock, err := lockUnused(d.path)
	if err == nil {
		lock.Release()
	}
	return err
}

// regular says what a file is, if it is none that can hold a database.
func regular(info fs.FileInfo, err error) error {
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return syscall.EISDIR
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is no regular file but %v", info.Mode().Type())
	}
	return nil
}

// lockUnused takes the exclusive lock on a database that nobody has open, as far as locks tell, or answers ErrInUse.
func lockUnused(path string) (*capi.FileLock, error) {
	if capi.AnyConnection(func(other string) bool { return sameFile(path, other) }) {
		return nil, fmt.Errorf("%w: this process has it open", ErrInUse)
	}
	lock, err := capi.LockFile(path)
	if busy(err) {
		return nil, fmt.Errorf("%w: another connection holds a lock on it", ErrInUse)
	}
	return lock, err
}

// makeTemporary makes an empty file, which nobody else can read, in the folder of the destination.
func (d *destination) makeTemporary() (err error) {
	d.temporary, err = makeTemporary(filepath.Dir(d.path))
	return err
}

func makeTemporary(dir string) (string, error) {
	f, err := os.CreateTemp(dir, LeftoverPattern+".tmp")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// discard removes the temporary file, if it has not become the destination.
func (d *destination) discard() {
	if d.temporary != "" {
		removeTemporary(d.temporary)
	}
}

func removeTemporary(path string) {
	for _, suffix := range append([]string{""}, sideFiles[:]...) {
		_ = os.Remove(path + suffix)
	}
}

// flush gives the temporary file the permissions of the file at like, and has it written to the disk. No connection of SQLite
// is open on it.
func (d *destination) flush(like string) (err error) {
	f, err := os.Open(d.temporary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	perm := fs.FileMode(0o600)
	if like != memoryPath {
		info, err := os.Stat(like)
		if err != nil {
			return err
		}
		perm = info.Mode().Perm()
		keepOwner(f, info)
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	return syncFile(f)
}

// place gives the temporary file its name.
func (d *destination) place(overwrite bool) error {
	if _, err := os.Lstat(d.path); overwrite && err == nil {
		return d.replace(nil)
	}
	if err := refuseSideFiles(d.path); err != nil {
		return err
	}
	if err := link(d.temporary, d.path); err != nil {
		return err
	}
	d.discard()
	if err := syncFolder(d.path); err != nil {
		_ = os.Remove(d.path) // it might not survive a power cut
		return err
	}
	return nil
}

// link gives the file at from the name to, unless that is taken.
func link(from, to string) error {
	err := os.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err == nil {
		return nil
	}
	// The filesystem has no hard links, or not for this user.
	if _, err := os.Lstat(to); err == nil {
		return ErrExists
	}
	return os.Rename(from, to)
}

// replace puts the temporary file in the place of a database that nobody uses. aside, if not nil, takes side files out of the
// way; otherwise those with content are refused. Both happen under the exclusive lock of the old file.
func (d *destination) replace(aside *sideStep) error {
	lock, err := lockUnused(d.path)
	if err != nil {
		return err
	}
	var old *os.File
	defer func() { _ = old.Close() }() // after the release; no harm if it is nil or closed
	release := sync.OnceFunc(lock.Release)
	defer release()
	if err := aside.take(); err != nil {
		return err
	}
	defer aside.putBack() // unless it was dropped
	if err := refuseSideFiles(d.path); err != nil {
		return err
	}
	removeEmptySideFiles(d.path)
	if runtime.GOOS == "windows" {
		release() // a file that is open cannot be replaced there
	} else {
		// Who closes a deleted file last frees its space, which takes long. SQLite would do that under a mutex that its
		// connections in this process, to whatever files, take for every commit and every snapshot.
		old, _ = os.Open(d.path)
	}
	if err := os.Rename(d.temporary, d.path); err != nil {
		_ = old.Close() // before the release: closing drops all locks that this process has on the file, so they must be ours
		return err
	}
	d.temporary = ""
	aside.drop()
	return syncFolder(d.path)
}
