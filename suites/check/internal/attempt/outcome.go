package attempt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// NeedsSecondSession is the message of a check that a quick run over stdio does not try.
const NeedsSecondSession = "it takes another session than the one of a quick run"

// stop is the panic value with which a check ends itself.
type stop struct{ Outcome }

// Outcome is what one attempt at a check resulted in.
type Outcome struct {
	Verdict catalogue.Verdict
	// Level is that of a fail.
	Level catalogue.Level
	// Reason is why a skip or an inconclusive result has no verdict.
	Reason  report.Reason
	Message string
	Note    string
	// Findings are those of a fail that are shown.
	Findings []report.Finding
	// Truncated says that a fail has more findings than are shown.
	Truncated bool
	// OmittedFindings are the findings that are not shown.
	OmittedFindings []report.Finding
	Locations       []string
	Subjects        []string
	// Evidence is what proves the outcome; when it is empty, everything in the attempt's sessions does.
	Evidence Evidence
	// Lines are the evidence as reports show it.
	Lines []report.Line
	// DecidedBy is, for a fail, the call or round trip in which it was seen.
	DecidedBy []*driver.Frame
	// Ranges are, for a fail, the parts of the records until it was found.
	Ranges []RecordRange
	// Violations are, for a fail, what each finding rests on.
	Violations []Violation
	// ViolatedEntries are, for a fail, the ids of entries each of which is about exactly this violation.
	ViolatedEntries []string
	// YieldsTo are ids of causes in addition to those that the entry yields to.
	YieldsTo []string
	// NotJudged are, for a pass, the subjects that could not be judged because of another violation.
	NotJudged []string
	// UsedBy are, for each fail, the checks and steps that may have triggered it in the sessions where it was seen.
	UsedBy [][]string
	// Retryable says that a fresh session may decide what is inconclusive.
	Retryable bool
	// Unresponsive says that the outcome rests on a server that was silent or had exited.
	Unresponsive bool
	// OutOfTurn says that a quick run tries the case later.
	OutOfTurn bool
	// WaitsFor is a step that the attempt reads while another check runs it; nil when there is none.
	WaitsFor *Step
}

// IsPostponed reports whether the case is to be tried later.
func (o Outcome) IsPostponed() bool { return o.OutOfTurn || o.WaitsFor != nil }

// IsFinal reports whether the outcome needs no confirmation on a fresh session.
func (o Outcome) IsFinal() bool {
	return o.Verdict == catalogue.Pass || o.Verdict == catalogue.Skip || o.Verdict == catalogue.Inconclusive &&
		!o.Retryable
}

// End ends an attempt, or the part of it that runs in Try or TryPart, with an outcome.
func End(o Outcome) { panic(stop{o}) }

// NeedsLiveServer is the message of a check that a recording does not decide.
const NeedsLiveServer = "it needs a live server, and this is a recording"

// Try runs a check and returns how it ended.
func Try(run func()) (o Outcome) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case stop:
			o = e.Outcome
		case driver.NoServer:
			o = Outcome{Verdict: catalogue.Inconclusive, Reason: report.NotGiven, Message: NeedsLiveServer}
		default:
			o = Outcome{Verdict: catalogue.Error, Message: fmt.Sprintf("mcpcheck failed: %v\n%s", e, debug.Stack())}
		}
	}()
	run()
	return Outcome{Verdict: catalogue.Pass}
}

// TryPart runs a part of a check and returns its outcome. Other panics than those of End are not caught.
func TryPart(run func()) (o Outcome) {
	defer func() {
		if e := recover(); e != nil {
			s, ok := e.(stop)
			if !ok {
				panic(e)
			}
			o = s.Outcome
		}
	}()
	run()
	return Outcome{Verdict: catalogue.Pass}
}

// Interrupted returns the outcome of an attempt whose context has ended.
func Interrupted(ctx context.Context) Outcome {
	o := Outcome{Verdict: catalogue.Inconclusive, Reason: report.Interrupted, Message: "interrupted"}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		o.Message = cause.Error()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		o.Reason = report.Budget
	}
	return o
}
