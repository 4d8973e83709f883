//go:build unix

package sqlitex

import (
	"io/fs"
	"syscall"
)

// accessible asks the system whether the file may be used, without opening it: SQLite would open a file that it may only read
// as read-only, and say so at the first write.
func accessible(path string, mode Mode) error {
	const read, write = 4, 2 // R_OK and W_OK of access(2)
	want := uint32(read | write)
	if mode == ReadOnly {
		want = read
	}
	if err := syscall.Access(path, want); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return nil
}
