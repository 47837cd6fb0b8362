package process

import "syscall"

// Attr puts the server into a group of its own, so that a signal reaches it once, and has it end with us when
// we are killed.
func Attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
