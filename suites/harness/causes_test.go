package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// endsIn is a check that comes to a verdict, and yields one that yields.
var (
	endsIn = func(v Verdict) Check {
		return Probe(func(t *T) {
			switch v {
			case Fail:
				t.Fail("good", "bad")
			case Inconclusive:
				t.Inconclusive("who knows")
			case Skip:
				t.Skip("it does not apply")
			}
		})
	}
	yields = func(t *T) { t.Yield("src is not a string") }
)

// What a check says of another one's mistake is verified by what that one has come to.
func TestYield(t *testing.T) {
	again := func(t *T) { t.Because(OtherCheck).Again("src is not a string") }
	some := func(t *T) {
		Each(t, []string{"good", "bad"}, Named, func(t *T, name string) {
			if name == "bad" {
				yields(t)
			}
		})
	}
	none := func(t *T) {
		Each(t, []string{"absent", "bad"}, Named, func(t *T, name string) {
			if name == "bad" {
				yields(t)
			}
			t.Because(NotOffered).Skip("it is absent")
		})
	}
	sdk := Deviation{SDK: "one", Versions: "1.2"}
	others := []role{
		{id: "b/fails", check: endsIn(Fail)}, {id: "b/fails-too", check: endsIn(Fail), sdks: []Deviation{sdk}},
		{id: "b/passes", check: endsIn(Pass)}, {id: "b/skips", check: endsIn(Skip)},
		{id: "b/open", check: endsIn(Inconclusive)},
		{id: "b/watch-fails", check: Watch(func(t *T, _ Wire) { t.Fail("good", "bad") })},
		{id: "b/yields", check: Probe(yields), yields: []string{"b/fails"}},
		{id: "b/some", check: Probe(some), yields: []string{"b/fails"}},
		{id: "b/mutual", check: Probe(yields), yields: []string{"a/one"}},
	}
	for i := range 7 {
		others = append(others, role{id: fmt.Sprint("b/a", i+1), check: endsIn(Fail)})
	}
	for _, tt := range []struct {
		yields  string
		run     func(*T)
		verdict Verdict
		reason  Reason
		causes  string
		message string
	}{
		{"b/fails", yields, Skip, OtherCheck, "b/fails", "src is not a string: same cause as b/fails"},
		{"b/watch-fails", yields, Skip, OtherCheck, "b/watch-fails",
			"src is not a string: same cause as b/watch-fails"},
		{"b/passes b/fails*", yields, Skip, OtherCheck, "b/fails b/fails-too",
			"src is not a string: same cause as b/fails, b/fails-too"},
		{"b/yields", yields, Skip, OtherCheck, "b/fails", "src is not a string: same cause as b/fails"},
		{"b/some", yields, Skip, OtherCheck, "b/fails", "src is not a string: same cause as b/fails"},
		{"b/open b/passes", yields, Skip, OtherCheck, "b/open", "src is not a string: same cause as b/open"},
		{"b/passes b/skips", yields, Inconclusive, Undecided, "",
			"src is not a string, and no other check reports it"},
		{"b/mutual", yields, Inconclusive, Undecided, "", "src is not a string, and no other check reports it"},
		{"b/mutual b/fails", yields, Skip, OtherCheck, "b/fails", "src is not a string: same cause as b/fails"},
		{"b/fails", again, Inconclusive, OtherCheck, "b/fails", "src is not a string: same cause as b/fails"},
		{"b/passes", again, Inconclusive, Undecided, "", "src is not a string, and no other check reports it"},
		{"b/a*", yields, Skip, OtherCheck, "b/a1 b/a2 b/a3 b/a4 b/a5 b/a6 b/a7",
			"src is not a string: same cause as b/a1, b/a2, b/a3, b/a4, b/a5 and 2 more"},
		{"b/fails", none, Skip, OtherCheck, "b/fails", "src is not a string: same cause as b/fails"},
		{"b/fails", some, Pass, "", "", ""},
		{"b/passes", some, Pass, "", "",
			"1 of 2 variants could not be tested (bad: src is not a string), and no other check reports why"},
	} {
		first := role{id: "a/one", check: Probe(tt.run), yields: strings.Fields(tt.yields)}
		out := scene{cast: append([]role{first}, others...), options: Options{Profile: Strict}}.play(t)
		t.Log(tt.yields)
		out.want(t, "a/one", tt.verdict, tt.message)
		r := out.results["a/one"]
		if got := strings.Join(r.Causes, " "); r.Reason != tt.reason || got != tt.causes || r.Message != tt.message {
			t.Errorf("%s: got %s %q: %s", tt.yields, r.Reason, got, r.Message)
		}
		if gates := tt.verdict == Inconclusive; r.Gates != gates {
			t.Errorf("%s: it gates: %v", tt.yields, r.Gates)
		}
	}
}

