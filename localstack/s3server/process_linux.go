package s3server

import (
	"os/exec"
	"syscall"
)

// dieWithParent also moves the child to a process group of its own. Otherwise
// the terminal would interrupt it together with us, before we stop it.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
