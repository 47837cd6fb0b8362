package engine

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
)

// resultOrder returns the indexes of the cases in the order in which they are likely to get their results.
func (e *Execution) resultOrder() (cases []int) {
	for _, k := range []attempt.Kind{
		attempt.ProcessProbe, attempt.Probe, attempt.ShutdownProbe, attempt.RestartProbe, attempt.Watch,
	} {
		cases = append(cases, e.casesOf(k)...)
	}
	return cases
}

func (e *Execution) casesOf(k attempt.Kind) (cases []int) {
	for i, c := range e.plan {
		if c.script.Kind == k {
			cases = append(cases, i)
		}
	}
	return cases
}

// probeOrder returns the cases that wait for late messages, and the others that send requests, in the order in which
// they start. Those that need a process of their own start early, before all others the one whose process others
// wait for. Most of those that call tools start late, since they wait until one of them has called all tools.
func (e *Execution) probeOrder() (waiting, inOrder []int) {
	early := e.casesOf(attempt.ProcessProbe)
	if i := slices.IndexFunc(early, func(i int) bool { return e.plan[i].isReusedForInvalidInput() }); i > 0 {
		early = slices.Concat(early[i:i+1], early[:i], early[i+1:])
	}
	var first, valid, invalid, others []int
	for _, i := range slices.Concat(e.watchesWithSetup(), e.casesOf(attempt.Probe)) {
		switch safety := e.plan[i].Safety; {
		case e.plan[i].script.StartsFirst:
			waiting = append(waiting, i)
		case safety == "calls-tool-valid" && first == nil:
			first = []int{i}
		case safety == "calls-tool-valid":
			valid = append(valid, i)
		case safety == "calls-tool-invalid":
			invalid = append(invalid, i)
		default:
			others = append(others, i)
		}
	}
	return waiting, slices.Concat(interleave(early, slices.Concat(first, others)), invalid, valid)
}

// startsFirst reports whether the check with this id waits for late messages.
func (e *Execution) startsFirst(id string) bool {
	i := e.indexOf(id)
	return i >= 0 && e.plan[i].script.StartsFirst
}

// watchesWithSetup returns the watches with a setup that can run. A server that refuses the handshake is judged by what
// it has sent then, since nothing more can be obtained.
func (e *Execution) watchesWithSetup() (cases []int) {
	for _, i := range e.casesOf(attempt.Watch) {
		if e.plan[i].script.Setup != nil && e.server.Failure == "" {
			cases = append(cases, i)
		}
	}
	return cases
}

func interleave(a, b []int) (all []int) {
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			all = append(all, a[i])
		}
		if i < len(b) {
			all = append(all, b[i])
		}
	}
	return all
}
