package driver

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// sweep kills all processes but this one that have the cookie in their environment. What they start meanwhile is found
// when it looks again, which it does a few times at most.
func sweep(cookie string) {
	const most = 5
	killed := map[int]bool{}
	for range most {
		before := len(killed)
		entries, _ := os.ReadDir("/proc")
		for _, entry := range entries {
			pid, err := strconv.Atoi(entry.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			environ, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
			if err == nil && bytes.Contains(environ, []byte(cookie)) && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed[pid] = true
			}
		}
		if len(killed) == before {
			return
		}
	}
}

// Guard has a process beside this one sweep when this one ends before it dismisses the guard: one that is killed can
// end nothing itself. The process is this program with those arguments, which calls StandGuard. It has a process group
// of its own, so that it outlives what is sent to all of this one. Without a guard, where none can be started, the
// kernel still ends what this process itself has started.
func Guard(args ...string) (dismiss func()) {
	guard := exec.Command("/proc/self/exe", args...)
	guard.Args[0] = os.Args[0]
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ends, err := guard.StdinPipe()
	if err != nil || guard.Start() != nil {
		return func() {}
	}
	io.WriteString(ends, cookie)
	return func() {
		guard.Process.Kill()
		guard.Wait()
	}
}
