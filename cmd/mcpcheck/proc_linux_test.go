package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// canListProcesses reports whether this system shows the environment of processes.
const canListProcesses = true

// processesWith returns the processes that have a variable in their environment.
func processesWith(variable string) (found []string) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		dir := "/proc/" + entry.Name()
		environ, err := os.ReadFile(dir + "/environ")
		if err != nil || !bytes.Contains(environ, []byte(variable)) {
			continue
		}
		command, _ := os.ReadFile(dir + "/cmdline")
		found = append(found, entry.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
	}
	return found
}

// peakMemory returns the peak memory of this process in bytes. What wait reports for an ended process is useless here:
// it includes the memory of the process that forked it.
func peakMemory() (bytes int) {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Sscan(after, &bytes)
	return bytes << 10
}
