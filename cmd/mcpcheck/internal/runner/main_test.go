package runner

import (
	"os"
	"os/signal"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestMain lets the test binary be the guard of its runs, like mcpcheck guard: a run starts its own executable with
// that command, which would otherwise run all tests again.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == process.GuardCommand {
		signal.Ignore(process.TerminationSignals()...)
		if err := driver.RunGuard(os.Stdin); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}
