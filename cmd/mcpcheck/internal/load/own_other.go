//go:build !unix

package load

import "time"

// ownCPU is the CPU time that mcpcheck has used; 0 where the system does not tell.
func ownCPU() time.Duration { return 0 }
