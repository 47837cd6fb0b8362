package handshake

import (
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// CloseStdinResult is how a server reacted to the end of its stdin.
type CloseStdinResult struct {
	// ExitedByItself reports whether it exited within timing.Exit.
	ExitedByItself bool
	// ForcedBy says which signal ended it otherwise.
	ForcedBy string
	Duration time.Duration
	// Exit is how the process exited.
	Exit driver.Exit
	// Output are lines that it wrote to stdout after the end of stdin.
	Output check.Messages
	// Stderr is what it wrote to stderr after the end of stdin.
	Stderr string
}

// InFlightAtEOF is how many further requests are sent before the end of stdin. A server that leaves requests unanswered
// then may answer a few of them in time, but hardly all of so many. Of a slow server, they are fewer.
func InFlightAtEOF(t *check.T) int {
	const most = 50
	if t.Server.Latency == 0 {
		return most
	}
	return max(1, min(most, int(timing.EachMethod/t.Server.Latency)))
}

// CloseStdin closes the stdin of a session that serves, and observes the exit.
func CloseStdin(t *check.T) CloseStdinResult {
	return check.Step(t, "end of stdin", func(t *check.T) (e CloseStdinResult) {
		s := t.Session(check.ToEnd)
		subscribe(t, s)
		check.RequestNoOp(t, s)
		before := strings.Join(s.StderrTail(), "\n")
		begin := time.Now()
		s.Stdio().CloseStdin()
		if !t.IsConfirmation() { // most exit at once; others get the whole time in the confirmation
			if e.Exit, e.ExitedByItself = s.Stdio().AwaitExit(timing.Exit / 5); !e.ExitedByItself {
				check.NeedsConfirmation(t)
				t.Retry(check.Undecided, "the process did not end soon after its stdin")
			}
		}
		e.Exit, e.ExitedByItself = s.Stdio().AwaitExit(timing.Exit)
		e.Duration = time.Since(begin)
		if !e.ExitedByItself {
			e.ForcedBy = "an end by SIGTERM only"
			s.Stdio().Terminate()
			if e.Exit, _ = s.Stdio().AwaitExit(timing.Exit); s.IsAlive() {
				e.ForcedBy = "an end by SIGKILL only"
			}
		}
		e.Output = check.Wire{Sessions: []*driver.Session{s}}.ShutdownLines()
		e.Stderr = strings.TrimPrefix(strings.Join(s.StderrTail(), "\n"), before)
		return e
	})
}

// subscribe subscribes to what the server announces, as far as it declares any: a subscription must not keep a process.
func subscribe(t *check.T, s *driver.Session) {
	wanted := check.M{}
	for family, member := range map[string]string{
		"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged",
	} {
		if capability, _ := s.Capabilities[family].(check.M); capability["listChanged"] == true {
			wanted[member] = true
		}
	}
	capability, _ := s.Capabilities["resources"].(check.M)
	uri := ""
	if len(t.Server.Resources) > 0 && capability["subscribe"] == true {
		uri, _ = t.Server.Resources[0]["uri"].(string)
	}
	switch {
	case t.IsModern() && len(wanted) > 0:
		s.Request("subscriptions/listen", check.M{"notifications": wanted})
	case !t.IsModern() && uri != "":
		s.AwaitFirst(s.Request("resources/subscribe", check.M{"uri": uri}))
	}
}
