//go:build unix

package main

import "syscall"

// detached takes a child out of the process group and the session of its parent.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
