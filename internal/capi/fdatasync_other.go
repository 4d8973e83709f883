//go:build !unix

package capi

import "modernc.org/libc"

// chooseSync has no choice: only the code for Unix systems calls fsync.
func chooseSync(*libc.TLS) {}
