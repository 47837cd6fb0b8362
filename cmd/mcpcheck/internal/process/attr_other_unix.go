//go:build unix && !linux

package process

import "syscall"

// Attr puts a server into a process group of its own, so that a signal reaches it once. When mcpcheck is killed, the
// server's stdin ends.
func Attr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
