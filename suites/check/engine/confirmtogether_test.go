package engine

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestConfirmTogether checks that outcomes that do not block are confirmed in as few processes as possible, invalid
// input last and in the process of valid input, after those that block, each in a process that was not used before.
func TestConfirmTogether(t *testing.T) {
	minor := func(method string, invalidInput, fails bool) check.Check {
		return check.Probe(func(t *check.T) {
			if !t.IsConfirmation() {
				check.NeedsConfirmation(t)
			}
			var options []check.SessionOption
			if invalidInput {
				options = append(options, check.ForInvalidInput)
			}
			s := t.Session(options...)
			t.Send(s, method, nil, check.AllowSilence)
			if fails || !t.IsConfirmation() {
				t.FailAt(catalogue.Should, "this", "that")
			}
		})
	}
	blocks := check.Probe(func(t *check.T) {
		t.Send(t.Session(), "blocks", nil, check.AllowSilence)
		check.NeedsConfirmation(t)
		t.Fail("this", "that")
	})
	opening := check.ProcessProbe(func(t *check.T) {
		s := t.Session(check.Process)
		s.Open(driver.ConnectParams(catalogue.NewestLegacy))
		check.NeedsConfirmation(t)
		t.Send(s, "opening", nil, check.AllowSilence)
		t.FailAt(catalogue.Should, "this", "that")
	})
	deviates := testCheck{id: "a/blocks", check: blocks, sdks: []catalogue.Deviation{{SDK: "one",
		Got: catalogue.Pattern{Regexp: regexp.MustCompile("that")}}}}
	sdk := []catalogue.SDK{{ID: "one",
		Errors: []catalogue.ErrorPatterns{{{Regexp: regexp.MustCompile(`"message":"no"`)}}}}}
	tests := []struct {
		name   string
		script script
		cast   []testCheck
		// confirmed is what was sent to confirm, in order, with the process.
		confirmed string
		processes int
		sdks      []catalogue.SDK
	}{
		{
			"valid before invalid input", nil,
			[]testCheck{{id: "a/invalid", check: minor("invalid", true, true)},
				{id: "a/clean", check: minor("clean", false, true)},
				{id: "a/other", check: minor("other", false, false)}},
			"3 clean, 3 other, 3 invalid", 3, nil,
		},
		{
			"what blocks comes first, in a process of its own that others use afterwards", nil,
			[]testCheck{{id: "a/blocks", check: blocks}, {id: "a/clean", check: minor("clean", false, true)}},
			"2 blocks, 2 clean", 2, nil,
		},
		{
			"a process that exits is replaced", script{{method: "clean", process: 3, action: exits}},
			[]testCheck{{id: "a/clean", check: minor("clean", false, true)},
				{id: "a/other", check: minor("other", true, true)}},
			"3 clean, 4 other, 6 clean", 6, nil, // 5 is the health check before the retry
		},
		{
			"the process of another confirmation is reused", nil,
			[]testCheck{{id: "a/opening", check: opening}, {id: "a/clean", check: minor("clean", false, true)}},
			"2 opening, 2 clean", 2, nil,
		},
		{
			"a known deviation of the SDK is confirmed with others",
			script{{method: "clean", action: answersError(-32601)}},
			[]testCheck{{id: "a/clean", check: minor("clean", false, true)}, deviates},
			"2 clean, 2 blocks", 2, sdk,
		},
		{
			"the deviation of an SDK that is not recognised is confirmed alone", nil,
			[]testCheck{{id: "a/clean", check: minor("clean", false, true)}, deviates},
			"2 blocks, 2 clean, 3 tools/call, 3 tools/call", 3, sdk, // the calls show the SDK
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{script: tt.script, checks: tt.cast,
				options: Options{Jobs: 1, SDKs: tt.sdks, Profile: catalogue.Release}}.run(t)
			if got := strings.Join(out.repeatedRequests(), ", "); got != tt.confirmed || out.started != tt.processes {
				t.Errorf("got %s in %d processes, want %s in %d", got, out.started, tt.confirmed, tt.processes)
			}
		})
	}
}

// repeatedRequests returns the requests that were sent more than once, except those of the handshake.
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
