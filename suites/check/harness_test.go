package check

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

func TestGate(t *testing.T) {
	tests := []struct {
		name         string
		profile      catalogue.Profile
		verdict      catalogue.Verdict
		level, entry catalogue.Level
		checklist    bool
		asked        bool
		want         catalogue.Gate
	}{
		{"a MUST blocks by default", catalogue.Release, catalogue.Fail, catalogue.Must, catalogue.Must, false, false,
			catalogue.GateMust},
		{"a MUST blocks by the specification", catalogue.Spec, catalogue.Fail, catalogue.Must, catalogue.Must, true,
			false, catalogue.GateMust},
		{"a SHOULD does not block", catalogue.Release, catalogue.Fail, catalogue.Should, catalogue.Should, false, false,
			catalogue.NoGate},
		{"a SHOULD on the checklist blocks", catalogue.Release, catalogue.Fail, catalogue.Should, catalogue.Should,
			true,
			false, catalogue.GateChecklist},
		{"the specification ignores the checklist", catalogue.Spec, catalogue.Fail, catalogue.Should,
			catalogue.Should, true, false, catalogue.NoGate},
		{"a minor violation does not block by the checklist", catalogue.Release, catalogue.Fail, catalogue.Should,
			catalogue.Must, true, false, catalogue.NoGate},
		{"advice on the checklist blocks", catalogue.Release, catalogue.Fail, catalogue.Advice, catalogue.Advice, true,
			false, catalogue.GateChecklist},
		{"strict blocks on SHOULDs", catalogue.Strict, catalogue.Fail, catalogue.Should, catalogue.Must, false, false,
			catalogue.GateStrict},
		{"strict blocks on an inconclusive MUST", catalogue.Strict, catalogue.Inconclusive, catalogue.Must,
			catalogue.Must, false, false, catalogue.GateInconclusive},
		{"strict ignores an untested SHOULD", catalogue.Strict, catalogue.Inconclusive, catalogue.Should,
			catalogue.Should, false,
			false, catalogue.NoGate},
		{"strict does not block on advice", catalogue.Strict, catalogue.Fail, catalogue.Advice, catalogue.Advice,
			false, false,
			catalogue.NoGate},
		{"a pass never blocks", catalogue.Strict, catalogue.Pass, catalogue.Must, catalogue.Must, true, false,
			catalogue.NoGate},
		{"a skip never blocks", catalogue.Strict, catalogue.Skip, catalogue.Must, catalogue.Must, true, false,
			catalogue.NoGate},
		{"directory blocks on listing rules", catalogue.Directory, catalogue.Fail, catalogue.Advice, catalogue.Advice,
			false, true, catalogue.GateDirectory},
		{"directory blocks on nothing else", catalogue.Directory, catalogue.Fail, catalogue.Must, catalogue.Must,
			true, false,
			catalogue.NoGate},
		{"directory ignores inconclusive results", catalogue.Directory, catalogue.Inconclusive, catalogue.Must,
			catalogue.Must, false, true,
			catalogue.NoGate},
		{"listing rules block under no other profile", catalogue.Strict, catalogue.Fail, catalogue.Advice,
			catalogue.Advice, false, true, catalogue.NoGate},
	}
	for _, tt := range tests {
		if got := tt.profile.Gate(tt.verdict, tt.level, tt.entry, tt.checklist, tt.asked); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestExitCode(t *testing.T) {
	tests := []struct {
		counts report.Counts
		want   int
	}{
		{report.Counts{Pass: 3}, report.ExitConforms},
		{report.Counts{Pass: 3, Fail: 2}, report.ExitConforms},
		{report.Counts{Fail: 2, Gating: 1}, report.ExitFails},
		{report.Counts{Fail: 2, Gating: 1, Error: 1}, report.ExitInternal},
	}
	for _, tt := range tests {
		if got := tt.counts.ExitCode(); got != tt.want {
			t.Errorf("%+v: got %d, want %d", tt.counts, got, tt.want)
		}
	}
}

func catalogueOf(ids ...string) (c catalogue.Catalogue) {
	for _, id := range ids {
		level := catalogue.Should
		if strings.Contains(id, "must") {
			level = catalogue.Must
		}
		c = append(c, &catalogue.Requirement{ID: id, Level: catalogue.ByRevision[catalogue.Level]{All: level},
			Revisions: []string{catalogue.NewestLegacy}})
	}
	return c
}

func TestSelect(t *testing.T) {
	entries := catalogueOf("ping/must-answer", "ping/pace", "tools/must-list", "tools/names")
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
		selector, err := catalogue.Select(func() catalogue.Catalogue { return entries }, tt.only, tt.skip)
		if tt.err != "" || err != nil {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%v: got error %v, want %s", tt.only, err, tt.err)
			}
			continue
		}
		var got []string
		for _, r := range entries {
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
		calls          report.CallPolicy
		tool           M
		examples       bool
		invalid, valid bool
	}{
		{"a plain tool", report.CallsSafe, M{}, false, false, false},
		{"a tool that is not destructive", report.CallsSafe, tool(M{"destructiveHint": false}), false, true, false},
		{"a tool that only says that it writes", report.CallsSafe, tool(M{"readOnlyHint": false}), false, false, false},
		{"a read-only tool", report.CallsSafe, tool(M{"readOnlyHint": true}), false, true, true},
		{"a destructive tool", report.CallsSafe, tool(M{"destructiveHint": true}), false, false, false},
		{"a destructive tool with examples", report.CallsSafe, tool(M{"destructiveHint": true}), true, false, true},
		{"a read-only tool, whatever it says of destruction", report.CallsSafe,
			tool(M{"readOnlyHint": true, "destructiveHint": true}), false, true, true},
		{"a plain tool with examples", report.CallsSafe, M{}, true, true, true},
		{"a hint that is not a boolean", report.CallsSafe,
			tool(M{"readOnlyHint": "true", "destructiveHint": "false"}), false, false, false},
		{"a plain tool and invalid", report.CallsInvalid, M{}, false, true, false},
		{"a destructive tool and invalid", report.CallsInvalid, tool(M{"destructiveHint": true}), false, false, false},
		{"a destructive tool with examples and invalid", report.CallsInvalid,
			tool(M{"destructiveHint": true}), true, false, true},
		{"none", report.CallsNone, tool(M{"readOnlyHint": true}), true, false, false},
		{"all", report.CallsAll, tool(M{"destructiveHint": true}), false, true, true},
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
		// message is that of a value that does not match.
		message string
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
		r := &catalogue.Requirement{Spec: map[string]string{catalogue.NewestLegacy: page}}
		if got := r.URL(catalogue.NewestLegacy); got != want {
			t.Errorf("%s: got %s, want %s", page, got, want)
		}
	}
}

func TestClipLineKeepsCharacters(t *testing.T) {
	got := report.ClipLine([]byte(strings.Repeat("é", 3000)))
	if !strings.Contains(got, "left out") || strings.ContainsRune(got, '\uFFFD') || len(got) > report.MaxLineBytes+100 {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

// TestNoVerdictCause checks that a run with only inconclusive results has a cause, unlike one in which nothing applies.
func TestNoVerdictCause(t *testing.T) {
	pass, skip := report.Result{Verdict: catalogue.Pass}, report.Result{Verdict: catalogue.Skip,
		Message: "not declared"}
	silent, exited := report.Result{Verdict: catalogue.Inconclusive,
		Message: "silence"}, report.Result{Verdict: catalogue.Inconclusive, Message: "death"}
	for _, tt := range []struct {
		name    string
		results []report.Result
		cause   string
	}{
		{"no results", nil, ""},
		{"nothing applies", []report.Result{skip, skip}, ""},
		{"one passes", []report.Result{silent, pass, silent}, ""},
		{"one fails", []report.Result{silent, {Verdict: catalogue.Fail}}, ""},
		{"one is our error", []report.Result{silent, {Verdict: catalogue.Error}}, ""},
		{"one is inconclusive", []report.Result{skip, silent, skip}, "silence"},
		{"several causes", []report.Result{silent, exited, skip, exited}, "death"},
	} {
		if cause := report.NoVerdictCause(tt.results); cause != tt.cause {
			t.Errorf("%s: got %q", tt.name, cause)
		}
	}
}

// TestUntestedMusts checks that many MUSTs without a verdict for one cause are reported, and a few are not.
func TestUntestedMusts(t *testing.T) {
	lost := func(n int, cause string, of report.Result) (all []report.Result) {
		of.Message, of.Verdict = cause, catalogue.Inconclusive
		for range n {
			all = append(all, of)
		}
		return all
	}
	must := report.Result{EntryLevel: catalogue.Must, Unresponsive: true}
	for _, tt := range []struct {
		name    string
		results []report.Result
		n       int
		cause   string
	}{
		{"none", nil, 0, ""},
		{"a few", lost(4, "silence", must), 0, ""},
		{"several causes", append(lost(4, "silence", must), lost(4, "death", must)...), 0, ""},
		{"many", append(lost(4, "silence", must), lost(5, "death", must)...), 5, "death"},
		{"of other levels", lost(5, "silence", report.Result{EntryLevel: catalogue.Should, Unresponsive: true}), 0, ""},
		{"of a list", lost(5, "error -32603", report.Result{EntryLevel: catalogue.Must, Reason: report.NotListed}), 5,
			"error -32603"},
		{"over a limit", lost(5, "too long", report.Result{EntryLevel: catalogue.Must, Reason: report.Limit}), 5,
			"too long"},
		{"for other reasons", lost(5, "not called", report.Result{EntryLevel: catalogue.Must}), 0, ""},
	} {
		if n, cause := report.UntestedMusts(tt.results); n != tt.n || cause != tt.cause {
			t.Errorf("%s: got %d, %q", tt.name, n, cause)
		}
	}
}

// TestMergeSuitesRejectsDuplicates checks that no check can hide another one with the same id.
func TestMergeSuitesRejectsDuplicates(t *testing.T) {
	one, other := Suite{"a/b": Probe(nil)}, Suite{"a/c": Probe(nil)}
	if all := MergeSuites(one, other); len(all) != 2 {
		t.Errorf("got %d checks, want 2", len(all))
	}
	defer func() {
		if e := recover(); e == nil || !strings.Contains(e.(string), "two checks of a/b") {
			t.Errorf("got %v, want a panic that names a/b", e)
		}
	}()
	MergeSuites(one, other, Suite{"a/b": Probe(nil)})
}

func TestCount(t *testing.T) {
	got := report.Count([]report.Result{
		{
			Verdict: catalogue.Pass,
		}, {Verdict: catalogue.Pass}, {Verdict: catalogue.Fail, Gates: true}, {Verdict: catalogue.Fail,
			Known: &report.KnownInfo{}}, {Verdict: catalogue.Skip},
		{Verdict: catalogue.Inconclusive, Gates: true}, {Verdict: catalogue.Error},
	})
	want := report.Counts{Pass: 2, Fail: 2, Inconclusive: 1, Skip: 1, Error: 1, Gating: 2, Known: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if area := (report.Result{ID: "tools/one"}).Area(); area != "tools" {
		t.Errorf("the area is %s", area)
	}
}

func TestParse(t *testing.T) {
	for _, name := range []catalogue.Profile{catalogue.Release, catalogue.Spec, catalogue.Strict} {
		if got, err := catalogue.ParseProfile(string(name)); got != name || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	for _, name := range report.CallPolicies {
		if got, err := report.ParseCallPolicy(string(name)); got != name || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := catalogue.ParseProfile("lax"); err == nil ||
		err.Error() != `unknown profile "lax" (have release, spec, strict, directory)` {
		t.Errorf("got %v", err)
	}
	if _, err := report.ParseCallPolicy("some"); err == nil ||
		err.Error() != `unknown call policy "some" (have safe, none, invalid, all)` {
		t.Errorf("got %v", err)
	}
}

// TestTentative checks that a check is tentative in versions before the release that introduces it, in that release and
// in its patches.
func TestTentative(t *testing.T) {
	all := catalogue.Catalogue{{ID: "a/old"}, {ID: "a/earlier", Since: "1.9"}, {ID: "a/new", Since: "1.10"}}
	for version, want := range map[string]string{
		"1.8.0": "a/earlier a/new", "1.9.7": "a/earlier a/new", "1.10.0": "a/new", "1.10.3": "a/new",
		"1.10.0-rc.1": "a/new", "1.11.0": "", "2.0.0": "", "devel": "a/new",
		"1.9.8-0.20260101000000-abcdef": "a/earlier a/new",
	} {
		var got []string
		for _, r := range all {
			if all.Tentative(version)(r) {
				got = append(got, r.ID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", version, got, want)
		}
	}
	held := report.Result{Verdict: catalogue.Fail, Gates: true, GatedBy: catalogue.GateMust}
	if held.Demote(); held.Gates || held.GatedBy != catalogue.NoGate || !held.Tentative ||
		held.Verdict != catalogue.Fail {
		t.Errorf("%+v", held)
	}
}
