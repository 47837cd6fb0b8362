//go:build unix && !linux

package main

import "syscall"

// besideUs puts the server into a group of its own, so that a signal reaches it once. When we are killed, its stdin
// ends.
func besideUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
