//go:build unix

package main

import "syscall"

// detachedProcAttr takes a child out of the process group and the session of its parent.
func detachedProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
