package load

import (
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// usage is what a process has used. All is 0 where the system does not tell.
type usage struct {
	// maxResident is the most memory that was resident at a time, in bytes.
	maxResident int64
	cpu         time.Duration
	// resident is the memory that is resident now; 0 for a process that has ended.
	resident int64
}

// usageOfSite is what the process of the site and those of its group have used until now; zero where this run has not
// started the process, also for a nil Site.
func usageOfSite(site *driver.Site) (none usage) {
	if pid := site.ProcessID(); pid != 0 {
		return usageOfGroup(pid)
	}
	return none
}

// since returns the usage with the CPU time since an earlier one.
func (u usage) since(before usage) usage {
	u.cpu -= before.cpu
	return u
}
