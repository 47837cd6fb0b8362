package check

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestTriggeredBy checks that a failing watch names the checks that triggered it, except those that it would trigger
// itself.
func TestTriggeredBy(t *testing.T) {
	script := script{
		{method: "says", action: writes(`{"method":"notifications/a"}`)},
		{method: "refuses", action: answersError(-1)},
	}
	say := func(t *T) { t.Send(t.Session(), "says", nil) }
	shared := func(t *T) { Step(t, "a step", func(t *T) bool { say(t); return true }) }
	judge := func(of func(Wire) Messages) func(*T, Wire) {
		return func(t *T, w Wire) { t.Judge(of(w), func(t *T, _ Message) { t.Fail("none", "one") }) }
	}
	asks := testCheck{id: "a/asks", check: Probe(func(t *T) { t.Send(t.Session(), "refuses", nil) })}
	for name, tt := range map[string]struct {
		cast []testCheck
		want []string
	}{
		"a request of another check": {
			[]testCheck{asks, {id: "a/watch", check: Watch(judge(Wire.Errors))}}, []string{"a/asks"},
		},
		"an unsolicited message": {
			[]testCheck{{id: "a/says", check: Probe(say)}, {id: "a/watch", check: Watch(judge(Wire.Notifications))}},
			[]string{"a/says"},
		},
		"its own": {[]testCheck{{id: "a/watch", check: WatchWithSetup(say, judge(Wire.Notifications))}}, nil},
		"a step of several checks": {
			[]testCheck{
				{id: "a/other", check: Probe(shared)},
				{id: "a/watch", check: WatchWithSetup(shared, judge(Wire.Notifications))},
			},
			nil,
		},
		"a step of other checks": {
			[]testCheck{{id: "a/one", check: Probe(shared)}, {id: "a/watch", check: Watch(judge(Wire.Notifications))}},
			[]string{"a/one"},
		},
		"the handshake": {[]testCheck{asks, {id: "a/watch", check: Watch(judge(Wire.Results))}}, nil},
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
		if got := new(Execution).triggers("a/watch", tt.fails); !slices.Equal(got, tt.want) {
			t.Errorf("%v: got %v, want %v", tt.fails, got, tt.want)
		}
	}
}
