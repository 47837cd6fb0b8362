package check

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// RunOutcome is what a run came to beside its results.
type RunOutcome struct {
	Problem       string // why the run could not go on with this server; empty when it did
	UncalledTools []report.UncalledTool
	InvalidCalls  *report.InvalidCallCounts
	CalledTools   []report.ToolUse // that were called
	Sessions      []*driver.Session
}

// Result waits for the result of the case at that place of the plan. Of a failure that may come from an SDK it is known
// when the run is over.
func (e *Execution) Result(i int) report.Result {
	r := e.resultWithCauses(i)
	if r.Deviations != nil {
		<-e.finished
	}
	return e.withSDK(r)
}

// setGate decides whether a result counts against the exit code.
func (e *Execution) setGate(c Case, r *report.Result) {
	r.GatedBy = e.options.Profile.Gate(r.Verdict, r.Level, r.EntryLevel, c.Checklist, len(c.DirectoryRules) > 0)
	r.Gates, r.DirectoryRules = r.GatedBy != catalogue.NoGate, nil
	if r.GatedBy == catalogue.GateDirectory {
		r.DirectoryRules = c.DirectoryRules
	}
}

// EachResult tells each result, once, as soon as those that come before it are known, and waits for the end of the run.
// All results are told, also when the context has ended and a check has not: it is left behind.
func (e *Execution) EachResult(tell func(report.Result)) RunOutcome {
	for _, i := range e.resultOrder() {
		tell(e.Result(i))
	}
	e.Wait()
	sessions := e.Sessions()
	return RunOutcome{e.Problem(), e.UncalledTools(), e.InvalidCallCounts(), UsedTools(e.server, sessions), sessions}
}
