package main

import "syscall"

// detachedProcAttr takes a child out of the process group of its parent.
func detachedProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
