package check

import (
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// RunOutcome is what a run reports besides the results of its cases.
type RunOutcome struct {
	// Problem says why the run could not go on with this server; it is empty when the run did.
	Problem       string
	UncalledTools []report.UncalledTool
	InvalidCalls  *report.InvalidCallCounts
	CalledTools   []report.ToolUse
	Sessions      []*driver.Session
}

// Result waits for the result of the i-th case of the plan and returns it. A failure that an SDK may have caused is
// complete only when the run is over, so Result waits for that as well.
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

// EachResult calls visit once with each result, as soon as the results before it are known, and waits for the end of
// the run. It visits every result, also when the context has ended and a check has not returned: such a check is
// abandoned.
func (e *Execution) EachResult(visit func(report.Result)) RunOutcome {
	for _, i := range e.resultOrder() {
		visit(e.Result(i))
	}
	e.Wait()
	sessions := e.Sessions()
	return RunOutcome{e.Problem(), e.UncalledTools(), e.InvalidCallCounts(), UsedTools(e.server, sessions), sessions}
}
