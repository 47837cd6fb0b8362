//go:build unix

package driver

import (
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of a server, so that its children are ended with it, also behind a shell or npx.
type group struct{ pid int }

func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	return &group{}
}

func (g *group) attach(cmd *exec.Cmd) error {
	g.pid = cmd.Process.Pid
	return nil
}

func (g *group) terminate() { syscall.Kill(-g.pid, syscall.SIGTERM) }
func (g *group) kill()      { syscall.Kill(-g.pid, syscall.SIGKILL) }

func exitOf(state *os.ProcessState) Exit {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Status: -1, Signal: ws.Signal().String()}
	}
	return Exit{Status: state.ExitCode()}
}

// HasSIGTERM reports whether this system can ask a process to end.
const HasSIGTERM = true
