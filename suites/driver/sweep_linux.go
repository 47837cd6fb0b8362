package driver

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// Sweep kills what servers of this run have left behind outside of their process groups, such as daemons that called
// setsid. They are known by a variable in their environment. It returns how many it killed.
func Sweep() (killed int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err == nil && bytes.Contains(environ, []byte(cookie)) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}
