package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// TestSessions checks that a check has one session of each kind, which the steps in it share, also in a confirmation.
func TestSessions(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		var got []string
		had := func(name string, s *driver.Session) {
			got = append(got, strings.Replace(s.Name(), "session", name, 1))
		}
		out := testRun{
			checks: []testCheck{{id: "a/sessions", check: Probe(func(t *T) {
				Step(t, "earlier step", func(t *T) bool { had("in a step", t.Session()); return true })
				had("clean", t.Session())
				had("invalid", t.Session(ForInvalidInput))
				had("clean", t.Session())
				Step(t, "step", func(t *T) bool { had("in a step", t.Session()); return true })
				had("of its own", t.Session(Exclusive))
				had("new", t.Session(Process))
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
	take := map[string]func(*T){"clean": func(t *T) { t.Session() },
		"invalid": func(t *T) { t.Session(ForInvalidInput) }}
	taking := func(kinds string) Check {
		return Probe(func(t *T) {
			for kind := range strings.FieldsSeq(kinds) {
				take[kind](t)
				time.Sleep(time.Second) // so that the others get theirs
			}
			Parallel(t, 2, func(t *T, _ int) { t.Session() })
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
		check    Check
		received string
	}{
		{"new", ProcessProbe(func(t *T) { t.Session(Process) }), ""},
		{"with options", ProcessProbe(func(t *T) { t.Session(ProcessWith(driver.Options{DiscardStderr: true})) }), ""},
		{"established", Probe(func(t *T) { t.Session(Exclusive) }),
			"1 initialize, 1 notifications/initialized, 1 ping"},
		{"to be ended, pooled", ShutdownProbe(func(t *T) { t.Send(t.Session(ToEnd), "last", nil) }),
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
	ask := func(t *T) { t.Send(t.Session(Exclusive), "list", nil) }
	pages := func(t *T) { FollowPages(t, t.Session(Exclusive), "list", "items", func(M) {}) }
	settle := func(t *T) {
		s := t.Session(Exclusive)
		mark := s.Mark()
		s.Notify("list", nil)
		for _, f := range Barrier(t, s, mark) {
			t.Fail("nothing", "%s", f.Raw.Bytes())
		}
	}
	tests := []struct {
		name    string
		does    action
		run     func(*T)
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
			script: script{{method: "list", action: tt.does}}, checks: []testCheck{{id: "a/one", check: Probe(tt.run)}},
		}.run(t)
		t.Log(tt.name)
		out.wantVerdict(t, "a/one", tt.verdict, tt.message)
	}
}

// TestListAll checks that lists are read to their end, however servers use cursors.
func TestListAll(t *testing.T) {
	page := func(nth int, items string, next ...string) rule {
		result := M{"items": json.RawMessage(items)}
		if len(next) > 0 {
			result["nextCursor"] = next[0]
		}
		return rule{method: "list", nth: nth, action: action{result: string(text.CompactJSON(result))}}
	}
	const circle = `the pages of list do not come to an end: the cursor "x" brings one that came before`
	tests := []struct {
		name   string
		script script
		// asked has the cursors that were sent, after that of the caller.
		asked string
		items string
		err   string
	}{
		{"one page", script{page(0, `[1,{"a":2}]`)}, "", `[1,{"a":2}]`, ""},
		{"two pages", script{page(1, "[1]", "x"), page(2, "[2]")}, " x", "[1,2]", ""},
		{"an empty page between", script{page(1, "[1]", "x"), page(2, "[]", "y"), page(3, "[2]")}, " x y", "[1,2]", ""},
		{"a repeated page", script{page(0, "[1]", "x")}, " x", "[1]", circle},
		{"a repeated page in another order", script{page(1, "[1,2]", "x"), page(2, "[2,1]", "x")}, " x", "[1,2]",
			circle},
		{"one cursor for all pages", script{
			page(1, "[1]", "x"), page(2, "[2]", "x"), page(3, "[3]"),
		}, " x x", "[1,2,3]", ""},
		{"a page with other cursors", script{
			page(1, "[1]", "x"), page(2, "[1]", "y"), page(3, "[2]"),
		}, " x y", "[1,1,2]", ""},
		{"pages after an empty cursor", script{
			page(1, "[1]", ""), page(2, "[2]", ""), page(3, "[3]"),
		}, "  ", "[1,2,3]", ""},
		{"an empty cursor that leads to the beginning", script{
			page(1, "[1]", "x"), page(2, "[2]", ""), page(3, "[1]", "y"),
		}, " x ", "[1,2]", ""},
		{"an empty cursor that causes an error", script{
			page(1, "[1]", ""), {method: "list", nth: 2, action: answersError(-32602)},
		}, " ", "[1]", ""},
		{"a cursor that is not a string", script{{
			method: "list", action: action{result: `{"items":[1],"nextCursor":7}`},
		}}, "", "[1]", ""},
		{"a page that is not a list", script{page(1, "[1]", "x"), page(2, "{}")}, " x", "[1]",
			`the result of list has no array "items" (of page 2 or later)`},
		{"an error", script{{method: "list", action: answersError(-7)}}, "", "null",
			"list was answered with error -7: no"},
		{"silence", script{{method: "list", action: staysSilent}}, "", "null",
			"no answer to list within 5s (--timeout)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items, asked, err := listAllItems(t, tt.script)
			if got := string(text.CompactJSON(items)); got != tt.items || fmt.Sprint(err) != fmt.Sprint(orNil(tt.err)) {
				t.Errorf("got %s, %v", got, err)
			}
			if asked != "mine"+tt.asked {
				t.Errorf("the cursors were %q", asked)
			}
		})
	}
}

// TestListAllIsBounded checks that endless lists are given up with the right error: for repeated pages, or for ever new
// ones.
func TestListAllIsBounded(t *testing.T) {
	many := func(items string) (all script) {
		for i := range 2 * maxPages {
			result := strings.ReplaceAll(fmt.Sprintf(`{"items":%s,"nextCursor":"c%d"}`, items, i), "N", fmt.Sprint(i))
			all = append(all, rule{method: "list", nth: i + 1, action: action{result: result}})
		}
		return all
	}
	items, _, err := listAllItems(t, many("[1]"))
	if endless := (*EndlessListError)(nil); !errors.As(err, &endless) || len(items) != maxRepeatedPages {
		t.Errorf("repeated pages: %d, %v", len(items), err)
	}
	if _, _, err = listAllItems(t, many("[N]")); !errors.Is(err, ErrTooManyPages) {
		t.Errorf("new pages: %v", err)
	}
}

// listAllItems requests all items of a list from a scripted server. It also returns the cursors that were sent.
func listAllItems(t *testing.T, script script) (items []any, asked string, err error) {
	synctest.Test(t, func(t *testing.T) {
		stage := &fakeServer{script: script}
		s := establishedSession(t, t.Context(), driver.Target{Serve: stage.serve})
		defer s.Close()
		items, err = ListAll(s, "list", "items", M{"cursor": "mine", "other": true})
		var cursors []string
		for _, f := range s.FramesSince(0) {
			if f.Method != "list" {
				continue
			}
			params, _ := f.JSON()["params"].(M)
			cursors = append(cursors, params["cursor"].(string))
			if params["other"] != true {
				t.Errorf("the other params were lost: %s", f.Raw.Bytes())
			}
		}
		asked = strings.Join(cursors, " ")
	})
	return items, asked, err
}

// orNil returns an error text as it would be printed, and nil for an empty one.
func orNil(message string) any {
	if message == "" {
		return nil
	}
	return message
}

func TestObjects(t *testing.T) {
	got := Objects([]any{1, M{"a": 1}, nil, "x", M{}})
	if diff := cmp.Diff([]M{{"a": 1}, {}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestInfo(t *testing.T) {
	server := &Server{
		ConnectResult: M{"serverInfo": M{"name": "n", "version": 7}},
		Capabilities:  M{"tools": M{}, "logging": M{}, "prompts": nil}, Tools: []M{{}, {}},
	}
	want := report.ServerInfo{Name: "n", Capabilities: []string{"logging", "tools"}, Tools: 2}
	if diff := cmp.Diff(want, server.Info()); diff != "" {
		t.Error(diff)
	}
	if !server.Declares("tools") || server.Declares("prompts") || server.Declares("tasks") {
		t.Error("Declares is wrong")
	}
}

// TestConfirmationReleasesSessions checks that the sessions of the first attempt are released before the confirmation.
func TestConfirmationReleasesSessions(t *testing.T) {
	held, wanted := make(chan struct{}), make(chan struct{})
	testRun{
		checks: []testCheck{
			{id: "a/one", check: Probe(func(t *T) {
				if !t.IsConfirmation() {
					t.Session()
					NeedsConfirmation(t)
					close(held)
					<-wanted
					t.Fail("nothing", "this")
				}
				Step(t, "x", func(*T) bool { return true })
			})},
			{id: "a/two", check: Probe(func(t *T) {
				Step(t, "x", func(t *T) bool {
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
			promised := ProcessProbe(func(t *T) {
				s := t.Session(Process)
				s.MarkInvalidInputFromStart()
				time.Sleep(time.Second) // others would open a session meanwhile
				if good {
					s.Open(driver.ConnectParams(t.Revision))
				}
			}).ReusedForInvalidInput()
			invalidInput := Probe(func(t *T) { t.Send(t.Session(ForInvalidInput), "list", nil) })
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
