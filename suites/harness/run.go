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

// Result waits for the result of the case at that place of the plan. Of a failure that may come from an SDK it is known
// when the run is over.
func (e *Execution) Result(i int) Result {
	r := e.inView(i)
	r.Yields = nil
	if r.Deviations != nil {
		<-e.over
	}
	return e.withSDK(r)
}

// gate decides whether a result counts against the exit code.
func (e *Execution) gate(c Case, r *Result) {
	r.GatedBy = e.options.Profile.Gate(r.Verdict, r.Level, r.Entry, c.Checklist, len(c.Asked) > 0)
	r.Gates, r.Asked = r.GatedBy != NoGate, nil
	if r.GatedBy == GateDirectory {
		r.Asked = c.Asked
	}
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
