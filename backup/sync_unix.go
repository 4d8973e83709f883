//go:build unix

package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

func syncFile(f *os.File) error { return f.Sync() }

// syncFolder makes the name of a file survive a power cut. Some filesystems cannot, and say so.
func syncFolder(path string) (err error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}

// keepOwner gives f the owner of another file, which root alone can do: the service, which is not root, is to be able to use it.
func keepOwner(f *os.File, of fs.FileInfo) {
	if st, ok := of.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
