package driver

import (
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is the job object of a server, so that its children are ended with it.
type group struct{ job windows.Handle }

func newGroup(cmd *exec.Cmd) *group {
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	return &group{}
}

func (g *group) attach(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return err
	}
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	process, err := windows.OpenProcess(access, false, uint32(cmd.Process.Pid))
	if err != nil {
		windows.CloseHandle(job)
		return err
	}
	defer windows.CloseHandle(process)
	g.job = job
	return windows.AssignProcessToJobObject(job, process)
}

// terminate does nothing: Windows has no SIGTERM.
func (g *group) terminate() {}

func (g *group) kill() { windows.TerminateJobObject(g.job, 1) }

func exitOf(state *os.ProcessState) Exit { return Exit{Status: state.ExitCode()} }

// HasSIGTERM reports whether this system can ask a process to end.
const HasSIGTERM = false
