package baseline

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestEditBaseline proves that an update changes only the lines of the entries that it adds and removes.
func TestEditBaseline(t *testing.T) {
	tests := []struct {
		name string
		text string
		// remove are the names of checks whose entries are removed.
		remove []string
		// add are the names of checks whose entries are added.
		add  []string
		want string
	}{
		{name: "the last one goes, another comes",
			text:   "# head\n\n- check: a/a\n  reason: x # why\n\n# of b\n- check: a/b\n  reason: y\n",
			remove: []string{"a/b"}, add: []string{"a/c"},
			want: "# head\n\n- check: a/a\n  reason: x # why\n\n- check: a/c\n  reason: \"new\"\n"},
		{name: "the first one goes with its comment",
			text:   "# head\n\n# of a\n- check: a/a\n  reason: x\n\n- check: a/b\n  reason: y\n",
			remove: []string{"a/a"},
			want:   "# head\n\n- check: a/b\n  reason: y\n"},
		{name: "a comment at the top is about the file",
			text:   "# head\n- check: a/a\n  reason: x\n- check: a/b\n  reason: y\n",
			remove: []string{"a/a"},
			want:   "# head\n- check: a/b\n  reason: y\n"},
		{name: "the middle goes",
			text:   "- check: a/a\n  reason: x\n- check: a/b\n  reason: y\n- check: a/c\n  reason: z\n",
			remove: []string{"a/b"},
			want:   "- check: a/a\n  reason: x\n- check: a/c\n  reason: z\n"},
		{name: "blank lines between stay single",
			text:   "- check: a/a\n  reason: x\n\n- check: a/b\n  reason: y\n\n- check: a/c\n  reason: z\n",
			remove: []string{"a/b"}, add: []string{"a/d"},
			want: "- check: a/a\n  reason: x\n\n- check: a/c\n  reason: z\n\n- check: a/d\n  reason: \"new\"\n"},
		{name: "groups stay apart",
			text:   "- check: a/a\n  reason: x\n\n- check: a/b\n  reason: y\n- check: a/c\n  reason: z\n",
			remove: []string{"a/b"},
			want:   "- check: a/a\n  reason: x\n\n- check: a/c\n  reason: z\n"},
		{name: "no blank line is left at the top",
			text:   "- check: a/a\n  reason: x\n\n- check: a/b\n  reason: y\n",
			remove: []string{"a/a"},
			want:   "- check: a/b\n  reason: y\n"},
		{name: "all go",
			text:   "# head\n\n- check: a/a\n  reason: x\n\n# of b\n- check: a/b\n  reason: y\n",
			remove: []string{"a/a", "a/b"},
			want:   "# head\n"},
		{name: "all go, one comes",
			text:   "# head\n\n- check: a/a\n  reason: x\n- check: a/b\n  reason: y\n",
			remove: []string{"a/a", "a/b"}, add: []string{"a/c", "a/d"},
			want: "# head\n\n- check: a/c\n  reason: \"new\"\n- check: a/d\n  reason: \"new\"\n"},
		{name: "a comment at the foot stays there",
			text: "- check: a/a\n  reason: x\n\n# foot\n",
			add:  []string{"a/b"},
			want: "- check: a/a\n  reason: x\n- check: a/b\n  reason: \"new\"\n\n# foot\n"},
		{name: "comments within an entry belong to it",
			text:   "- # dash\n  check: a/a\n  # within\n  reason: x\n  # last\n- check: a/b\n  # kept\n  reason: y\n",
			remove: []string{"a/a"},
			want:   "- check: a/b\n  # kept\n  reason: y\n"},
		{name: "texts of several lines",
			text: "- check: a/a\n  reason: |\n    x\n\n    # no comment\n\n- check: a/b\n  reason: >-\n    y\n    " +
				"z\n- check: a/c\n  reason: 'one\n\n    two'\n",
			add: []string{"a/d"}, remove: []string{"a/b"},
			want: "- check: a/a\n  reason: |\n    x\n\n    # no comment\n\n- check: a/c\n  reason: 'one\n\n    " +
				"two'\n- check: a/d\n  reason: \"new\"\n"},
		{name: "the last line does not end",
			text: "- check: a/a\n  reason: x",
			add:  []string{"a/b"},
			want: "- check: a/a\n  reason: x\n- check: a/b\n  reason: \"new\"\n"},
		{name: "lines of Windows",
			text:   "# head\r\n\r\n- check: a/a\r\n  reason: x\r\n- check: a/b\r\n  reason: y\r\n",
			remove: []string{"a/a"}, add: []string{"a/c"},
			want: "# head\r\n\r\n- check: a/b\r\n  reason: y\r\n- check: a/c\r\n  reason: \"new\"\r\n"},
		{name: "an indented list",
			text:   "---\n  - check: a/a\n    reason: x\n  # of b\n  -\n    check: a/b\n    reason: y\n",
			remove: []string{"a/b"}, add: []string{"a/c"},
			want: "---\n  - check: a/a\n    reason: x\n  - check: a/c\n    reason: \"new\"\n"},
		{name: "the end of the document",
			text: "---\n- check: a/a\n  reason: x\n...\n",
			add:  []string{"a/b"},
			want: "---\n- check: a/a\n  reason: x\n- check: a/b\n  reason: \"new\"\n...\n"},
		{name: "an empty list in brackets",
			text: "# head\n[]\n",
			add:  []string{"a/b"},
			want: "# head\n\n- check: a/b\n  reason: \"new\"\n"},
		{name: "maps in braces",
			text:   "- {check: a/a, reason: x}\n- {check: a/b, reason: y}\n",
			remove: []string{"a/a"},
			want:   "- {check: a/b, reason: y}\n"},
		{name: "nothing to do", text: "- check: a/a\n  reason: x", want: "- check: a/a\n  reason: x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := newTestUpdate(t, tt.text, tt.remove, tt.add).editedText()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the file, - wanted, + got:\n%s", diff)
			}
		})
	}
}

