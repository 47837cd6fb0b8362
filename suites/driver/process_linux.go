package driver

import (
	"os"
	"syscall"
)

// endWithParent makes the kernel kill the process when mcpcheck is killed and cannot do it itself. The guard kills the
// processes that it has started.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// usageOf returns what an ended process and those that it has waited for have used.
func usageOf(state *os.ProcessState) (u Usage) {
	if state == nil {
		return u
	}
	u.CPU = state.UserTime() + state.SystemTime()
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.MaxResident = r.Maxrss << 10 // it is in KiB
	}
	return u
}
