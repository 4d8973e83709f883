//go:build unix

package capi

import (
	"os"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// SyncVariable names the environment variable that makes SQLite sync with fdatasync, for the whole process.
const SyncVariable = "SANELITE_FDATASYNC"

// chooseSync makes SQLite call fdatasync where it would call fsync: the size of a file is still written, its times are not. modernc's SQLite
// offers that as a switch for all connections of the process, so it is off unless asked for.
func chooseSync(tls *libc.TLS) {
	if os.Getenv(SyncVariable) == "1" {
		lib.Xmodernc_fdatasync(tls, 1)
	}
}
