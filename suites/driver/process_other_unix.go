//go:build unix && !linux

package driver

import "syscall"

// endWithParent does nothing: this system tells no process of the death of its parent.
func endWithParent(*syscall.SysProcAttr) {}