// An entry that was not wanted may report it all the same.
func TestYieldToWhatIsNotTried(t *testing.T) {
	catalogue := Catalogue{
		{ID: "a/one", Revisions: []string{Newest}, YieldsTo: []string{"b/*"}},
		{ID: "b/one", Revisions: []string{Newest}},
		{ID: "b/web", Revisions: []string{Newest}, Transports: []string{"http"}},
		{ID: "b/planned", Revisions: []string{Newest}},
	}
	suite := Suite{"a/one": Watch(func(t *T, _ Wire) { yields(t) }), "b/one": endsIn(Pass), "b/web": endsIn(Pass)}
	server := &Server{Transport: "stdio", Revision: Newest}
	plan := Plan(catalogue, suite, server, func(r *Requirement) bool { return r.ID == "a/one" })
	results, _ := JudgeRecorded(server, plan, nil, Options{})
	if r := results[0]; r.Verdict != Skip || r.Message != "src is not a string: b/one judges that" {
		t.Errorf("got %s: %s", r.Verdict, r.Message)
	}
}

// A fail on messages on which an entry has failed to which this one yields is no second fail.
func TestDemote(t *testing.T) {
	fails := func(methods ...string) func(t *T) {
		return func(t *T) {
			s := t.Session()
			Each(t, methods, Named, func(t *T, method string) { t.Expect(t.Ask(s, method, nil)).To(BeResult()) })
		}
	}
	shared := func(t *T) { // the same message in all checks
		r := Step(t, "one", func(t *T) driver.Reply { return t.Ask(t.Session(), "one", nil) })
		t.Expect(r).To(BeResult())
	}
	errors := Watch(func(t *T, w Wire) {
		t.Judge(w.Errors(), func(t *T, m Message) { t.Fail("no error", "one") })
	})
	wrong := []line{{method: "one", does: refuses(-1)}, {method: "two", does: act{result: "5"}}}
	for _, tt := range []struct {
		name    string
		run     func(*T)
		yields  string
		verdict Verdict
	}{
		{"the same message", fails("one"), "b/errors", Skip},
		{"again", fails("one", "ping", "one"), "b/errors", Skip},
		{"another one as well", fails("one", "two"), "b/errors", Fail},
		{"another one", fails("two"), "b/errors", Fail},
		{"no message", func(t *T) { t.Fail("good", "bad") }, "b/errors", Fail},
		{"it yields to what does not fail", fails("one"), "b/passes", Fail},
		{"it yields to nothing", fails("one"), "", Fail},
		{"a lesser one", fails("one"), "b/lesser", Fail},
		{"it yields to what yields", shared, "b/too", Skip},
	} {
		out := scene{
			script: wrong,
			cast: []role{
				{id: "a/one", check: Probe(tt.run), yields: strings.Fields(tt.yields)},
				{id: "b/errors", check: errors}, {id: "b/passes", check: endsIn(Pass)},
				{id: "b/lesser", check: Watch(func(t *T, w Wire) {
					t.Judge(w.Errors(), func(t *T, m Message) { t.FailAt(Should, "no error", "one") })
				})},
				{id: "b/too", check: Probe(shared), yields: []string{"b/errors"}},
			},
			options: Options{Profile: Release},
		}.play(t)
		message := ""
		if tt.verdict == Skip {
			message = "same cause as b/errors"
		}
		t.Log(tt.name)
		out.want(t, "b/errors", Fail, "")
		out.want(t, "a/one", tt.verdict, message)
		r := out.results["a/one"]
		if r.Gates != (tt.verdict == Fail) || (r.Findings == nil) != (tt.verdict == Skip) || len(r.Where) == 0 {
			t.Errorf("%s: got %+v", tt.name, r)
		}
	}
}

