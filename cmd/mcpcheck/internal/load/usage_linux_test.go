package load

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestUsageOfGroup checks that the memory of a running process is read by its group, and that there is none of a group
// without processes.
func TestUsageOfGroup(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	u := usageOfGroup(cmd.Process.Pid)
	cmd.Process.Kill()
	cmd.Wait()
	if u.resident <= 0 || u.maxResident < u.resident {
		t.Errorf("got %+v", u)
	}
	if u := usageOfGroup(cmd.Process.Pid); u != (usage{}) {
		t.Errorf("a group that has ended has %+v", u)
	}
	if u := usageOfGroup(syscall.Getpgrp()); u.maxResident == 0 || u.cpu == 0 {
		t.Errorf("the group of process %d has %+v", os.Getpid(), u)
	}
	if u := usageOfSite(nil); u != (usage{}) {
		t.Errorf("a server over stdio has %+v", u)
	}
}
