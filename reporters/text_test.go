package reporters

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/report"
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

func TestJoinSome(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{nil, ""},
		{[]string{"a", "b", "c"}, "a, b, c"},
		{[]string{"a", "b", "c", "d"}, "a, b and 2 more"},
	} {
		if got := joinSome(c.names, 2); got != c.want {
			t.Errorf("some(%q, 2): want %q, got %q", c.names, c.want, got)
		}
	}
}

func TestTestedAgainstText(t *testing.T) {
	for _, c := range []struct {
		judged report.RevisionInfo
		want   string
	}{
		{report.RevisionInfo{Requested: "2025-11-25", Revision: "2025-11-25"},
			"tested against 2025-11-25 (negotiated)"},
		{report.RevisionInfo{Requested: "2025-11-25", Revision: "2024-11-05"},
			"tested against 2024-11-05 (negotiated; 2025-11-25 was requested)"},
		{report.RevisionInfo{Requested: "2025-03-26", Revision: "2025-03-26"},
			"tested against 2025-03-26 (requested)"},
		{report.RevisionInfo{Requested: "2026-07-28", Revision: "2026-07-28"},
			"tested against 2026-07-28 (newest)"},
		{report.RevisionInfo{Requested: "2025-11-25", Revision: "2025-11-25", Assumed: true},
			"tested against 2025-11-25 (requested; no handshake took place)"},
	} {
		if got := testedAgainstText([]report.RevisionInfo{c.judged}); got != c.want {
			t.Errorf("want %s\n got %s", c.want, got)
		}
	}
}

func TestAlsoSupportsText(t *testing.T) {
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
		rep := report.Report{Server: report.ServerInfo{Revisions: c.speaks}}
		for _, revision := range c.judged {
			rep.Revisions = append(rep.Revisions, report.RevisionInfo{Revision: revision})
		}
		if got := alsoSupportsText(rep); got != c.want {
			t.Errorf("speaks %q, judged by %q: got %q, want %q", c.speaks, c.judged, got, c.want)
		}
	}
}