// Of entries that yield to each other, one reports what all have failed on.
func TestDemoteInCircles(t *testing.T) {
	asks := Probe(func(t *T) {
		r := Step(t, "one", func(t *T) driver.Reply { return t.Ask(t.Session(), "one", nil) })
		t.Expect(r).To(BeResult())
	})
	for _, tt := range []struct{ one, two, three string }{
		{"a/two", "a/one", "a/one"},
		{"a/two", "a/three", "a/one"},
		{"a/*", "a/*", "a/*"},
	} {
		out := scene{
			script: script{{method: "one", does: refuses(-1)}},
			cast: []role{
				{id: "a/one", check: asks, yields: []string{tt.one}},
				{id: "a/two", check: asks, yields: []string{tt.two}},
				{id: "a/three", check: asks, yields: []string{tt.three}},
			},
		}.play(t)
		t.Log(tt)
		out.want(t, "a/one", Fail, "")
		out.want(t, "a/three", Skip, "same cause as a/one")
	}
}

// A mistake that an entry is about is the same one where watches do not look, after invalid input.
func TestDemoteMistakes(t *testing.T) {
	fails := Probe(func(t *T) { t.Expect(t.Ask(t.Hostile(), "one", nil)).To(BeError(-32601)) })
	partly := Probe(func(t *T) { t.Partly("something is left out") })
	for _, tt := range []struct {
		code    string
		cause   Check
		verdict Verdict
	}{
		{`"-32601"`, endsIn(Fail), Skip}, {"-32600.5", endsIn(Fail), Skip}, {"null", endsIn(Fail), Skip},
		{`"-32601"`, endsIn(Pass), Fail}, {`"-32601"`, partly, Fail},
		{"-32600", endsIn(Fail), Fail}, {"-32601.0", endsIn(Fail), Pass},
	} {
		const owner = "jsonrpc/error-code-integer"
		out := scene{
			script: script{{method: "one", does: act{code: tt.code}}},
			cast: []role{
				{id: "a/one", check: fails, yields: []string{owner}}, {id: owner, check: tt.cause},
			},
		}.play(t)
		t.Log(tt.code)
		out.want(t, "a/one", tt.verdict, "")
	}
}

func TestCheckYields(t *testing.T) {
	suite := Suite{"a/one": {}, "a/two": {}, "b/one": {}, "b/two": {}}
	for _, tt := range []struct{ one, two, want string }{
		{"[a/two, b/*]", "[b/one]", ""},
		{"[a/*]", "", ""},
		{"[a/thre]", "", `a/one: yields_to "a/thre" is not an entry that a check tries`},
		{"[a/planned]", "", `a/one: yields_to "a/planned" is not an entry that a check tries`},
		{"['[']", "", `a/one: yields_to "[": syntax error in pattern`},
		{"[a/one]", "", "a/one yields to itself"},
		{"[a/two]", "[a/one]", ""},
	} {
		const entries = "- {id: a/one, yields_to: %s}\n- {id: a/two, yields_to: %s}\n" +
			"- id: a/planned\n- id: b/one\n- {id: b/two, yields_to: [b/one]}\n"
		catalogue, err := ReadCatalogue(fmt.Appendf(nil, entries, tt.one, tt.two))
		if err == nil {
			err = catalogue.CheckYields(suite)
		}
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && got != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.one, tt.two, got, tt.want)
		}
	}
}
