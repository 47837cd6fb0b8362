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

// killMarked kills all processes but this one that have the marker in their environment. It repeats until it finds no
// new ones, at most 200 times, because they may start others meanwhile.
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
	// buf is reused for each environment.
	buf []byte
	// hadNone holds the processes with arguments that had no environment.
	hadNone map[int]bool
}

// maxEnvironBytes is the limit of arguments and environment together (execve(2)).
const maxEnvironBytes = 6 << 20

// environment returns the environment of a process, which is valid until the next call. While a process executes
// another program its environment cannot be read (environ_read in fs/proc/base.c of Linux): it has neither environment
// nor arguments then, and seen is false. A process with arguments and without an environment counts as seen the second
// time.
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

// read reads a file with one call: after the process has executed another program, a second read would report the end
// of the environment.
func (l environReader) read(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, _ := file.Read(l.buf)
	return l.buf[:n], nil
}

// StartGuard starts a process that kills the orphans of this run if this process ends without calling dismiss, for
// example because it was killed. The guard is this program with args, and has to call RunGuard. It has its own process
// group, so that it survives signals to the group of this process. If it cannot be started, the kernel still ends the
// direct children of this process.
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
