package harness

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A failure comes from an SDK if every finding looks so and the server has said what only the SDK says. It stays a
// failure, and gates by the profile strict and where the operator wants it.
func TestKnownDeviation(t *testing.T) {
	pattern := func(expr string) Pattern { return Pattern{regexp.MustCompile(expr)} }
	says := script{{method: "tools/list", action: answersError(-32601)}} // with the message "no"
	fails := func(got ...string) func(*T) {
		return func(t *T) {
			t.TryRequest(t.Session(), "tools/list", nil)
			Each(t, got, NamedSubject, func(t *T, got string) { t.Fail("a result", "%s", got) })
		}
	}
	six := []string{"sdk 1", "sdk 2", "sdk 3", "sdk 4", "sdk 5", "sdk 6"}
	for _, tt := range []struct {
		name        string
		script      script
		check       func(*T)
		profile     Profile
		gate        bool
		isOf, gates bool
	}{
		{name: "release", script: says, check: fails("sdk"), profile: Release, isOf: true},
		{name: "spec", script: says, check: fails("sdk"), profile: Spec, isOf: true},
		{name: "strict", script: says, check: fails("sdk"), profile: Strict, isOf: true, gates: true},
		{name: "--sdk gate", script: says, check: fails("sdk"), profile: Release, gate: true, isOf: true, gates: true},
		{name: "something else came", script: says, check: fails("own"), profile: Release, gates: true},
		{name: "something else came, too", script: says, check: fails("sdk", "own"), profile: Release, gates: true},
		{name: "more findings than are told", script: says, check: fails(six...), profile: Release, isOf: true},
		{name: "an untold finding is another", script: says, check: fails(append(six, "own")...),
			profile: Release, gates: true},
		{name: "another server", check: fails("sdk"), profile: Release, gates: true},
		{name: "a result quotes the SDK", check: fails("sdk"), profile: Release, gates: true,
			script: script{{method: "tools/list", action: action{result: `{"message":"no"}`}}}},
		{name: "a result that is an error", profile: Release, check: fails("sdk"), isOf: true,
			script: script{{method: "tools/list", action: action{result: `{"isError":true,"message":"no"}`}}}},
		{name: "told when asked", script: script{{method: "mcpcheck/no-such-method", action: answersError(-32601)}},
			check: fails("sdk"), profile: Release, isOf: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := testRun{
				script: tt.script,
				checks: []testCheck{{id: "a/tried", check: Probe(tt.check), sdks: []Deviation{
					{SDK: "other", Versions: "1.0", Got: pattern("."), Fix: "?"},
					{
						SDK: "one", Versions: "1.2", Got: pattern("^sdk"), Issue: "https://example.com/1",
						Fix: "Wrap it.",
					},
				}}},
				options: Options{Jobs: 1, Profile: tt.profile, GateSDKs: tt.gate, SDKs: []SDK{
					{ID: "other", Name: "Other", Errors: []ErrorPatterns{{pattern("never")}}},
					{ID: "one", Name: "One 1.x",
						Errors: []ErrorPatterns{{pattern("never")}, {pattern(`"message":"no"`)}}},
				}},
			}.run(t)
			r := out.results["a/tried"]
			fix, want := "fix of a/tried", (*SDKInfo)(nil)
			if tt.isOf {
				fix = "Nothing in your code. Wrap it."
				want = &SDKInfo{ID: "one", Name: "One 1.x", Versions: "1.2", Issue: "https://example.com/1"}
			}
			if diff := cmp.Diff(want, r.SDK); diff != "" || r.Fix != fix {
				t.Errorf("%s fix: %s", diff, r.Fix)
			}
			if r.Verdict != Fail || r.Level != Must || r.Gates != tt.gates || (r.GatedBy == GateMust) != tt.gates {
				t.Errorf("got %s at %s, gates %v by %q", r.Verdict, r.Level, r.Gates, r.GatedBy)
			}
			if count := Count([]Result{r}); count.SDK == 1 != (tt.isOf && !tt.gates) {
				t.Errorf("it is counted as %+v", count)
			}
		})
	}
}

// A failure that tells of no finding has none that an SDK could explain.
func TestFailWithoutFindingsHasNoDeviation(t *testing.T) {
	all := Pattern{regexp.MustCompile("")}
	c := Case{Requirement: &Requirement{SDKs: []Deviation{{SDK: "one", Got: all}}}}
	e := &Execution{options: Options{SDKs: []SDK{{ID: "one"}}}}
	if got := e.deviations(c, outcome{verdict: Fail}); got != nil {
		t.Errorf("got %v", got)
	}
	if got := e.deviations(c, outcome{verdict: Fail, findings: []Finding{{Got: "this"}}}); len(got) != 1 {
		t.Errorf("with a finding: got %v", got)
	}
}

