package harness

import (
	"os/exec"
	"syscall"
)

// EndWithParent has the system end the process of cmd when the thread that starts it ends, however that happens.
func EndWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
