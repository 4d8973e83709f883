package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"zombiezen.com/go/sqlite"

	"github.com/sanelite/sanelite/internal/capi"
)

// sideFiles are what SQLite keeps beside a database. https://www.sqlite.org/tempfiles.html
var sideFiles = [...]string{"-wal", "-journal", "-shm"}

// withContent are those of them from which SQLite would restore the database beside them.
var withContent = [...]string{"-wal", "-journal"}

// refuseSideFiles answers ErrInUse where a log or a journal with content lies beside path. It belongs to what is or was there,
// and SQLite would apply it to whatever comes there.
func refuseSideFiles(path string) error {
	if suffix := contentBeside(path); suffix != "" {
		return fmt.Errorf("%w: there is a %s file with content beside it", ErrInUse, suffix)
	}
	return nil
}

func contentBeside(path string) (suffix string) {
	for _, suffix := range withContent {
		if info, err := os.Lstat(path + suffix); err == nil && info.Size() > 0 {
			return suffix
		}
	}
	return ""
}

// removeEmptySideFiles removes what has no meaning without a connection: the caller has made sure that there is none.
func removeEmptySideFiles(path string) {
	if contentBeside(path) != "" {
		return
	}
	for _, suffix := range sideFiles {
		_ = os.Remove(path + suffix)
	}
}

// settle brings a database that nobody uses to rest: SQLite rolls back or copies back what a crash has left beside it. The old
// database is then whole without side files, and can be replaced by one rename. It reports false where SQLite cannot make
// sense of the file.
func settle(path string) (settled bool, err error) {
	if contentBeside(path) == "" {
		return true, nil
	}
	lock, err := lockUnused(path)
	if err != nil {
		return false, err
	}
	lock.Release()
	c, err := capi.Open(path, sqlite.OpenReadWrite) // reads the schema, which recovers
	if busy(err) {
		return false, fmt.Errorf("%w: another connection holds a lock on it", ErrInUse)
	}
	if err != nil {
		return false, nil //nolint:nilerr // what is to be replaced may be broken
	}
	return c.Close() == nil, nil // the last one copies the log back and deletes it
}

// A sideStep renames side files with content after the temporary file, so that they are recognisable, and could still be
// used, if the process is killed then. A nil one does nothing.
type sideStep struct {
	path, aside string
	moved       []string
}

func (s *sideStep) take() error {
	if s == nil {
		return nil
	}
	for _, suffix := range withContent {
		err := os.Rename(s.path+suffix, s.aside+suffix)
		switch {
		case err == nil:
			s.moved = append(s.moved, suffix)
		case !errors.Is(err, fs.ErrNotExist):
			s.putBack()
			return err
		}
	}
	return nil
}

// putBack undoes take, if nothing was dropped.
func (s *sideStep) putBack() {
	if s == nil {
		return
	}
	for _, suffix := range s.moved {
		_ = os.Rename(s.aside+suffix, s.path+suffix)
	}
	s.moved = nil
}

// drop deletes what was moved.
func (s *sideStep) drop() {
	if s == nil {
		return
	}
	for _, suffix := range s.moved {
		_ = os.Remove(s.aside + suffix)
	}
	s.moved = nil
}
