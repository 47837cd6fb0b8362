package load

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// usageOf returns what an ended process and those that it has waited for have used.
func usageOf(state *os.ProcessState) (u usage) {
	if state == nil {
		return u
	}
	u.cpu = state.UserTime() + state.SystemTime()
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.maxResident = r.Maxrss << 10 // it is in KiB
	}
	return u
}

// usageOfGroup returns what the running processes of a group have used. A process that ends meanwhile does not count.
func usageOfGroup(group int) (sum usage) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// The name of the program, in parentheses, may have any character. (proc_pid_stat(5))
		fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
		if len(fields) < 13 || string(fields[2]) != strconv.Itoa(group) {
			continue
		}
		for _, ticks := range fields[11:13] { // in user and in kernel mode
			n, _ := strconv.Atoi(string(ticks))
			sum.cpu += time.Duration(n) * time.Second / ticksPerSecond
		}
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		sum.maxResident += kilobytesIn(status, "VmHWM") << 10
		sum.resident += kilobytesIn(status, "VmRSS") << 10
	}
	return sum
}

// ticksPerSecond is USER_HZ, in which Linux tells times to programs.
const ticksPerSecond = 100

// kilobytesIn returns a figure of the file status of a process.
func kilobytesIn(status []byte, name string) (kb int64) {
	if at := bytes.Index(status, []byte("\n"+name+":")); at >= 0 {
		fmt.Sscan(string(status[at+len(name)+2:]), &kb)
	}
	return kb
}
