package driver

import "syscall"

// endWithParent makes the kernel kill the process when mcpcheck is killed and cannot do it itself. The guard kills the
// processes that it has started.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
