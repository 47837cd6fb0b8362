//go:build unix

package main

import "syscall"

// detachedProcAttr puts a child into a process group and a session of its own.
func detachedProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
