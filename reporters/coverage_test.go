package reporters

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestFixIsForToolsThatMayNotBeCalled checks that options that allow calls are suggested only for tools that may not be
// called.
func TestFixIsForToolsThatMayNotBeCalled(t *testing.T) {
	barred := report.UncalledTool{Name: "grow", Reason: "it is not marked read-only", Forbidden: true}
	mute := report.UncalledTool{Name: "wait", Reason: "no call was answered"}
	for _, tt := range []struct {
		tools []report.UncalledTool
		want  bool
	}{
		{[]report.UncalledTool{barred}, true},
		{[]report.UncalledTool{mute}, false},
		{[]report.UncalledTool{mute, barred}, true},
	} {
		_, lines := callsText([]report.Coverage{{UncalledTools: tt.tools}}, nil)
		if got := slices.Contains(lines, report.HowToAllowCalls); got != tt.want {
			t.Errorf("%v: %q", tt.tools, lines)
		}
	}
}

// TestInvalidText checks that what was not tested with invalid arguments is one line, which says what to do about it.
func TestInvalidText(t *testing.T) {
	const unmarked = "no readOnlyHint: add annotations, example arguments, or --calls invalid"
	const destructive = "marked destructive: --calls all"
	for _, tt := range []struct {
		calls report.InvalidCallCounts
		want  string
	}{
		{report.InvalidCallCounts{Tried: 3}, ""},
		{report.InvalidCallCounts{}, ""},
		{report.InvalidCallCounts{Tried: 1, Unmarked: 2}, "1 of 3 tools tried; the others have " + unmarked},
		{report.InvalidCallCounts{Tried: 1, Unmarked: 1}, "1 of 2 tools tried; the other has " + unmarked},
		{report.InvalidCallCounts{Unmarked: 2}, "0 of 2 tools tried; they have " + unmarked},
		{report.InvalidCallCounts{Destructive: 1}, "0 of 1 tried, 1 destructive: --calls all"},
		{report.InvalidCallCounts{Tried: 3, Unmarked: 2, Destructive: 1},
			"3 of 6 tools tried; 2 have " + unmarked + "; 1 is " + destructive},
	} {
		want := tt.want
		if want != "" {
			want = "isError on bad input: " + want
		}
		if got := invalidText([]report.Coverage{{}, {InvalidCalls: &tt.calls}}); got != want {
			t.Errorf("%+v: got %q, want %q", tt.calls, got, want)
		}
	}
}

// TestChecksWithoutTheirCallsAreInNoList checks that checks without the calls that they need are only counted, unless
// they block.
func TestChecksWithoutTheirCallsAreInNoList(t *testing.T) {
	open := func(id string, reason report.Reason, gates bool) report.Result {
		return report.Result{
			ID: id, Level: catalogue.Must, Verdict: catalogue.Inconclusive, Reason: reason, Gates: gates,
			Message: "open " + id,
		}
	}
	rep := report.Report{
		Coverage: []report.Coverage{{
			UncalledTools: []report.UncalledTool{{Name: "send", Reason: report.NotMarkedSafe, Forbidden: true}},
			InvalidCalls:  &report.InvalidCallCounts{Unmarked: 1},
		}},
		Results: []report.Result{
			open("tools/a", report.CallsOff, false), open("tools/b", report.CallsOff, false),
			open("tools/gates", report.CallsOff, true), open("tools/silent", report.Silent, false),
		},
	}
	var out strings.Builder
	if err := NewConsole(ConsoleOptions{Out: &out, Verbosity: Verbose}).Done(rep); err != nil {
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
