package social

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// unfinishedMark stands behind the name of a file that is being made.
const unfinishedMark = ".seeding-"

// unfinished removes what earlier runs have left beside path, and names a file for this one. The name is never used again: a run
// whose file is removed by a later one finds it missing at the end, and cannot take the other's for its own.
func unfinished(path string) (string, error) {
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), base+unfinishedMark) {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%s%s%016x", path, unfinishedMark, rand.Uint64()), nil
}

// finish flushes the file and gives it its name, unless that has been taken meanwhile.
func finish(from, to string) error {
	f, err := os.Open(from) // no connection is open any more
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(from, to); err != nil { // unlike Rename, it replaces nothing
		return err
	}
	return os.Remove(from)
}
