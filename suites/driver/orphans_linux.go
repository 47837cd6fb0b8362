package driver

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// killMarked kills all processes but this one that have the cookie in their environment. It looks until it finds
// nothing new, a bounded number of times: what they start meanwhile is found by the next look.
func killMarked(cookie string) {
	const most = 200
	killed, l := map[int]bool{}, environReader{make([]byte, maxEnvironBytes), map[int]bool{}}
	for range most {
		before, all := len(killed), true
		for _, pid := range otherPIDs() {
			environ, seen := l.environment(pid)
			all = all && seen
			if bytes.Contains(environ, []byte(cookie)) && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed[pid] = true
			}
		}
		switch {
		case len(killed) > before:
		case all:
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// otherPIDs are the processes beside this one.
func otherPIDs() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// environReader reads the environments of processes.
type environReader struct {
	buf     []byte       // where one is read to
	hadNone map[int]bool // the processes with arguments that had none
}

// maxEnvironBytes is the limit on arguments and environment together, execve(2).
const maxEnvironBytes = 6 << 20

// environment is that of a process, until the next is read. It cannot be seen for the moment in which another program
// takes the place of what the process ran before (environ_read in fs/proc/base.c of Linux): then a process that lives
// has none, and no arguments either. One with arguments that was bare before has none for good.
func (l environReader) environment(pid int) (environ []byte, seen bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	environ, err := l.read(dir + "/environ")
	if err != nil || len(environ) > 0 {
		return environ, true
	}
	if _, err := os.Readlink(dir + "/exe"); err != nil {
		return nil, true // a thread of the kernel, or it has ended
	}
	if arguments, err := os.ReadFile(dir + "/cmdline"); err != nil || len(arguments) == 0 {
		return nil, false
	}
	before := l.hadNone[pid]
	l.hadNone[pid] = true
	return nil, before
}

// read reads a file at once: a second read of an environment says that it ends there, when another program has taken
// the place of the process's meanwhile.
func (l environReader) read(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, _ := file.Read(l.buf)
	return l.buf[:n], nil
}

// StartGuard has a process beside this one sweep when this one ends before it dismisses the guard: one that is killed
// can end nothing itself. The process is this program with those arguments, which calls RunGuard. It has a process
// group of its own, so that it outlives what is sent to all of this one. Without a guard, where none can be started,
// the kernel still ends what this process itself has started.
func StartGuard(args ...string) (dismiss func()) {
	guard := exec.Command("/proc/self/exe", args...)
	guard.Args[0] = os.Args[0]
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ends, err := guard.StdinPipe()
	if err != nil || guard.Start() != nil {
		return func() {}
	}
	io.WriteString(ends, runMarker)
	return func() {
		guard.Process.Kill()
		guard.Wait()
	}
}
