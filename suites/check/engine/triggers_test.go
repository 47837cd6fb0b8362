package engine

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
)

// TestTriggeredBy checks that a failing watch names the checks that triggered it, except those that it would trigger
// itself.
func TestTriggeredBy(t *testing.T) {
	script := script{
		{method: "says", action: writes(`{"method":"notifications/a"}`)},
		{method: "refuses", action: answersError(-1)},
	}
	say := func(t *check.T) { t.Send(t.Session(), "says", nil) }
	shared := func(t *check.T) { check.Step(t, "a step", func(t *check.T) bool { say(t); return true }) }
	judge := func(of func(check.Wire) check.Messages) func(*check.T, check.Wire) {
		return func(t *check.T, w check.Wire) {
			t.Judge(of(w), func(t *check.T, _ check.Message) { t.Fail("none", "one") })
		}
	}
	asks := testCheck{id: "a/asks", check: check.Probe(func(t *check.T) { t.Send(t.Session(), "refuses", nil) })}
	for name, tt := range map[string]struct {
		cast []testCheck
		want []string
	}{
		"a request of another check": {
			[]testCheck{asks, {id: "a/watch", check: check.Watch(judge(check.Wire.Errors))}}, []string{"a/asks"},
		},
		"an unsolicited message": {
			[]testCheck{{id: "a/says", check: check.Probe(say)},
				{id: "a/watch", check: check.Watch(judge(check.Wire.Notifications))}},
			[]string{"a/says"},
		},
		"its own": {[]testCheck{{id: "a/watch", check: check.WatchWithSetup(say, judge(check.Wire.Notifications))}},
			nil},
		"a step of several checks": {
			[]testCheck{
				{id: "a/other", check: check.Probe(shared)},
				{id: "a/watch", check: check.WatchWithSetup(shared, judge(check.Wire.Notifications))},
			},
			nil,
		},
		"a step of other checks": {
			[]testCheck{{id: "a/one", check: check.Probe(shared)},
				{id: "a/watch", check: check.Watch(judge(check.Wire.Notifications))}},
			[]string{"a/one"},
		},
		"the handshake": {[]testCheck{asks, {id: "a/watch", check: check.Watch(judge(check.Wire.Results))}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out := testRun{script: script, checks: tt.cast}.run(t)
			out.wantVerdict(t, "a/watch", catalogue.Fail, "")
			if got := out.results["a/watch"].TriggeredBy; !slices.Equal(got, tt.want) {
				t.Errorf("triggered by %v, want %v", got, tt.want)
			}
		})
	}
}

// TestTriggeredByWholeRun checks that a fail which only the session of a health check shows is triggered by the whole
// run, unless another fail has fewer triggers.
func TestTriggeredByWholeRun(t *testing.T) {
	for _, tt := range []struct {
		fails [][]string
		want  []string
	}{
		{[][]string{{healthCheckUser}}, []string{WholeRun}},
		{[][]string{{"a/probe", healthCheckUser}}, []string{WholeRun}},
		{[][]string{{healthCheckUser}, {"a/probe", "b/probe"}}, []string{"a/probe", "b/probe"}},
		{[][]string{{"a/probe", "b/probe"}, {healthCheckUser}}, []string{"a/probe", "b/probe"}},
	} {
		e := &Execution{run: &attempt.Run{}}
		if got := e.triggers("a/watch", tt.fails); !slices.Equal(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.fails, got, tt.want)
		}
	}
}
