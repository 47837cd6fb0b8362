package kit

import (
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// ExitLimit is how long a process may take to end once it was asked to.
const ExitLimit = 5 * time.Second

// EndOfInput is how a server took the end of its stdin.
type EndOfInput struct {
	ByItself bool
	How      string // what it needed otherwise
	Took     time.Duration
	Exit     driver.Exit
	Output   Messages // written after the end of stdin
	Stderr   string   // written after the end of stdin
}

// AtEOF closes the stdin of a session that has served, and watches the end.
func AtEOF(t *T) EndOfInput {
	return Step(t, "end of stdin", func(t *T) (e EndOfInput) {
		s := LastSession(t)
		AskHarmless(t, s)
		before := strings.Join(s.StderrTail(), "\n")
		begin := time.Now()
		s.Stdio().CloseInput()
		if !t.Alone() { // most are gone at once; who is not has the whole time when it is confirmed
			if e.Exit, e.ByItself = s.Stdio().AwaitExit(ExitLimit / 5); !e.ByItself {
				NeedsConfirmation(t)
				t.Again("the process did not end soon after its stdin")
			}
		}
		e.Exit, e.ByItself = s.Stdio().AwaitExit(ExitLimit)
		e.Took = time.Since(begin)
		if !e.ByItself {
			e.How = "an end by SIGTERM only"
			s.Stdio().Terminate()
			if e.Exit, _ = s.Stdio().AwaitExit(ExitLimit); s.Alive() {
				e.How = "an end by SIGKILL only"
			}
		}
		e.Output = Wire{Sessions: []*driver.Session{s}}.LastLines()
		e.Stderr = strings.TrimPrefix(strings.Join(s.StderrTail(), "\n"), before)
		return e
	})
}
