package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestSessions checks that a check has one session of each kind, which the steps in it share, also in a confirmation.
func TestSessions(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		var got []string
		had := func(name string, s *driver.Session) {
			got = append(got, strings.Replace(s.Name(), "session", name, 1))
		}
		out := testRun{
			checks: []testCheck{{id: "a/sessions", check: check.Probe(func(t *check.T) {
				check.Step(t, "earlier step", func(t *check.T) bool { had("in a step", t.Session()); return true })
				had("clean", t.Session())
				had("invalid", t.Session(check.ForInvalidInput))
				had("clean", t.Session())
				check.Step(t, "step", func(t *check.T) bool { had("in a step", t.Session()); return true })
				had("of its own", t.Session(check.Exclusive))
				had("new", t.Session(check.Process))
			})}},
			options: Options{Jobs: 1, Isolate: isolate},
		}.run(t)
		out.wantVerdict(t, "a/sessions", catalogue.Pass, "")
		want := []string{
			"in a step 1", "clean 1", "invalid 2", "clean 1", "in a step 1", "of its own 3", "new 4",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("isolate %v: %s", isolate, diff)
		}
	}
}

// TestSessionsWithoutDeadlock checks that no two checks wait for each other's sessions, whatever the order of their
// requests.
func TestSessionsWithoutDeadlock(t *testing.T) {
	take := map[string]func(*check.T){"clean": func(t *check.T) { t.Session() },
		"invalid": func(t *check.T) { t.Session(check.ForInvalidInput) }}
	taking := func(kinds string) check.Check {
		return check.Probe(func(t *check.T) {
			for kind := range strings.FieldsSeq(kinds) {
				take[kind](t)
				time.Sleep(time.Second) // so that the others get theirs
			}
			check.Parallel(t, 2, func(t *check.T, _ int) { t.Session() })
		})
	}
	out := testRun{
		checks: []testCheck{
			{id: "a/one", check: taking("clean invalid")}, {id: "a/two", check: taking("invalid clean")},
			{id: "a/three", check: taking("clean invalid")}, {id: "a/four", check: taking("invalid clean")},
		},
		options: Options{Jobs: 4},
	}.run(t)
	for id := range out.results {
		out.wantVerdict(t, id, catalogue.Pass, "")
	}
}

// TestSessionStart checks what a server receives for each kind of session, and that a check that ends a session has
// one.
func TestSessionStart(t *testing.T) {
	tests := []struct {
		name     string
		check    check.Check
		received string
	}{
		{"new", check.ProcessProbe(func(t *check.T) { t.Session(check.Process) }), ""},
		{"with options",
			check.ProcessProbe(func(t *check.T) { t.Session(check.ProcessWith(driver.Options{DiscardStderr: true})) }),
			""},
		{"established", check.Probe(func(t *check.T) { t.Session(check.Exclusive) }),
			"1 initialize, 1 notifications/initialized, 1 ping"},
		{"to be ended, pooled", check.ShutdownProbe(func(t *check.T) { t.Send(t.Session(check.ToEnd), "last", nil) }),
			"1 initialize, 1 notifications/initialized, 1 last"},
	}
	for _, tt := range tests {
		out := testRun{
			checks: []testCheck{{id: "a/one", check: tt.check}}, options: Options{Jobs: 1},
			withDiscovery: strings.HasSuffix(tt.name, "pooled"),
		}.run(t)
		out.wantVerdict(t, "a/one", catalogue.Pass, "")
		if got := strings.Join(out.received, ", "); got != tt.received {
			t.Errorf("%s: the server received %s", tt.name, got)
		}
	}
}

