package harness

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// What does not block is confirmed in as few processes as it takes: hostile input last, in the one that has had clean
// input. What blocks has a process of its own.
func TestConfirmTogether(t *testing.T) {
	minor := func(method string, hostile, fails bool) Check {
		return Probe(func(t *T) {
			if !t.Alone() {
				NeedsConfirmation(t)
			}
			s := t.lend(hostile)
			if hostile {
				s.Hostile()
			}
			t.Try(s, method, nil)
			if fails || !t.Alone() {
				t.FailAt(Should, "this", "that")
			}
		})
	}
	blocks := Probe(func(t *T) {
		t.Try(t.Session(), "blocks", nil)
		NeedsConfirmation(t)
		t.Fail("this", "that")
	})
	opening := Fresh(func(t *T) {
		s := t.Start()
		s.Establish(driver.Hello(Newest))
		NeedsConfirmation(t)
		t.Try(s, "opening", nil)
		t.FailAt(Should, "this", "that")
	})
	tests := []struct {
		name      string
		script    script
		cast      []role
		confirmed string // what was sent to confirm, in the order of time, with the process
		processes int
	}{
		{
			"clean before hostile", nil,
			[]role{{id: "a/hostile", check: minor("hostile", true, true)},
				{id: "a/clean", check: minor("clean", false, true)},
				{id: "a/other", check: minor("other", false, false)}},
			"3 clean, 3 other, 3 hostile", 3,
		},
		{
			"what blocks has a process of its own", nil,
			[]role{{id: "a/blocks", check: blocks}, {id: "a/clean", check: minor("clean", false, true)}},
			"2 blocks, 3 clean", 3,
		},
		{
			"one that dies is replaced", script{{method: "clean", process: 3, does: dies}},
			[]role{{id: "a/clean", check: minor("clean", false, true)},
				{id: "a/other", check: minor("other", true, true)}},
			"3 clean, 4 other, 6 clean", 6, // 5 is the control before it is decided again
		},
		{
			"the process of another confirmation serves, too", nil,
			[]role{{id: "a/opening", check: opening}, {id: "a/clean", check: minor("clean", false, true)}},
			"2 opening, 2 clean", 2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := scene{script: tt.script, cast: tt.cast, options: Options{Jobs: 1}}.play(t)
			if got := strings.Join(out.repeated(), ", "); got != tt.confirmed || out.started != tt.processes {
				t.Errorf("got %s in %d processes, want %s in %d", got, out.started, tt.confirmed, tt.processes)
			}
		})
	}
}

// repeated is what was said more than once, but for what begins a session.
func (out played) repeated() (all []string) {
	said := map[string]bool{}
	for _, m := range out.heard {
		_, method, _ := strings.Cut(m, " ")
		if said[method] && !slices.Contains([]string{"initialize", "ping", "notifications/initialized"}, method) {
			all = append(all, m)
		}
		said[method] = true
	}
	return all
}