// Without known SDKs nothing is asked for their sake.
func TestNoNeedlessSDKProbes(t *testing.T) {
	out := testRun{checks: []testCheck{{id: "a/tried", check: Probe(func(t *T) { t.Session(); t.Fail("this", "sdk") }),
		sdks: []Deviation{{SDK: "one", Got: Pattern{regexp.MustCompile("sdk")}}}}}}.run(t)
	if n := out.countReceived("mcpcheck/no-such-method"); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// What tells an SDK is asked for without harm: no tool is called that may not be called with arguments like that.
func TestSDKProbes(t *testing.T) {
	tool := func(name string, required []any, hints M) M {
		return M{"name": name, "inputSchema": M{"required": required}, "annotations": hints}
	}
	readOnly, destructive := M{"readOnlyHint": true}, M{"destructiveHint": true}
	need := []any{"a"}
	const strangers = "tools/call, tools/call 5, tools/call mcpcheck_no_such_tool"
	for _, tt := range []struct {
		calls CallPolicy
		tools []M
		want  string
	}{
		{CallsNone, []M{tool("one", need, readOnly)}, "mcpcheck/no-such-method"},
		{CallsSafe, nil, "mcpcheck/no-such-method, " + strangers},
		{CallsSafe, []M{tool("drop", need, destructive), tool("none", nil, readOnly)},
			"mcpcheck/no-such-method, " + strangers},
		{CallsSafe, []M{tool("drop", need, destructive), tool("one", need, readOnly), tool("two", need, readOnly)},
			"mcpcheck/no-such-method, tools/call one, " + strangers},
	} {
		e := &Execution{options: Options{Calls: tt.calls}, server: &Server{Tools: tt.tools}}
		var asked []string
		for _, r := range e.sdkProbes() {
			asked = append(asked, strings.TrimSuffix(fmt.Sprint(r.Method, " ", r.Params["name"]), " <nil>"))
		}
		if got := strings.Join(asked, ", "); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.calls, got, tt.want)
		}
	}
}

func TestCheckSDKs(t *testing.T) {
	sdks := []SDK{{ID: "one"}}
	for _, tt := range []struct{ deviation, want string }{
		{"{sdk: one, versions: '1.2', got: x, fix: y}", ""},
		{"{sdk: one, versions: 1.2 to 2.0, got: x, fix: y, issue: 'https://example.com/1', read: true}", ""},
		{"{sdk: two, versions: '1.2', got: x, fix: y}", `a/b: unknown SDK "two"`},
		{"{sdk: one, versions: all, got: x, fix: y}", `a/b: versions "all" of one (want 1.2, or 1.2 to 1.4)`},
		{"{sdk: one, versions: '1.2', fix: y}", "a/b: the deviation of one wants got and fix"},
		{"{sdk: one, versions: '1.2', got: x}", "a/b: the deviation of one wants got and fix"},
		{"{sdk: one, versions: '1.2', got: x, fix: y, issue: '#1'}", "a/b: the issue of one is not a URL"},
		{"{sdk: one, got: '['}", "2:26: error parsing regexp: missing closing ]: `[`"},
		{"{sdk: one, name: x}", "2:3: field name not found in type harness.Deviation"},
	} {
		catalogue, err := ReadCatalogue(fmt.Appendf(nil, "- id: a/b\n  sdks: [%s]\n", tt.deviation))
		if err == nil {
			err = catalogue.CheckSDKs(sdks)
		}
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.deviation, got, tt.want)
		}
	}
}

// Of several texts that others may say as well, all are wanted, whichever errors they are in.
func TestErrorPatterns(t *testing.T) {
	sdks, err := ReadSDKs([]byte("- says: ['never', ['one', 'two']]"))
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]bool{
		"one": false, "two|other": false, "one two": true, "other|two|one": true, "": false,
	} {
		if got := sdks[0].Matches(bytes.Split([]byte(said), []byte("|"))...); got != want {
			t.Errorf("%s: got %v", said, got)
		}
	}
}

func TestReadSDKs(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"- {id: one, name: One, says: ['x', ['y', 'z']]}\n", "<nil>"},
		{"- id: one\n  says: [['(']]\n", "2:11: error parsing regexp: missing closing ): `(`"},
		{"- id: one\n  says: ['(']\n", "2:10: error parsing regexp: missing closing ): `(`"},
		{"- id: one\n  say: [x]\n", "2:3: field say not found in type harness.SDK"},
	} {
		if _, err := ReadSDKs([]byte(tt.text)); fmt.Sprint(err) != tt.want {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}
