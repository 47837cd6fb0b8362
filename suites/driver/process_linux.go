package driver

import "syscall"

// endWithParent has the kernel kill the process when mcpcheck is killed and can end nothing itself. What the process
// has started meanwhile is left to the guard.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
