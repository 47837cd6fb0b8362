package runner

import (
	"os"
	"os/signal"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/process"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestMain makes the program of these tests the guard of their runs, as mcpcheck guard is: a run starts its own program
// again with that command, which would else run all tests again.
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
