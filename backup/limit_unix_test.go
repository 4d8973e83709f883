//go:build unix

package backup_test

import (
	"os/signal"
	"syscall"
)

// limitFiles lets writing beyond n bytes of any file fail, as a full disk does, until the returned function is called.
func limitFiles(n uint64) (unlimited func(), err error) {
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return nil, err
	}
	err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: before.Max})
	return func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) }, err
}