func TestUndiscoveredText(t *testing.T) {
	for said, want := range map[string]string{
		"":               "",
		"error -32603: ": "not tested without a handshake: server/discover was answered with error -32603: ",
	} {
		if got := undiscoveredText(report.ServerInfo{DiscoverError: said}); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

func TestOneClientText(t *testing.T) {
	for one, want := range map[bool]string{
		false: "",
		true:  "serves one client at a time: tested one session after the other",
	} {
		if got := oneClientText((&check.Server{OneClient: one}).Info()); got != want {
			t.Errorf("%v: got %q, want %q", one, got, want)
		}
	}
}

func TestGateText(t *testing.T) {
	seen := map[string]catalogue.Gate{}
	for _, g := range []catalogue.Gate{
		catalogue.NoGate, catalogue.GateMust, catalogue.GateChecklist, catalogue.GateStrict, catalogue.GateInconclusive,
	} {
		text := gateText(g)
		if other, twice := seen[text]; twice {
			t.Errorf("%q and %q are both %q", g, other, text)
		}
		seen[text] = g
	}
	if !strings.Contains(gateText(catalogue.GateChecklist), "--profile spec") {
		t.Error("the checklist's gate does not name --profile spec")
	}
}

// TestShortenJSON checks that uninformative members are removed before a line is cut, and that an error result comes
// first.
func TestShortenJSON(t *testing.T) {
	const text = `"content":[{"type":"text","text":"no such tool"}]`
	for _, c := range []struct {
		line  string
		limit int
		want  string
	}{
		{`{"jsonrpc":"2.0","id":3,"result":{}}`, 36, `{"jsonrpc":"2.0","id":3,"result":{}}`},
		{`{"jsonrpc":"2.0","id":3,"result":{}}`, 35, `{"result":{}}`},
		{`{"jsonrpc":"2.0","id":3}`, 20, `{"id":3,"jsonr…2.0"}`},
		{`result {"_meta":{"a":1},` + text + `,"isError":true}`, 60,
			`result {"isError":true,"content":[{"text":"no such tool"}]}`},
		{`got {"_meta":{"a":12345678901234567890}} (and 2 more)`, 52,
			`got {"_meta":{"a":12345678901234567890… (and 2 more)`},
		{`got {"id":12345678901234567890,"b":["x",{}],"_meta":1} (and 2 more)`, 66,
			`got {"b":["x",{}],"id":12345678901234567890} (and 2 more)`},
		{`a {"line": that is cut`, 20, `a {"line": tha…s cut`},
	} {
		if got := shortenJSON(c.line, c.limit); got != c.want {
			t.Errorf("%s at %d:\n got %s\nwant %s", c.line, c.limit, got, c.want)
		}
	}
}

func TestShortenLinesJSON(t *testing.T) {
	for _, c := range []struct {
		line  string
		lines int
		want  []string
	}{
		{`{"b":1,"a":2}`, 1, []string{`{"b":1,"a":2}`}},
		{`{"a":"12345678901234567890"}`, 1, []string{`{"a":"12345678…890"}`}},
		{`{"a":"12345678901234567890"}`, 2, []string{`{"a":"12345678901234`, `567890"}`}},
		{`{"a":"1234567890123456789012345678901234567890"}`, 2, []string{`{"a":"12345678…890"}`}},
	} {
		if got := shortenLinesJSON(c.line, c.lines, 20); !slices.Equal(got, c.want) {
			t.Errorf("%s in %d came to %q, want %q", c.line, c.lines, got, c.want)
		}
	}
}

// TestWorstFirst checks the order of failures: the strongest first, those of an SDK after the server's own, undecided
// results last.
func TestWorstFirst(t *testing.T) {
	result := func(id string, v catalogue.Verdict, l catalogue.Level, sdk *report.SDKInfo) report.Result {
		return report.Result{ID: id, Verdict: v, Level: l, SDK: sdk}
	}
	sdk := &report.SDKInfo{}
	want := []string{
		"own must", "own should", "own advice", "sdk must", "sdk should", "open must", "open should", "error",
	}
	results := []report.Result{
		result("error", catalogue.Error, catalogue.Must, nil),
		result("open should", catalogue.Inconclusive, catalogue.Should, nil),
		result("sdk should", catalogue.Fail, catalogue.Should, sdk),
		result("own should", catalogue.Fail, catalogue.Should, nil),
		result("open must", catalogue.Inconclusive, catalogue.Must, nil),
		result("sdk must", catalogue.Fail, catalogue.Must, sdk),
		result("own advice", catalogue.Fail, catalogue.Advice, nil),
		result("own must", catalogue.Fail, catalogue.Must, nil),
	}
	if got := mapEach(WorstFirst(results), func(r report.Result) string { return r.ID }); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCallCounts(t *testing.T) {
	ok, refuses := report.ToolUse{Answered: true, Works: true}, report.ToolUse{Answered: true, Failed: true}
	down := report.ToolUse{Answered: true, Failed: true, Faulty: true}
	dies, mute := report.ToolUse{Works: true, Crashed: true}, report.ToolUse{Silent: true}
	for want, used := range map[string][]report.ToolUse{
		"none called":                    nil,
		"2 called, all answered":         {ok, ok},
		"2 called, 2 failed":             {refuses, refuses},
		"1 called, 1 failed":             {down},
		"2 called, 1 answered, 1 failed": {ok, down},
		"2 called, all answered (1 with errors for valid arguments)": {ok, refuses},
		"3 called, 1 answered, 1 crashed, 1 never answered":          {ok, dies, mute},
	} {
		if got := callCounts(used, used); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for _, tt := range []struct {
		n    int
		noun string
		want string
	}{
		{1, "failure", "1 failure"},
		{0, "failure", "0 failures"},
		{2, "other verdict", "2 other verdicts"},
		{1, "process", "1 process"},
		{0, "process", "0 processes"},
		{2, "process", "2 processes"},
		{2, "match", "2 matches"},
		{2, "check", "2 checks"},
		{2, "box", "2 boxes"},
	} {
		if got := Plural(tt.n, tt.noun); got != tt.want {
			t.Errorf("Plural(%d, %q) = %q, want %q", tt.n, tt.noun, got, tt.want)
		}
	}
}
