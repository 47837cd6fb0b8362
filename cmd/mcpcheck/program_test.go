package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReportMatchesSchema validates JSON reports of runs with every exit code against the published schema; with -whole
// those of runs of all checks, which are longer.
func TestReportMatchesSchema(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code int
		only string
		args []string
	}{
		"conforms":   {0, "tools,discover", []string{"--demo"}},
		"fails":      {1, "ping", []string{"--", "mcpcheck", "serve", "--fault", "ping/empty-result"}},
		"no session": {1, "lifecycle/initialize-succeeds,ping", []string{"--", "badserver", "refuse"}},
		"untestable": {3, "", []string{"--", "badserver", "exit-3"}},
		"no such":    {3, "", []string{"--protocol", "2025-06-18", "--", "badserver", "old"}},
		"all":        {0, "ping", []string{"--protocol", "all", "--demo"}},
		"garbage":    {1, "stdio/stdout-only-messages,ping", []string{"--", "badserver", "garbage"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat([]string{"run", "-q", "--json", "-"}, onlyFlags(test.only), test.args)
			cmd := exec.CommandContext(t.Context(), "mcpcheck", args...)
			content, _ := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if err := validateReport(content); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestProcessesWith proves that the scripts would find a process that a run has left.
func TestProcessesWith(t *testing.T) {
	if !canListProcesses {
		t.Skip("this system does not show the environment of processes")
	}
	t.Parallel()
	own := markVariable + "=" + t.Name()
	cmd := exec.Command("badserver", "hold")
	cmd.Env = append(os.Environ(), own)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	found := strings.Join(processesWith(own), "\n")
	deadline := time.Now().Add(waitTimeout)
	for !strings.Contains(found, "badserver hold") && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
		found = strings.Join(processesWith(own), "\n")
	}
	cmd.Process.Kill()
	cmd.Wait()
	if !strings.Contains(found, "badserver hold") {
		t.Errorf("processes = %q, want the one that was started", found)
	}
	if left := processesWith(own); len(left) > 0 {
		t.Errorf("processes = %q after its end", left)
	}
}
