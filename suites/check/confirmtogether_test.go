package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// What does not block is confirmed in as few processes as it takes: hostile input last, in the one that has had clean
// input. What blocks has a process of its own.
func TestConfirmTogether(t *testing.T) {
	minor := func(method string, hostile, fails bool) Check {
		return Probe(func(t *T) {
			if !t.IsConfirmation() {
				NeedsConfirmation(t)
			}
			s := t.pooledSession(hostile)
			if hostile {
				s.MarkInvalidInput()
			}
			t.TryRequest(s, method, nil)
			if fails || !t.IsConfirmation() {
				t.FailAt(catalogue.Should, "this", "that")
			}
		})
	}
	blocks := Probe(func(t *T) {
		t.TryRequest(t.Session(), "blocks", nil)
		NeedsConfirmation(t)
		t.Fail("this", "that")
	})
	opening := ProcessProbe(func(t *T) {
		s := t.NewProcess()
		s.Open(driver.ConnectParams(catalogue.NewestLegacy))
		NeedsConfirmation(t)
		t.TryRequest(s, "opening", nil)
		t.FailAt(catalogue.Should, "this", "that")
	})
	tests := []struct {
		name      string
		script    script
		cast      []testCheck
		confirmed string // what was sent to confirm, in the order of time, with the process
		processes int
	}{
		{
			"clean before hostile", nil,
			[]testCheck{{id: "a/hostile", check: minor("hostile", true, true)},
				{id: "a/clean", check: minor("clean", false, true)},
				{id: "a/other", check: minor("other", false, false)}},
			"3 clean, 3 other, 3 hostile", 3,
		},
		{
			"what blocks has a process of its own", nil,
			[]testCheck{{id: "a/blocks", check: blocks}, {id: "a/clean", check: minor("clean", false, true)}},
			"2 blocks, 3 clean", 3,
		},
		{
			"one that dies is replaced", script{{method: "clean", process: 3, action: exits}},
			[]testCheck{{id: "a/clean", check: minor("clean", false, true)},
				{id: "a/other", check: minor("other", true, true)}},
			"3 clean, 4 other, 6 clean", 6, // 5 is the control before it is decided again
		},
		{
			"the process of another confirmation serves, too", nil,
			[]testCheck{{id: "a/opening", check: opening}, {id: "a/clean", check: minor("clean", false, true)}},
			"2 opening, 2 clean", 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{script: tt.script, checks: tt.cast, options: Options{Jobs: 1}}.run(t)
			if got := strings.Join(out.repeatedRequests(), ", "); got != tt.confirmed || out.started != tt.processes {
				t.Errorf("got %s in %d processes, want %s in %d", got, out.started, tt.confirmed, tt.processes)
			}
		})
	}
}

// repeatedRequests is what was said more than once, but for what begins a session.
func (out testResult) repeatedRequests() (all []string) {
	said := map[string]bool{}
	for _, m := range out.received {
		_, method, _ := strings.Cut(m, " ")
		if said[method] && !slices.Contains([]string{"initialize", "ping", "notifications/initialized"}, method) {
			all = append(all, m)
		}
		said[method] = true
	}
	return all
}
