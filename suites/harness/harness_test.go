package harness

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

func TestGate(t *testing.T) {
	tests := []struct {
		name         string
		profile      Profile
		verdict      Verdict
		level, entry Level
		checklist    bool
		asked        bool
		want         Gate
	}{
		{"a MUST gates by default", Release, Fail, Must, Must, false, false, GateMust},
		{"a MUST gates by the specification", Spec, Fail, Must, Must, true, false, GateMust},
		{"a SHOULD does not", Release, Fail, Should, Should, false, false, NoGate},
		{"unless it is on the checklist", Release, Fail, Should, Should, true, false, GateChecklist},
		{"which the specification alone does not know", Spec, Fail, Should, Should, true, false, NoGate},
		{"a lesser deviation does not gate by the checklist", Release, Fail, Should, Must, true, false, NoGate},
		{"advice on the checklist gates", Release, Fail, Advice, Advice, true, false, GateChecklist},
		{"strict takes SHOULDs", Strict, Fail, Should, Must, false, false, GateStrict},
		{"strict takes what could not be tried", Strict, Inconclusive, Must, Must, false, false, GateInconclusive},
		{"but not of a SHOULD", Strict, Inconclusive, Should, Should, false, false, NoGate},
		{"strict takes no advice", Strict, Fail, Advice, Advice, false, false, NoGate},
		{"a pass never gates", Strict, Pass, Must, Must, true, false, NoGate},
		{"a skip never gates", Strict, Skip, Must, Must, true, false, NoGate},
		{"a directory takes what it asks for", Directory, Fail, Advice, Advice, false, true, GateDirectory},
		{"and nothing else", Directory, Fail, Must, Must, true, false, NoGate},
		{"be it inconclusive", Directory, Inconclusive, Must, Must, false, true, NoGate},
		{"what directories ask for gates nowhere else", Strict, Fail, Advice, Advice, false, true, NoGate},
	}
	for _, tt := range tests {
		if got := tt.profile.Gate(tt.verdict, tt.level, tt.entry, tt.checklist, tt.asked); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestExitCode(t *testing.T) {
	tests := []struct {
		counts Counts
		want   int
	}{
		{Counts{Pass: 3}, ExitConforms},
		{Counts{Pass: 3, Fail: 2}, ExitConforms},
		{Counts{Fail: 2, Gating: 1}, ExitFails},
		{Counts{Fail: 2, Gating: 1, Error: 1}, ExitInternal},
	}
	for _, tt := range tests {
		if got := tt.counts.ExitCode(); got != tt.want {
			t.Errorf("%+v: got %d, want %d", tt.counts, got, tt.want)
		}
	}
}

func catalogueOf(ids ...string) (c Catalogue) {
	for _, id := range ids {
		level := Should
		if strings.Contains(id, "must") {
			level = Must
		}
		c = append(c, &Requirement{ID: id, Level: ByRevision[Level]{All: level}, Revisions: []string{NewestLegacy}})
	}
	return c
}

func TestSelect(t *testing.T) {
	catalogue := catalogueOf("ping/must-answer", "ping/pace", "tools/must-list", "tools/names")
	tests := []struct {
		only, skip, want []string
		err              string
	}{
		{want: []string{"ping/must-answer", "ping/pace", "tools/must-list", "tools/names"}},
		{only: []string{"ping"}, want: []string{"ping/must-answer", "ping/pace"}},
		{only: []string{"tools/*"}, want: []string{"tools/must-list", "tools/names"}},
		{only: []string{"t*"}, want: []string{"tools/must-list", "tools/names"}},
		{only: []string{"*"}, skip: []string{"p*g"}, want: []string{"tools/must-list", "tools/names"}},
		{skip: []string{"*"}},
		{only: []string{"must"}, want: []string{"ping/must-answer", "tools/must-list"}},
		{only: []string{"ping/pace"}, want: []string{"ping/pace"}},
		{only: []string{"tools"}, skip: []string{"MUST"}, want: []string{"tools/names"}},
		{only: []string{"ping/pase"}, err: `no check "ping/pase"; did you mean ping/pace?`},
		{only: []string{"tools/nam"}, err: `no check "tools/nam"; did you mean tools/names?`},
		{skip: []string{"qqqqqqqqqqqq"}, err: `no check "qqqqqqqqqqqq"; mcpcheck list shows them all`},
		{only: []string{"tools/["}, err: `bad pattern "tools/[": syntax error in pattern`},
	}
	for _, tt := range tests {
		selector, err := Select(func() Catalogue { return catalogue }, tt.only, tt.skip)
		if tt.err != "" || err != nil {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%v: got error %v, want %s", tt.only, err, tt.err)
			}
			continue
		}
		var got []string
		for _, r := range catalogue {
			if selector(r) {
				got = append(got, r.ID)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("only %v, skip %v: %s", tt.only, tt.skip, diff)
		}
	}
}

func TestPermit(t *testing.T) {
	tool := func(hints M) M { return M{"name": "x", "annotations": hints} }
	tests := []struct {
		name           string
		calls          CallPolicy
		tool           M
		examples       bool
		invalid, valid bool
	}{
		{"a plain tool", CallsSafe, M{}, false, false, false},
		{"a tool that is not destructive", CallsSafe, tool(M{"destructiveHint": false}), false, true, false},
		{"a tool that only says that it writes", CallsSafe, tool(M{"readOnlyHint": false}), false, false, false},
		{"a read-only tool", CallsSafe, tool(M{"readOnlyHint": true}), false, true, true},
		{"a destructive tool", CallsSafe, tool(M{"destructiveHint": true}), false, false, false},
		{"a destructive tool with examples", CallsSafe, tool(M{"destructiveHint": true}), true, false, true},
		{"a read-only tool, whatever it says of destruction", CallsSafe,
			tool(M{"readOnlyHint": true, "destructiveHint": true}), false, true, true},
		{"an example", CallsSafe, M{}, true, true, true},
		{"a hint that is no boolean", CallsSafe,
			tool(M{"readOnlyHint": "true", "destructiveHint": "false"}), false, false, false},
		{"a plain tool and invalid", CallsInvalid, M{}, false, true, false},
		{"a destructive tool and invalid", CallsInvalid, tool(M{"destructiveHint": true}), false, false, false},
		{"a destructive tool with examples and invalid", CallsInvalid,
			tool(M{"destructiveHint": true}), true, false, true},
		{"none", CallsNone, tool(M{"readOnlyHint": true}), true, false, false},
		{"all", CallsAll, tool(M{"destructiveHint": true}), false, true, true},
	}
	for _, tt := range tests {
		p := tt.calls.Permit(tt.tool, tt.examples)
		if p.Invalid != tt.invalid || p.Valid != tt.valid {
			t.Errorf("%s: got %+v, want invalid %v, valid %v", tt.name, p, tt.invalid, tt.valid)
		}
		if !(p.Invalid && p.Valid) && p.Reason == "" {
			t.Errorf("%s: no reason", tt.name)
		}
	}
}

func reply(text string) driver.Reply {
	m, _ := driver.Decode([]byte(text)).(M)
	return driver.Reply{Synthetic: m, Frame: &driver.Frame{Raw: driver.Text(text)}}
}

func TestMatchers(t *testing.T) {
	result, refusal := reply(
		`{"id":1,"result":{"a":1}}`,
	), reply(
		`{"id":1,"error":{"code":-32601,"message":"no\nsuch"}}`,
	)
	silence := driver.Reply{Err: &driver.TimeoutError{Method: "ping", After: 5e9}}
	tests := []struct {
		name    string
		matcher types.GomegaMatcher
		actual  any
		ok      bool
		message string // when it does not match
	}{
		{"an error of the code", BeError(-32601), refusal, true, ""},
		{"an error of one of the codes", BeError(-32602, -32601), refusal, true, ""},
		{"an error of any code", BeError(), refusal, true, ""},
		{"another code", BeError(-32602), refusal, false, "expected error -32602\ngot error -32601: no such"},
		{"a result for an error", BeError(-32602), result, false, "expected error -32602\ngot result {\"a\":1}"},
		{"silence", BeAnswered(), silence, false, "expected an answer\ngot no answer to ping within 5s"},
		{"a result", BeResult(), result, true, ""},
		{"an error for a result", BeResult(), refusal, false, "expected a result\ngot error -32601: no such"},
		{"an integer", BeInteger(), json.Number("7"), true, ""},
		{"an integer with a point", BeInteger(), json.Number("7.0"), true, ""},
		{"an integer of 64 bits", BeInteger(), json.Number("18446744073709551615"), true, ""},
		{"a huge integer", BeInteger(), json.Number("1e999999999"), true, ""},
		{"a fraction", BeInteger(), json.Number("7.5"), false, "expected an integer\ngot 7.5"},
		{"a text for an integer", BeInteger(), "7", false, "expected an integer\ngot \"7\""},
		{"a missing member", BeString(), Absent{}, false, "expected a string\ngot nothing: the member is missing"},
		{"null", BeObject(), nil, false, "expected an object\ngot null"},
		{"one of", BeOneOf("a", "b"), "b", true, ""},
		{"none of", BeOneOf("a", "b"), "c<d>", false, "expected \"a\" or \"b\"\ngot \"c<d>\""},
	}
	for _, tt := range tests {
		ok, err := tt.matcher.Match(tt.actual)
		if ok != tt.ok || err != nil {
			t.Errorf("%s: got %v, %v", tt.name, ok, err)
		}
		if got := tt.matcher.FailureMessage(tt.actual); !ok && got != tt.message {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.message)
		}
	}
}

func TestURL(t *testing.T) {
	tests := map[string]string{
		"server/tools#tool-names": "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names",
		"basic/index#meta":        "https://modelcontextprotocol.io/specification/2025-11-25/basic#meta",
		"schema#tool":             "https://modelcontextprotocol.io/specification/2025-11-25/schema#tool",
	}
	for page, want := range tests {
		r := &Requirement{Spec: map[string]string{NewestLegacy: page}}
		if got := r.URL(NewestLegacy); got != want {
			t.Errorf("%s: got %s, want %s", page, got, want)
		}
	}
}

func TestClipLineKeepsCharacters(t *testing.T) {
	got := clipLine([]byte(strings.Repeat("é", 3000)))
	if !strings.Contains(got, "left out") || strings.ContainsRune(got, '\uFFFD') || len(got) > maxLineBytes+100 {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

// A run whose every result is inconclusive says why; one in which nothing applies is another thing.
func TestNoVerdictCause(t *testing.T) {
	pass, skip := Result{Verdict: Pass}, Result{Verdict: Skip, Message: "not declared"}
	silent, dead := Result{Verdict: Inconclusive, Message: "silence"}, Result{Verdict: Inconclusive, Message: "death"}
	for _, tt := range []struct {
		name    string
		results []Result
		cause   string
	}{
		{"no results", nil, ""},
		{"nothing applies", []Result{skip, skip}, ""},
		{"one passes", []Result{silent, pass, silent}, ""},
		{"one fails", []Result{silent, {Verdict: Fail}}, ""},
		{"one is our error", []Result{silent, {Verdict: Error}}, ""},
		{"one is inconclusive", []Result{skip, silent, skip}, "silence"},
		{"several causes", []Result{silent, dead, skip, dead}, "death"},
	} {
		if cause := NoVerdictCause(tt.results); cause != tt.cause {
			t.Errorf("%s: got %q", tt.name, cause)
		}
	}
}

// Many MUSTs without a verdict for one silence are told, a few are not.
func TestUntestedMusts(t *testing.T) {
	lost := func(n int, cause string, of Result) (all []Result) {
		of.Message, of.Verdict = cause, Inconclusive
		for range n {
			all = append(all, of)
		}
		return all
	}
	must := Result{EntryLevel: Must, Unresponsive: true}
	for _, tt := range []struct {
		name    string
		results []Result
		n       int
		cause   string
	}{
		{"none", nil, 0, ""},
		{"a few", lost(4, "silence", must), 0, ""},
		{"several causes", append(lost(4, "silence", must), lost(4, "death", must)...), 0, ""},
		{"many", append(lost(4, "silence", must), lost(5, "death", must)...), 5, "death"},
		{"of other levels", lost(5, "silence", Result{EntryLevel: Should, Unresponsive: true}), 0, ""},
		{"of a list", lost(5, "error -32603", Result{EntryLevel: Must, Reason: NotListed}), 5, "error -32603"},
		{"over a limit", lost(5, "too long", Result{EntryLevel: Must, Reason: Limit}), 5, "too long"},
		{"for other reasons", lost(5, "not called", Result{EntryLevel: Must}), 0, ""},
	} {
		if n, cause := UntestedMusts(tt.results); n != tt.n || cause != tt.cause {
			t.Errorf("%s: got %d, %q", tt.name, n, cause)
		}
	}
}
