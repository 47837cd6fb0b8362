package check

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// outcomeOf returns the outcome of a check of a MUST that needs no server.
func outcomeOf(run func(*T)) attempt.Outcome {
	return outcomeAt(catalogue.ByRevision[catalogue.Level]{All: catalogue.Must}, catalogue.NewestLegacy, run)
}

// outcomeAt returns the outcome of a check of a requirement with these levels, judged by a revision.
func outcomeAt(level catalogue.ByRevision[catalogue.Level], revision string, run func(*T)) attempt.Outcome {
	used := &attempt.Scope{}
	t := &T{attempt: &attempt.Attempt{
		Run: &attempt.Run{}, Requirement: &catalogue.Requirement{Level: level}, JudgedBy: revision, Scope: used,
	}}
	return used.Try(context.Background(), func() { run(t) })
}

// endAsNamed is a check of one value, whose first word says how it ends: "fail oh".
func endAsNamed(t *T, value string) {
	how, message, _ := strings.Cut(value, " ")
	switch how {
	case "warn":
		t.FailAt(catalogue.Should, message, "that")
	case "note":
		t.FailAt(catalogue.Advice, message, "that")
	default:
		endCheck(t, how, message)
	}
}

// TestJudgeIsCapped checks that only the first of very many messages are judged, and that a caveat says so.
func TestJudgeIsCapped(t *testing.T) {
	judged := 0
	o := outcomeOf(func(t *T) {
		flood := Messages{Kind: "message", List: make([]Message, maxJudged+7)}
		t.Judge(flood, func(*T, Message) { judged++ })
	})
	if judged != maxJudged || o.Verdict != catalogue.Pass || o.Message != "7 of 5007 were not judged: it is a flood" {
		t.Errorf("%d messages were judged: %v: %s", judged, o.Verdict, o.Message)
	}
}

// subjectWithValue returns a subject with a name and a value.
func subjectWithValue(value string) Subject {
	return Subject{Name: "<" + value + ">", Value: M{"is": value}}
}

// TestEach checks that any fail is a fail which names what failed, that otherwise one pass is a pass, and that a check
// never passes without having observed something.
func TestEach(t *testing.T) {
	tests := []struct {
		name     string
		values   []string
		verdict  catalogue.Verdict
		level    catalogue.Level
		message  string
		subjects []string
		evidence string
	}{
		{"all pass", []string{"pass", "pass"}, catalogue.Pass, 0, "", nil, ""},
		{"nothing", nil, catalogue.Skip, 0, "there is nothing to try it on", nil, ""},
		{"one passes", []string{"skip a", "pass"}, catalogue.Pass, 0, "", nil, ""},
		{"one passes, and some could not be tried", []string{"open a", "pass", "open a", "skip b", "open c"},
			catalogue.Pass, 0,
			"3 of 4 variants could not be tested (<open a>: a; <open c>: c)", nil, ""},
		{"one could not be tried", []string{"skip a", "open b", "open c"}, catalogue.Inconclusive, 0, "b", nil, ""},
		{"none applies", []string{"skip a", "skip b"}, catalogue.Skip, 0, "a", nil, ""},
		{"one fails", []string{"pass", "fail a", "open b"}, catalogue.Fail, catalogue.Must,
			"<fail a>:\n  expected a\n  got that", []string{"<fail a>"}, `{"is":"fail a"}`},
		{"two fail", []string{"fail a", "fail b"}, catalogue.Fail, catalogue.Must,
			"<fail a>:\n  expected a\n  got that\n<fail b>:\n  expected b\n  got that",
			[]string{"<fail a>", "<fail b>"},
			`{"is":"fail a"} {"is":"fail b"}`},
		{"the same twice", []string{"fail a", "fail a"}, catalogue.Fail, catalogue.Must,
			"<fail a>:\n  expected a\n  got that", []string{"<fail a>"}, `{"is":"fail a"}`},
		{"the highest level counts", []string{"note a", "warn b", "fail c", "warn d"}, catalogue.Fail, catalogue.Must,
			"<fail c>:\n  expected c\n  got that", []string{"<fail c>"}, `{"is":"fail c"}`},
		{"also if it comes last", []string{"note a", "note b", "note c", "note d", "note e", "warn f"}, catalogue.Fail,
			catalogue.Should,
			"<warn f>:\n  expected f\n  got that", []string{"<warn f>"}, `{"is":"warn f"}`},
	}
	for _, tt := range tests {
		o := outcomeOf(func(t *T) { Each(t, tt.values, subjectWithValue, endAsNamed) })
		var shown []string
		for _, l := range o.Lines {
			shown = append(shown, l.Text)
		}
		if o.Verdict != tt.verdict || o.Level != tt.level || o.Message != tt.message {
			t.Errorf("%s: got %+v", tt.name, o)
		}
		if diff := cmp.Diff(tt.subjects, o.Subjects); diff != "" || strings.Join(shown, " ") != tt.evidence {
			t.Errorf("%s: %s, evidence %v", tt.name, diff, shown)
		}
	}
}

