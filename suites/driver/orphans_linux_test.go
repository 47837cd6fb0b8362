package driver

import (
	"crypto/rand"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestKillMarkedDuringExec checks that processes are also found while they execute another program and have no
// environment.
func TestKillMarkedDuringExec(t *testing.T) {
	const rounds, each = 20, 20
	const timeout = time.Minute // reached only if the test fails
	for range rounds {
		own, ended := "MCPCHECK_RUN="+rand.Text(), make(chan error)
		for range each {
			cmd := exec.Command("sh", "-c", `exec sh -c "exec sh -c 'exec sleep 1000'"`)
			cmd.Env = append(os.Environ(), own)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			go func() { ended <- cmd.Wait() }()
		}
		killMarked(own)
		late := time.After(timeout)
		for range each {
			select {
			case <-ended:
			case <-late:
				t.Fatal("a process is left")
			}
		}
	}
}
