package process

import "syscall"

// Attr puts a server into a process group of its own, so that a signal reaches it once, and makes the kernel end it
// when mcpcheck is killed.
func Attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