// TestEachLimitsFindings checks that all findings are named and the first few of them shown.
func TestEachLimitsFindings(t *testing.T) {
	var values []string
	for i := range 7 {
		values = append(values, fmt.Sprint("fail ", i))
	}
	o := outcomeOf(func(t *T) { Each(t, values, subjectWithValue, endAsNamed) })
	if got := strings.Count(o.Message, "expected "); got != report.MaxFindings || len(o.Lines) != report.MaxFindings {
		t.Errorf("%d findings are shown, with %d lines", got, len(o.Lines))
	}
	if len(o.Subjects) != 7 || len(o.Locations) != 7 {
		t.Errorf("got subjects %v at %v", o.Subjects, o.Locations)
	}
}

// TestEachLimitsReasons checks that only the first few of many reasons are shown.
func TestEachLimitsReasons(t *testing.T) {
	values := []string{"pass"}
	for i := range 7 {
		values = append(values, fmt.Sprint("open ", i))
	}
	const want = "7 of 8 variants could not be tested " +
		"(<open 0>: 0; <open 1>: 1; <open 2>: 2; <open 3>: 3; <open 4>: 4; …)"
	if o := outcomeOf(func(t *T) { Each(t, values, subjectWithValue, endAsNamed) }); o.Message != want {
		t.Errorf("got %q", o.Message)
	}
}

// TestCaveat checks that only a pass shows what it does not cover.
func TestCaveat(t *testing.T) {
	for end, want := range map[string]string{"pass": "a\nb", "fail c": "expected c\ngot that", "skip c": "c"} {
		o := outcomeOf(func(t *T) {
			t.Caveat("%s", "a")
			Each(t, []string{"pass"}, subjectWithValue, func(t *T, _ string) { t.Caveat("b") })
			endAsNamed(t, end)
		})
		if o.Message != want {
			t.Errorf("%s: got %q, want %q", end, o.Message, want)
		}
	}
}

// TestEachPanics checks that a panic in one part is an internal error of the whole check.
func TestEachPanics(t *testing.T) {
	if o := outcomeOf(func(t *T) {
		Each(t, []string{"pass", "panic oh"}, NamedSubject,
			endAsNamed)
	}); o.Verdict != catalogue.Error {
		t.Errorf("got %+v", o)
	}
}

// TestJudge checks that a check is skipped if the server sent nothing to judge, and that its evidence shows the
// message.
func TestJudge(t *testing.T) {
	request := &driver.Frame{Side: driver.FromClient, Raw: driver.Text("asked")}
	answer := &driver.Frame{Side: driver.FromServer, Raw: driver.Text("said")}
	tests := []struct {
		name     string
		list     []Message
		verdict  catalogue.Verdict
		message  string
		evidence string
	}{
		{"none", nil, catalogue.Skip, "the server sent no word", ""},
		{"one", []Message{{Frame: answer, Request: request}}, catalogue.Fail, "expected nothing\ngot said",
			"→ asked ← said"},
		{"a response to no request", []Message{{Frame: answer}}, catalogue.Fail, "expected nothing\ngot said",
			"← said"},
	}
	for _, tt := range tests {
		judge := func(t *T, m Message) { t.Fail("nothing", "%s", m.Raw.Bytes()) }
		for _, run := range []func(*T){
			func(t *T) { t.Judge(Messages{Kind: "word", List: tt.list}, judge) },
			func(t *T) { Judge(t, "word", tt.list, Message.Subject, judge) },
		} {
			o := outcomeOf(run)
			var shown []string
			for _, l := range o.Lines {
				shown = append(shown, l.Arrow+" "+l.Text)
			}
			if o.Verdict != tt.verdict || o.Message != tt.message || o.Subjects != nil {
				t.Errorf("%s: got %+v", tt.name, o)
			}
			if got := strings.Join(shown, " "); got != tt.evidence {
				t.Errorf("%s: the evidence is %s, want %s", tt.name, got, tt.evidence)
			}
		}
	}
}

