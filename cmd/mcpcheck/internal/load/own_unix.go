//go:build unix

package load

import (
	"syscall"
	"time"
)

// ownCPU is the CPU time that mcpcheck has used; 0 where the system does not tell.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
