//go:build unix && !linux

package driver

import "syscall"

// endWithParent does nothing: this system does not end a process with its parent.
func endWithParent(*syscall.SysProcAttr) {}
