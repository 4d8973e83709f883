package netfs

import (
	"errors"
	"io/fs"
	"syscall"
)

func check(dir string) (Kind, string, error) {
	var st syscall.Statfs_t
	for {
		err := syscall.Statfs(dir, &st)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return Local, "", &fs.PathError{Op: "statfs", Path: dir, Err: err}
		default:
			// Type is signed on some architectures and 64 bits wide on some; magic numbers have 32.
			kind, name := classify(uint32(st.Type))
			return kind, name, nil
		}
	}
}
