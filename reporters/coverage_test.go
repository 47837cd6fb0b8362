package reporters

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// What allows calls is proposed for tools that may not be called, and for no others.
func TestFixIsForToolsThatMayNotBeCalled(t *testing.T) {
	barred := harness.UncalledTool{Name: "grow", Reason: "it is not marked read-only", Forbidden: true}
	mute := harness.UncalledTool{Name: "wait", Reason: "no call was answered"}
	for _, tt := range []struct {
		tools []harness.UncalledTool
		want  bool
	}{
		{[]harness.UncalledTool{barred}, true},
		{[]harness.UncalledTool{mute}, false},
		{[]harness.UncalledTool{mute, barred}, true},
	} {
		_, lines := callsText([]harness.Coverage{{UncalledTools: tt.tools}}, nil)
		if got := slices.Contains(lines, harness.HowToAllowCalls); got != tt.want {
			t.Errorf("%v: %q", tt.tools, lines)
		}
	}
}

// What was not tried with invalid arguments is one line, which says what to do about it.
func TestInvalidText(t *testing.T) {
	const unmarked = "no readOnlyHint: add annotations, example arguments, or --calls invalid"
	const destructive = "marked destructive: --calls all"
	for _, tt := range []struct {
		calls harness.InvalidCallCounts
		want  string
	}{
		{harness.InvalidCallCounts{Tried: 3}, ""},
		{harness.InvalidCallCounts{}, ""},
		{harness.InvalidCallCounts{Tried: 1, Unmarked: 2}, "1 of 3 tools tried; the others have " + unmarked},
		{harness.InvalidCallCounts{Tried: 1, Unmarked: 1}, "1 of 2 tools tried; the other has " + unmarked},
		{harness.InvalidCallCounts{Unmarked: 2}, "0 of 2 tools tried; they have " + unmarked},
		{harness.InvalidCallCounts{Destructive: 1}, "0 of 1 tried, 1 destructive: --calls all"},
		{harness.InvalidCallCounts{Tried: 3, Unmarked: 2, Destructive: 1},
			"3 of 6 tools tried; 2 have " + unmarked + "; 1 is " + destructive},
	} {
		want := tt.want
		if want != "" {
			want = "isError on bad input: " + want
		}
		if got := invalidText([]harness.Coverage{{}, {InvalidCalls: &tt.calls}}); got != want {
			t.Errorf("%+v: got %q, want %q", tt.calls, got, want)
		}
	}
}

// Checks that needed calls which may not be made are counted, and are in no list, unless they block.
func TestChecksWithoutTheirCallsAreInNoList(t *testing.T) {
	open := func(id string, reason harness.Reason, gates bool) harness.Result {
		return harness.Result{
			ID: id, Level: harness.Must, Verdict: harness.Inconclusive, Reason: reason, Gates: gates,
			Message: "open " + id,
		}
	}
	report := harness.Report{
		Coverage: []harness.Coverage{{
			UncalledTools: []harness.UncalledTool{{Name: "send", Reason: harness.NotMarkedSafe, Forbidden: true}},
			InvalidCalls:  &harness.InvalidCallCounts{Unmarked: 1},
		}},
		Results: []harness.Result{
			open("tools/a", harness.CallsOff, false), open("tools/b", harness.CallsOff, false),
			open("tools/gates", harness.CallsOff, true), open("tools/silent", harness.Silent, false),
		},
	}
	var out strings.Builder
	if err := NewConsole(ConsoleOptions{Out: &out, Verbosity: Verbose}).Done(report); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"1 not called: send (no readOnlyHint)":    true,
		"2 checks need such calls":                true,
		"isError on bad input: 0 of 1 tool tried": true,
		"tools/a": false, "tools/b": false, "tools/gates": true, "tools/silent": true,
	} {
		if got := strings.Contains(out.String(), text); got != want {
			t.Errorf("%q: got %v, want %v in\n%s", text, got, want, out.String())
		}
	}
}
