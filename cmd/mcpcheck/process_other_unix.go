//go:build unix && !linux

package main

import "syscall"

// childProcAttr puts the server into a group of its own, so that a signal reaches it once. When we are killed, its
// stdin ends.
func childProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
