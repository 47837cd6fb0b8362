package handshake

import (
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// ExitTimeout is how long a process may take to end once it was asked to.
const ExitTimeout = 5 * time.Second

// CloseStdinResult is how a server took the end of its stdin.
type CloseStdinResult struct {
	ExitedByItself bool
	ForcedBy       string // what it needed otherwise
	Duration       time.Duration
	Exit           driver.Exit
	Output         check.Messages // written after the end of stdin
	Stderr         string         // written after the end of stdin
}

// CloseStdin closes the stdin of a session that has served, and watches the end.
func CloseStdin(t *check.T) CloseStdinResult {
	return check.Step(t, "end of stdin", func(t *check.T) (e CloseStdinResult) {
		s := check.SessionToEnd(t)
		check.RequestNoOp(t, s)
		before := strings.Join(s.StderrTail(), "\n")
		begin := time.Now()
		s.Stdio().CloseStdin()
		if !t.IsConfirmation() { // most are gone at once; who is not has the whole time when it is confirmed
			if e.Exit, e.ExitedByItself = s.Stdio().AwaitExit(ExitTimeout / 5); !e.ExitedByItself {
				check.NeedsConfirmation(t)
				t.Retry("the process did not end soon after its stdin")
			}
		}
		e.Exit, e.ExitedByItself = s.Stdio().AwaitExit(ExitTimeout)
		e.Duration = time.Since(begin)
		if !e.ExitedByItself {
			e.ForcedBy = "an end by SIGTERM only"
			s.Stdio().Terminate()
			if e.Exit, _ = s.Stdio().AwaitExit(ExitTimeout); s.IsAlive() {
				e.ForcedBy = "an end by SIGKILL only"
			}
		}
		e.Output = check.Wire{Sessions: []*driver.Session{s}}.ShutdownLines()
		e.Stderr = strings.TrimPrefix(strings.Join(s.StderrTail(), "\n"), before)
		return e
	})
}
