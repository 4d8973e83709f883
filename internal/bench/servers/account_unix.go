//go:build unix

package servers

import (
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

const terminate = syscall.SIGTERM

// runAs has root run cmd under another account.
func runAs(cmd *exec.Cmd, u *user.User) {
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if os.Geteuid() != 0 || uidErr != nil || gidErr != nil {
		return
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