// TestRequestsOfOtherChecks checks that a check is inconclusive if the server fails in something that other checks
// judge.
func TestRequestsOfOtherChecks(t *testing.T) {
	const silence, death = "no answer to list within 5s (--timeout)", "the server exited with status 1"
	ask := func(t *check.T) { t.Send(t.Session(check.Exclusive), "list", nil) }
	pages := func(t *check.T) { check.FollowPages(t, t.Session(check.Exclusive), "list", "items", func(check.M) {}) }
	settle := func(t *check.T) {
		s := t.Session(check.Exclusive)
		mark := s.Mark()
		s.Notify("list", nil)
		for _, f := range check.Barrier(t, s, mark) {
			t.Fail("nothing", "%s", f.Raw.Bytes())
		}
	}
	tests := []struct {
		name    string
		does    action
		run     func(*check.T)
		verdict catalogue.Verdict
		message string
	}{
		{"an answer", action{}, ask, catalogue.Pass, ""},
		{"an error", answersError(-1), ask, catalogue.Pass, ""},
		{"silence", staysSilent, ask, catalogue.Inconclusive, silence},
		{"death", exits, ask, catalogue.Inconclusive, death},
		{"a list", action{result: `{"items":[]}`}, pages, catalogue.Pass, ""},
		{"a result that is not a list", action{result: `{}`}, pages, catalogue.Inconclusive,
			`the result of list has no array "items"`},
		{"no reaction to a notification", action{}, settle, catalogue.Pass, ""},
		{"a reaction to a notification", writes(`{"method":"oh"}`), settle, catalogue.Fail,
			"expected nothing\ngot {\"method\":\"oh\"}"},
		{"an exit", exits, settle, catalogue.Inconclusive, death},
	}
	for _, tt := range tests {
		out := testRun{
			script: script{{method: "list", action: tt.does}},
			checks: []testCheck{{id: "a/one", check: check.Probe(tt.run)}},
		}.run(t)
		t.Log(tt.name)
		out.wantVerdict(t, "a/one", tt.verdict, tt.message)
	}
}

// TestConfirmationReleasesSessions checks that the sessions of the first attempt are released before the confirmation.
func TestConfirmationReleasesSessions(t *testing.T) {
	held, wanted := make(chan struct{}), make(chan struct{})
	testRun{
		checks: []testCheck{
			{id: "a/one", check: check.Probe(func(t *check.T) {
				if !t.IsConfirmation() {
					t.Session()
					check.NeedsConfirmation(t)
					close(held)
					<-wanted
					t.Fail("nothing", "this")
				}
				check.Step(t, "x", func(*check.T) bool { return true })
			})},
			{id: "a/two", check: check.Probe(func(t *check.T) {
				check.Step(t, "x", func(t *check.T) bool {
					<-held
					close(wanted)
					t.Session()
					return true
				})
			})},
		},
		options: Options{Jobs: 4},
	}.run(t).wantVerdict(t, "a/one", catalogue.Pass, "")
}

// TestSessionReusedForInvalidInput checks that a check that wants a session for invalid input waits for the one of a
// check that offers its process, and that a new one is opened if that is not usable.
func TestSessionReusedForInvalidInput(t *testing.T) {
	for _, jobs := range []int{1, 4} {
		for good, want := range map[bool]int32{true: 1, false: 2} {
			promised := check.ProcessProbe(func(t *check.T) {
				s := t.Session(check.Process)
				s.MarkInvalidInputFromStart()
				time.Sleep(time.Second) // others would open a session meanwhile
				if good {
					s.Open(driver.ConnectParams(t.Revision))
				}
			}).ReusedForInvalidInput()
			invalidInput := check.Probe(func(t *check.T) { t.Send(t.Session(check.ForInvalidInput), "list", nil) })
			out := testRun{
				checks:  []testCheck{{id: "a/one", check: invalidInput}, {id: "a/promised", check: promised}},
				options: Options{Jobs: jobs},
			}.run(t)
			for id := range out.results {
				out.wantVerdict(t, id, catalogue.Pass, "")
			}
			if got := int32(len(out.sessions)); got != want {
				t.Errorf("%d jobs, usable process %v: %d sessions, want %d", jobs, good, got, want)
			}
		}
	}
}

// TestSavedRequestsAreSaid checks that a pass of a slow server says that less was tried, also if a step tried less.
func TestSavedRequestsAreSaid(t *testing.T) {
	saves := func(t *check.T) bool { return check.SavesRequests(t) }
	for _, latency := range []time.Duration{50 * time.Millisecond, 350 * time.Millisecond} {
		out := testRun{
			server: check.Server{Latency: latency},
			checks: []testCheck{
				{id: "a/itself", check: check.Probe(func(t *check.T) { saves(t) })},
				{id: "a/step", check: check.Probe(func(t *check.T) { check.Step(t, "step", saves) })},
				{id: "a/reader", check: check.Probe(func(t *check.T) { check.Step(t, "step", saves) })},
				{id: "a/whole", check: check.Probe(func(*check.T) {})},
			},
			options: Options{Jobs: 1},
		}.run(t)
		for id, r := range out.results {
			saved := latency > 100*time.Millisecond && id != "a/whole"
			if said := strings.Contains(r.Message, "fewer variants"); r.Verdict != catalogue.Pass || said != saved {
				t.Errorf("latency %v, %s: got %s: %q", latency, id, r.Verdict, r.Message)
			}
		}
	}
}
