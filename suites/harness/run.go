package harness

import "github.com/mcpcheck/mcpcheck/suites/driver"

// Outcome is what a run came to beside its results.
type Outcome struct {
	Problem  string // why the run could not go on with this server; empty when it did
	Uncalled []UncalledTool
	Invalid  *InvalidInput
	Tools    []ToolUse // that were called
	Sessions []*driver.Session
}

// Tell tells each result, once, as soon as those that come before it are known, and waits for the end of the run. All
// results are told, also when the context has ended and a check has not: it is left behind.
func (e *Execution) Tell(tell func(Result)) Outcome {
	for _, i := range e.order() {
		tell(e.Result(i))
	}
	e.Wait()
	sessions := e.Sessions()
	return Outcome{e.Problem(), e.Uncalled(), e.InvalidInput(), UsedTools(e.server, sessions), sessions}
}
