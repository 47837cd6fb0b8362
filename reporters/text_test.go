package reporters

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"plain → text\n日本語 🚀":     "plain → text\n日本語 🚀",
		`{"a":"\u001b"}`:          `{"a":"\u001b"}`,
		"\x1b[2J\a\t\r\x00\x7f":   `\x1b[2J\a\t\r\x00\x7f`,
		"\u009b \u00a0 \u202e":    `\u009b \u00a0 \u202e`,
		"\xff \xc3( \xed\xa0\x80": `\xff \xc3( \xed\xa0\x80`,
		"\ufffd \ufffe \uffff":    "\ufffd \\ufffe \\uffff",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q)\nwant %q\n got %q", in, want, got)
		}
	}
}

func TestHeadline(t *testing.T) {
	for in, want := range map[string]string{
		"":                                              "",
		"it did not answer within 5 s":                  "it did not answer within 5 s",
		"expected an error\ngot a result":               "expected an error, got a result",
		"expected an error\n got a\nand more":           "expected an error, got a",
		"echo:\n  expected x\n  got y\nadd:\n":          "echo: expected x, got y",
		"it died; its last lines on stderr:\n  a\n  b":  "it died",
		"expected x\ngot it died; its last lines:\n  a": "expected x, got it died",
		"several things:\n  a\n  b":                     "several things",
	} {
		if got := headline(in); got != want {
			t.Errorf("headline(%q)\nwant %q\n got %q", in, want, got)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"12345678", 8, "12345678"},
		{"123456789", 8, "12345…89"},
		{"日本語日本語日本語", 8, "日本語日本…本語"},
		{"123", 1, "…"},
	} {
		if got := shorten(c.in, c.limit); got != c.want {
			t.Errorf("shorten(%q, %d): want %q, got %q", c.in, c.limit, c.want, got)
		}
	}
}

func TestDuration(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0.0 s", 1.26: "1.3 s", 59.9: "59.9 s", 75.4: "1m15s", 3600: "1h0m0s",
	} {
		if got := duration(in); got != want {
			t.Errorf("duration(%v): want %q, got %q", in, want, got)
		}
	}
}

func TestSome(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, ""},
		{[]string{"a", "b", "c"}, "a, b, c"},
		{[]string{"a", "b", "c", "d"}, "a, b and 2 more"},
	} {
		if got := some(c.names, 2); got != c.want {
			t.Errorf("some(%q, 2): want %q, got %q", c.names, c.want, got)
		}
	}
}

func TestTestedAgainst(t *testing.T) {
	for _, c := range []struct {
		judged harness.RevisionInfo
		want   string
	}{
		{harness.RevisionInfo{Requested: "2025-11-25", Revision: "2025-11-25"},
			"tested against 2025-11-25 (negotiated)"},
		{harness.RevisionInfo{Requested: "2025-11-25", Revision: "2024-11-05"},
			"tested against 2024-11-05 (negotiated; 2025-11-25 was requested)"},
		{harness.RevisionInfo{Requested: "2025-03-26", Revision: "2025-03-26"},
			"tested against 2025-03-26 (requested)"},
		{harness.RevisionInfo{Requested: "2026-07-28", Revision: "2026-07-28"},
			"tested against 2026-07-28 (newest)"},
		{harness.RevisionInfo{Requested: "2025-11-25", Revision: "2025-11-25", Assumed: true},
			"tested against 2025-11-25 (requested; no handshake took place)"},
	} {
		if got := testedAgainst([]harness.RevisionInfo{c.judged}); got != c.want {
			t.Errorf("want %s\n got %s", c.want, got)
		}
	}
}

func TestAlsoSupports(t *testing.T) {
	both := []string{"2025-06-18", "2025-11-25", "2026-07-28"}
	for _, c := range []struct {
		speaks, judged []string
		want           string
	}{
		{nil, []string{"2025-11-25"}, ""},
		{both[:2], []string{"2025-11-25"}, ""},
		{both, []string{"2025-06-18"}, "also supports 2026-07-28"},
		{both, []string{"2026-07-28"}, "also supports 2025-11-25"},
		{both, []string{"2025-06-18", "2026-07-28"}, ""},
	} {
		report := harness.Report{Server: harness.ServerInfo{Speaks: c.speaks}}
		for _, revision := range c.judged {
			report.Revisions = append(report.Revisions, harness.RevisionInfo{Revision: revision})
		}
		if got := alsoSupports(report); got != c.want {
			t.Errorf("speaks %q, judged by %q: got %q, want %q", c.speaks, c.judged, got, c.want)
		}
	}
}

func TestNotDiscovered(t *testing.T) {
	for said, want := range map[string]string{
		"":               "",
		"error -32603: ": "not tested without a handshake: server/discover was answered with error -32603: ",
	} {
		if got := notDiscovered(harness.ServerInfo{Undiscovered: said}); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

func TestGateText(t *testing.T) {
	seen := map[string]harness.Gate{}
	for _, g := range []harness.Gate{
		harness.NoGate, harness.GateMust, harness.GateChecklist, harness.GateStrict, harness.GateInconclusive,
	} {
		text := gateText(g)
		if other, twice := seen[text]; twice {
			t.Errorf("%q and %q are both %q", g, other, text)
		}
		seen[text] = g
	}
	if !strings.Contains(gateText(harness.GateChecklist), "--profile spec") {
		t.Error("the checklist's gate does not name --profile spec")
	}
}
