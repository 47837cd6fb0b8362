//go:build unix && !linux

package driver

import (
	"os"
	"syscall"
)

// endWithParent does nothing: this system does not end a process with its parent.
func endWithParent(*syscall.SysProcAttr) {}

// usageOf returns nothing: systems differ in the unit.
func usageOf(*os.ProcessState) (none Usage) { return none }

// usageOfGroup returns nothing: the system does not tell it in one way.
func usageOfGroup(int) (none Usage) { return none }