// TestValuesAreParts checks that the value of a subject is shown as a part of a message, in the direction it was sent.
func TestValuesAreParts(t *testing.T) {
	for arrow, s := range map[string]Subject{
		"←": {Name: "tool", Value: M{"name": "tool"}},
		"→": {Name: "params", Value: M{"name": "params"}, FromClient: true},
	} {
		lines := outcomeOf(func(t *T) { t.Each([]Subject{s}, func(t *T, _ Subject) { t.Fail("nothing", "it") }) }).Lines
		if len(lines) != 1 || lines[0].Arrow != arrow || !lines[0].Part {
			t.Errorf("%s is shown as %+v, want %s and Part", s.Name, lines, arrow)
		}
	}
}

// TestEachSubject checks that subjects can be values.
func TestEachSubject(t *testing.T) {
	o := outcomeOf(func(t *T) {
		t.Each([]Subject{NamedSubject("one"), NamedSubject("two")},
			func(t *T, s Subject) { t.Expect(s.Name).To(BeOneOf("one")) })
	})
	if !slices.Equal(o.Subjects, []string{"two"}) || o.Message != "two:\n  expected \"one\"\n  got \"two\"" ||
		o.Lines != nil {
		t.Errorf("got %+v", o)
	}
}

// TestAssertions checks that an assertion fails at its own level, but at most at that of the requirement, and that its
// location is reported.
func TestAssertions(t *testing.T) {
	const must, should, may, advice = catalogue.Must, catalogue.Should, catalogue.May, catalogue.Advice
	tests := []struct {
		name string
		run  func(*T)
		// must, should and may are the levels of the fail for requirements of these levels.
		must, should, may catalogue.Level
	}{
		{"Expect", func(t *T) { t.Expect(1).To(BeOneOf(2)) }, must, should, may},
		{"ExpectShould", func(t *T) { t.ExpectShould(1).To(BeOneOf(2)) }, should, should, may},
		{"ExpectAdvice", func(t *T) { t.ExpectAdvice(1).To(BeOneOf(2)) }, advice, advice, advice},
		{"Fail", func(t *T) { t.Fail("2", "%d", 1) }, must, should, may},
		{"FailAt", func(t *T) { t.FailAt(should, "2", "%d", 1) }, should, should, may},
	}
	_, _, line, _ := runtime.Caller(0)
	for i, tt := range tests {
		where := fmt.Sprintf("check/collect_test.go:%d", line-len(tests)-1+i)
		for entry, want := range map[catalogue.Level]catalogue.Level{catalogue.Must: tt.must,
			catalogue.Should: tt.should, catalogue.May: tt.may} {
			by := catalogue.ByRevision[catalogue.Level]{All: catalogue.Advice,
				Values: map[string]catalogue.Level{"2025-03-26": entry}}
			o := outcomeAt(by, "2025-03-26", tt.run)
			if o.Verdict != catalogue.Fail || o.Level != want || o.Message != "expected 2\ngot 1" ||
				!slices.Equal(o.Locations, []string{where}) {
				t.Errorf("%s of a %s: got %+v, want %s at %s", tt.name, entry, o, want, where)
			}
		}
	}
	o := outcomeOf(func(t *T) { t.Expect(1).To(BeOneOf(1), "it"); t.Expect(1).To(BeOneOf(2), "it") })
	if o.Message != "it\nexpected 2\ngot 1" {
		t.Errorf("got %q", o.Message)
	}
}

// endCheck ends a check, or a part of it, in the named way.
func endCheck(t *T, how, message string) {
	switch how {
	case "skip":
		t.Skip(NotApplicable, "%s", message)
	case "open":
		t.NoVerdict(Undecided, "%s", message)
	case "fail":
		t.Fail(message, "that")
	case "panic":
		panic(message)
	}
}
