//go:build unix && !linux

package process

import "syscall"

// Attr puts the server into a group of its own, so that a signal reaches it once. When we are killed, its
// stdin ends.
func Attr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
