package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// canListProcesses reports whether this system shows the environment of processes.
const canListProcesses = true

// processesWith are those that have a variable in their environment.
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

// peakMemory is the most memory that this process has had, in bytes. What the system says of ended processes is no good
// here: it counts what they were started from.
func peakMemory() (bytes int) {
	status, _ := os.ReadFile("/proc/self/status")
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Sscan(after, &bytes)
	return bytes << 10
}
