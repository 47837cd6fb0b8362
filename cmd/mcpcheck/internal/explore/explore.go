package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Options say how a server is explored.
type Options struct {
	// Sequences is how many sequences are tried at most, and Time how long that goes on.
	Sequences int
	Time      time.Duration
	Seed      int64
	Calls     report.CallPolicy
	// Examples are arguments by tool that the operator says are valid and harmless.
	Examples map[string]check.M
	// StopAt ends the exploration once the requirement with this id has failed; empty does not.
	StopAt string
	// Judge says how the watches judge.
	Judge engine.Options
	// Found is called with each failure when it is confirmed and shrunk; may be nil.
	Found func(Script, report.Result)
}

// Outcome is what an exploration has found.
type Outcome struct {
	Results []report.Result
	// Sequences is how many sequences were tried.
	Sequences int
	// Problem is why the server could not be explored to the end; empty if it could.
	Problem string
}

// explorer explores a server in one revision.
type explorer struct {
	target driver.Target
	server *check.Server
	plan   []engine.Case
	// watches are the cases of the plan that judge what others have sent.
	watches []engine.Case
	o       Options
	moves   []move
	tools   map[string]*callableTool
	// toolNames are the names of the tools, in order.
	toolNames []string
	// results are the passes and failures of the watches, by id, and what failed and did not fail again.
	results map[string]report.Result
	// failedStarts is how many sequences in a row had no session, and startErr says why.
	failedStarts int
	startErr     error
	// end is when no more steps are drawn; zero is never.
	end time.Time
	// unserved says which requests have no result as the first of a session.
	unserved map[string]bool
}

var (
	errEnded = errors.New("the session has ended")
	errSlow  = errors.New("a tool took longer than the timeout")
)

func isReadOnly(tool check.M) bool { return report.IsReadOnly(tool) }

func newExplorer(t driver.Target, server *check.Server, plan []engine.Case, o Options) *explorer {
	x := &explorer{
		target: t, server: server, plan: plan, watches: engine.Watches(plan), o: o, results: map[string]report.Result{},
		unserved: map[string]bool{},
	}
	x.newTools()
	x.moves = x.newMoves()
	return x
}

// Run explores a server. Only the watches of the plan judge it.
func Run(ctx context.Context, t driver.Target, server *check.Server, plan []engine.Case, o Options) Outcome {
	x := newExplorer(t, server, plan, o)
	if o.Time > 0 {
		x.end = time.Now().Add(o.Time)
	}
	n := 0
	for n < o.Sequences && ctx.Err() == nil && x.failedStarts < maxFailedStarts && !x.isOver() {
		if n += x.try(ctx, n); x.results[o.StopAt].Verdict == catalogue.Fail {
			break
		}
	}
	out := x.outcome(n)
	if x.failedStarts == maxFailedStarts {
		out.Problem = "no session could be opened any more: " + check.ExplainAll(x.startErr).Error()
	}
	return out
}

// isOver reports whether the time for new steps is over.
func (x *explorer) isOver() bool { return !x.end.IsZero() && time.Now().After(x.end) }

// maxFailedStarts is how many sequences in a row may have no session.
const maxFailedStarts = 3

// outcome returns what is known after a number of sequences, in the order of the plan.
func (x *explorer) outcome(sequences int) Outcome {
	out := Outcome{Sequences: sequences}
	for _, c := range x.plan {
		if r, has := x.results[c.ID]; has {
			out.Results = append(out.Results, r)
		}
	}
	return out
}

// stdioSequences is how many sequences share a process, which takes long to start.
const stdioSequences = 5

// try draws a play, judges it, and looks into what fails. It returns how many sequences there were.
func (x *explorer) try(ctx context.Context, n int) (sequences int) {
	g := &generator{x: x, Rand: rand.New(rand.NewPCG(uint64(x.o.Seed), uint64(n)))}
	g.quiet, sequences = g.IntN(3) == 0, 1
	if x.target.Site == nil {
		sequences = min(stdioSequences, x.o.Sequences-n)
	}
	for range sequences {
		g.left += 4 + g.IntN(12)
	}
	p := x.play(ctx, g.next)
	if len(p.steps) > 0 || p.err == nil {
		x.failedStarts = 0
	} else {
		x.failedStarts++
		x.startErr = p.err
	}
	failed := x.judge(ctx, p)
	for _, id := range slices.SortedFunc(maps.Keys(failed), func(a, b string) int {
		return cmp.Or(cmp.Compare(failed[b].Level, failed[a].Level), cmp.Compare(a, b))
	}) {
		if x.results[id].Verdict != catalogue.Fail && ctx.Err() == nil {
			x.examine(ctx, id, p.steps, failed[id])
		}
	}
	return sequences
}

// judge judges a play, and returns what fails.
func (x *explorer) judge(ctx context.Context, p *play) map[string]report.Result {
	failed := map[string]report.Result{}
	results, _ := engine.JudgeRecorded(x.server, x.watches, p.judged(), x.o.Judge)
	for _, r := range append(results, x.judgeDeviations(ctx, p, results)...) {
		switch {
		case r.Verdict == catalogue.Fail:
			failed[r.ID] = r
		case r.Verdict == catalogue.Pass && x.results[r.ID].Verdict == "":
			x.results[r.ID] = r
		}
	}
	if len(wrongIDs(p)) > 0 {
		delete(failed, "jsonrpc/every-request-answered") // it has the same cause
	}
	return failed
}

// confirmations is how often a failure has to show again.
const confirmations = 2

// examine tries a script again that has failed a requirement, and shrinks it if it fails again.
func (x *explorer) examine(ctx context.Context, id string, steps []Step, first report.Result) {
	for range confirmations {
		if _, again := x.fails(ctx, steps)[id]; !again {
			x.results[id] = unrepeated(first)
			return
		}
	}
	steps, result, wire := x.shrink(ctx, id, steps, first)
	x.results[id] = result
	if x.o.Found != nil {
		x.o.Found(Script{
			Version: scriptVersion, Requirement: id, Revision: x.server.Revision, Seed: x.o.Seed,
			Steps: steps, Wire: wire,
		}, result)
	}
}

// unrepeated returns the result of a failure that did not show again.
func unrepeated(r report.Result) report.Result {
	r.Verdict, r.Reason, r.Gates, r.GatedBy = catalogue.Inconclusive, report.Undecided, false, catalogue.NoGate
	r.Message = "it failed once, and not again when the same was sent: " + r.Message
	r.Findings = nil
	return r
}

// fails plays a script and returns what fails.
func (x *explorer) fails(ctx context.Context, steps []Step) map[string]report.Result {
	return x.judge(ctx, x.play(ctx, replay(steps)))
}

// Replay sends a script again, and judges it as Run does.
func Replay(
	ctx context.Context, t driver.Target, server *check.Server, plan []engine.Case, o Options, script Script,
) (out Outcome) {
	x := newExplorer(t, server, plan, o)
	p := x.play(ctx, replay(script.Steps))
	failed := x.judge(ctx, p)
	maps.Copy(x.results, failed)
	out = x.outcome(1)
	if n := len(script.Steps) - len(p.steps); n > 0 && len(failed) == 0 {
		const why = "a tool may not be called (--calls), or a result has not what they refer to"
		out.Problem = fmt.Sprintf("%d of %d steps of the script could not be done: %s", n, len(script.Steps), why)
	}
	return out
}
