package main

import "syscall"

// childProcAttr puts the server into a group of its own, so that a signal reaches it once, and has it end with us when
// we are killed.
func childProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