// TestEditBaselineErrors proves that a file which cannot be edited by lines stays as it is.
func TestEditBaselineErrors(t *testing.T) {
	for _, content := range []string{"[{check: a/a, reason: x}]\n", "[\n]\n", "null\n"} {
		got, err := newTestUpdate(t, content, nil, []string{"a/b"}).editedText()
		if err == nil || !strings.Contains(err.Error(), "cannot edit known.yaml") {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
}

// newTestUpdate returns an update of a file, by the names of checks.
func newTestUpdate(t *testing.T, content string, remove, add []string) Update {
	entries, err := parse("known.yaml", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	u := Update{File: File{Name: "known.yaml", text: content, Entries: entries}}
	for _, k := range entries {
		if slices.Contains(remove, k.Check) {
			u.removed = append(u.removed, report.StaleEntry{Entry: k.Check, Line: k.Line})
		} else {
			u.unchanged = append(u.unchanged, k)
		}
	}
	for _, check := range add {
		u.added = append(u.added, report.KnownFail{Check: check, Reason: "new"})
	}
	return u
}

// TestReasons proves that any text of a server can be a reason.
func TestReasons(t *testing.T) {
	for _, reason := range []string{
		`TODO: got "x" \ y`, "a: b # c", "- x", "tab\tfeed\nnull\x00bell\a\x1b[31m\u0085\u2028\ufeff",
		"'", "日本語 😀", "\xff\xfe", "{[*&!|>%@`",
	} {
		u := newTestUpdate(t, "", nil, []string{"a/b"})
		u.added[0].Reason = strings.ToValidUTF8(reason, "?")
		if _, err := u.editedText(); err != nil {
			t.Errorf("%q: %v", reason, err)
		}
	}
}

func TestEntriesForFailures(t *testing.T) {
	result := func(id, revision string, v catalogue.Verdict, gates bool) report.Result {
		return report.Result{ID: id, Revision: revision, Verdict: v, Gates: gates, Message: "expected a\ngot b"}
	}
	const first, last = "2025-06-18", "2025-11-25"
	entry := func(check, revision, transport string) report.KnownFail {
		return report.KnownFail{
			Check: check, Revision: revision, Transport: transport, Reason: "TODO: expected a, got b",
		}
	}
	ofSDK := func(issue string) report.Result {
		r := result("a/a", last, catalogue.Fail, true)
		r.SDK = &report.SDKInfo{ID: "one", Name: "One 1.x", Versions: "1.2", Issue: issue}
		return r
	}
	accepted := func(reason string) report.KnownFails {
		return report.KnownFails{{Check: "a/a", Reason: reason}}
	}
	tests := []struct {
		name      string
		transport string
		results   []report.Result
		want      report.KnownFails
	}{
		{
			"fails",
			"stdio",
			[]report.Result{result("a/a", last, catalogue.Fail, true)},
			report.KnownFails{entry("a/a", "", "")},
		},
		{
			"over HTTP",
			"http",
			[]report.Result{result("a/a", last, catalogue.Fail, true)},
			report.KnownFails{entry("a/a", "", "http")},
		},
		{
			"of an SDK", "stdio", []report.Result{ofSDK("https://example.com/1")},
			accepted("a known deviation of One 1.x: https://example.com/1"),
		},
		{"of an SDK without an issue", "stdio", []report.Result{ofSDK("")}, accepted("a known deviation of One 1.x")},
		{"does not gate", "stdio", []report.Result{result("a/a", last, catalogue.Fail, false)}, nil},
		{"inconclusive that gates", "stdio", []report.Result{result("a/a", last, catalogue.Inconclusive, true)}, nil},
		{"fails in all revisions", "stdio", []report.Result{
			result("a/a", first, catalogue.Fail, true), result("a/a", last, catalogue.Fail, true),
		}, report.KnownFails{entry("a/a", "", "")}},
		{"fails in one revision", "stdio", []report.Result{
			result("a/a", first, catalogue.Pass, false), result("a/a", last, catalogue.Fail, true),
		}, report.KnownFails{entry("a/a", last, "")}},
		{"gates in one revision, fails in all", "stdio", []report.Result{
			result("a/a", first, catalogue.Fail, false), result("a/a", last, catalogue.Fail, true),
		}, report.KnownFails{entry("a/a", "", "")}},
		{"applies in one revision", "stdio", []report.Result{
			result(
				"a/a",
				first,
				catalogue.Skip,
				false,
			), result("a/a", last, catalogue.Fail, true), result("a/b", first, catalogue.Pass, false),
		}, report.KnownFails{entry("a/a", "", "")}},
	}
	for _, tt := range tests {
		got := entriesForFailures(report.Report{Target: report.TargetInfo{Transport: tt.transport},
			Results: tt.results})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s, - wanted, + got:\n%s", tt.name, diff)
		}
	}
}

// FuzzBaseline proves that every text either is an error for the reader and the editor, or is edited to a file that
// lists the intended entries.
func FuzzBaseline(f *testing.F) {
	f.Add("# head\n\n- check: a/a\n  reason: x\n")
	f.Add("- {check: a/a, reason: x}\n- check: b/*\n  reason: |\n    y\n  flaky: true\n")
	f.Add("[{check: a/a, reason: x}]")
	f.Add("! a")
	f.Add("- &x\n  check: a\n  reason: b\n- *x\n")
	f.Add("- <<: {check: a}\n  reason: !!str b\n---\n- null\n")
	f.Fuzz(func(t *testing.T, content string) {
		entries, err := parse("known.yaml", []byte(content))
		if err != nil {
			return
		}
		u := Update{
			File:  File{Name: "known.yaml", text: content, Entries: entries},
			added: report.KnownFails{{Check: "a/b", Reason: "new"}},
		}
		for i, k := range entries {
			if i%2 == 0 {
				u.removed = append(u.removed, report.StaleEntry{Line: k.Line})
			}
		}
		for _, k := range entries {
			if !u.isRemoved(k) {
				u.unchanged = append(u.unchanged, k)
			}
		}
		u.editedText()
	})
}

// TestUnrecordedText proves that the operator is told which failures a baseline does not list.
func TestUnrecordedText(t *testing.T) {
	for want, r := range map[string]report.Report{
		"": {Results: []report.Result{{Verdict: catalogue.Fail, Gates: true}, {Verdict: catalogue.Inconclusive}}},
		"1 inconclusive by --profile strict: a baseline accepts failures only\n": {
			Results: []report.Result{{Verdict: catalogue.Inconclusive, Gates: true}},
		},
		"3 known deviations of the SDK not recorded (--sdk gate records them)\n": {Counts: report.Counts{SDK: 3}},
	} {
		if got := UnrecordedText(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
