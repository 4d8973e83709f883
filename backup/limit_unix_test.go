//go:build unix

package backup_test

import (
	"os/signal"
	"syscall"
)

// limitFiles lets writing beyond n bytes of any file fail, as a full disk does.
func limitFiles(n uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}
