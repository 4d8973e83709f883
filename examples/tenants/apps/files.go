package apps

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An app is the file name.db. While it is deleted it is name.deleted; a name has no dot, so that none is another's side file.
const (
	extension = ".db"
	deleted   = ".deleted"
)

// ValidName reports whether an app may have this name: 1 to 63 small letters, digits and hyphens, of which the first is no
// hyphen. No such name leads out of the folder, and none is the same as another on a filesystem that ignores case.
func ValidName(name string) bool {
	if name == "" || len(name) > 63 || name[0] == '-' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

func (r *Registry) file(name string) string { return filepath.Join(r.dir, name+extension) }

// exists asks for the file's kind and does not open it: to close it again would drop the locks that SQLite has on it
// (https://www.sqlite.org/howtocorrupt.html). What is no regular file is no app, and links lead elsewhere.
func (r *Registry) exists(name string) (bool, error) {
	info, err := os.Lstat(r.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("apps: %s is not a regular file", r.file(name))
	}
	return err == nil, err
}

// List returns up to limit names of apps behind the name after, sorted. It reads the whole folder.
func (r *Registry) List(after string, limit int) ([]string, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if ok && name > after && ValidName(name) && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	slices.Sort(names) // the folder is sorted, too, but with the extension: "a-b.db" comes before "a.db"
	return names[:min(limit, len(names))], nil
}

// Check reports whether the folder is there.
func (r *Registry) Check() error {
	if r.isClosed() {
		return ErrClosed
	}
	_, err := os.Stat(r.dir)
	return err
}

// removeFiles removes a database that is not open. The app is gone with the rename; whatever a crash leaves after it, goes
// when the folder is opened, or when an app of that name is created.
func (r *Registry) removeFiles(name string) error {
	if err := os.Rename(r.file(name), filepath.Join(r.dir, name+deleted)); err != nil {
		return err
	}
	return r.sweepRemains(name)
}

// sweepRemains removes what may be left of an app that was deleted. The mark goes last.
func (r *Registry) sweepRemains(name string) error { return sweepRemains(r.dir, name) }

func sweepRemains(dir, name string) error {
	for _, suffix := range []string{extension + "-wal", extension + "-shm", extension + "-journal", deleted} {
		if err := os.Remove(filepath.Join(dir, name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// prepareFolder creates the folder, and finishes what a crash has interrupted. It returns the absolute path, so that it does not
// matter where the process goes later.
func prepareFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), deleted)
		if !ok || !ValidName(name) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, name+extension)); err == nil {
			continue // somebody put a file of that name back: these are its side files
		}
		if err := sweepRemains(dir, name); err != nil {
			return "", err
		}
	}
	return dir, nil
}
