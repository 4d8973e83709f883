//go:build !linux

package harness

import "os/exec"

// EndWithParent does nothing: only Linux can do it.
func EndWithParent(*exec.Cmd) {}
