package driver

import (
	"crypto/rand"
	"os"
	"os/exec"
	"testing"
	"time"
)

// What is swept is found also while one program takes the place of another, and a process has no environment.
func TestKillMarkedDuringExec(t *testing.T) {
	const rounds, each = 20, 20
	const patience = time.Minute // only a test that fails takes as long
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
		late := time.After(patience)
		for range each {
			select {
			case <-ended:
			case <-late:
				t.Fatal("a process is left")
			}
		}
	}
}
