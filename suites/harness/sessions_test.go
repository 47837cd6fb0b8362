package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// A check has one session of each kind, which the steps that it shares have too; alone as well as not.
func TestSessions(t *testing.T) {
	for _, isolate := range []bool{false, true} {
		var got []string
		had := func(name string, s *driver.Session) {
			got = append(got, strings.Replace(s.Name(), "session", name, 1))
		}
		out := scene{
			cast: []role{{id: "a/sessions", check: Probe(func(t *T) {
				Step(t, "earlier step", func(t *T) bool { had("in a step", t.Session()); return true })
				had("clean", t.Session())
				had("hostile", t.Hostile())
				had("clean", t.Session())
				Step(t, "step", func(t *T) bool { had("in a step", t.Session()); return true })
				had("of its own", t.Own())
				had("new", t.Start())
			})}},
			options: Options{Jobs: 1, Isolate: isolate},
		}.play(t)
		out.want(t, "a/sessions", Pass, "")
		want := []string{
			"in a step 1", "clean 1", "hostile 2", "clean 1", "in a step 1", "of its own 3", "new 4",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("isolate %v: %s", isolate, diff)
		}
	}
}

// No two checks wait for each other's sessions, in whatever order they ask for them.
func TestSessionsOfChecksAtATime(t *testing.T) {
	take := map[string]func(*T){"clean": func(t *T) { t.Session() }, "hostile": func(t *T) { t.Hostile() }}
	taking := func(kinds string) Check {
		return Probe(func(t *T) {
			for kind := range strings.FieldsSeq(kinds) {
				take[kind](t)
				time.Sleep(time.Second) // so that the others have theirs
			}
			Parallel(t, 2, func(t *T, _ int) { t.Session() })
		})
	}
	out := scene{
		cast: []role{
			{id: "a/one", check: taking("clean hostile")}, {id: "a/two", check: taking("hostile clean")},
			{id: "a/three", check: taking("clean hostile")}, {id: "a/four", check: taking("hostile clean")},
		},
		options: Options{Jobs: 4},
	}.play(t)
	for id := range out.results {
		out.want(t, id, Pass, "")
	}
}

// What a server was told, and what a check that ends a session has.
func TestSessionsBegin(t *testing.T) {
	tests := []struct {
		name  string
		check Check
		heard string
	}{
		{"new", Fresh(func(t *T) { t.Start() }), ""},
		{"with options", Fresh(func(t *T) { StartWith(t, driver.Options{MuteStderr: true}) }), ""},
		{"established", Probe(func(t *T) { t.Own() }), "1 initialize, 1 notifications/initialized, 1 ping"},
		{"to be ended, of the pool", Ending(func(t *T) { t.Ask(LastSession(t), "last", nil) }),
			"1 initialize, 1 notifications/initialized, 1 last"},
	}
	for _, tt := range tests {
		out := scene{
			cast: []role{{id: "a/one", check: tt.check}}, options: Options{Jobs: 1},
			first: strings.HasSuffix(tt.name, "of the pool"),
		}.play(t)
		out.want(t, "a/one", Pass, "")
		if got := strings.Join(out.heard, ", "); got != tt.heard {
			t.Errorf("%s: it heard %s", tt.name, got)
		}
	}
}

// A server that does not do its part leaves what depends on it open.
func TestRequestsOfOtherChecks(t *testing.T) {
	const silence, death = "no answer to list within 5s (--timeout)", "the server exited with status 1"
	ask := func(t *T) { t.Ask(t.Own(), "list", nil) }
	pages := func(t *T) { FollowPages(t, t.Own(), "list", "items", func(M) {}) }
	settle := func(t *T) {
		s := t.Own()
		mark := s.Mark()
		s.Notify("list", nil)
		for _, f := range Settle(t, s, mark) {
			t.Fail("nothing", "%s", f.Raw.Bytes())
		}
	}
	tests := []struct {
		name    string
		does    act
		run     func(*T)
		verdict Verdict
		message string
	}{
		{"an answer", act{}, ask, Pass, ""},
		{"an error", refuses(-1), ask, Pass, ""},
		{"silence", ignores, ask, Inconclusive, silence},
		{"death", dies, ask, Inconclusive, death},
		{"a list", act{result: `{"items":[]}`}, pages, Pass, ""},
		{"a list that is none", act{result: `{}`}, pages, Inconclusive, `the result of list has no array "items"`},
		{"nothing to a notification", act{}, settle, Pass, ""},
		{"something to it", says(`{"method":"oh"}`), settle, Fail, "expected nothing\ngot {\"method\":\"oh\"}"},
		{"death of it", dies, settle, Inconclusive, death},
	}
	for _, tt := range tests {
		out := scene{
			script: script{{method: "list", does: tt.does}}, cast: []role{{id: "a/one", check: Probe(tt.run)}},
		}.play(t)
		t.Log(tt.name)
		out.want(t, "a/one", tt.verdict, tt.message)
	}
}

// Lists are followed to their end, whatever servers make of cursors.
func TestListAll(t *testing.T) {
	page := func(nth int, items string, next ...string) line {
		result := M{"items": json.RawMessage(items)}
		if len(next) > 0 {
			result["nextCursor"] = next[0]
		}
		return line{method: "list", nth: nth, does: act{result: string(Compact(result))}}
	}
	const circle = `the pages of list do not come to an end: the cursor "x" brings one that came before`
	tests := []struct {
		name   string
		script script
		asked  string // the cursors, after that of the caller
		items  string
		err    string
	}{
		{"one page", script{page(0, `[1,{"a":2}]`)}, "", `[1,{"a":2}]`, ""},
		{"two pages", script{page(1, "[1]", "x"), page(2, "[2]")}, " x", "[1,2]", ""},
		{"an empty page between", script{page(1, "[1]", "x"), page(2, "[]", "y"), page(3, "[2]")}, " x y", "[1,2]", ""},
		{"a page that comes again", script{page(0, "[1]", "x")}, " x", "[1]", circle},
		{"and in another order", script{page(1, "[1,2]", "x"), page(2, "[2,1]", "x")}, " x", "[1,2]", circle},
		{"one cursor for all pages", script{
			page(1, "[1]", "x"), page(2, "[2]", "x"), page(3, "[3]"),
		}, " x x", "[1,2,3]", ""},
		{"a page with other cursors", script{
			page(1, "[1]", "x"), page(2, "[1]", "y"), page(3, "[2]"),
		}, " x y", "[1,1,2]", ""},
		{"pages behind an empty cursor", script{
			page(1, "[1]", ""), page(2, "[2]", ""), page(3, "[3]"),
		}, "  ", "[1,2,3]", ""},
		{"an empty cursor that leads to the beginning", script{
			page(1, "[1]", "x"), page(2, "[2]", ""), page(3, "[1]", "y"),
		}, " x ", "[1,2]", ""},
		{"an empty cursor that is refused", script{
			page(1, "[1]", ""), {method: "list", nth: 2, does: refuses(-32602)},
		}, " ", "[1]", ""},
		{"a cursor that is not a string", script{{
			method: "list", does: act{result: `{"items":[1],"nextCursor":7}`},
		}}, "", "[1]", ""},
		{"a page that is not a list", script{page(1, "[1]", "x"), page(2, "{}")}, " x", "[1]",
			`the result of list has no array "items" (of page 2 or later)`},
		{"an error", script{{method: "list", does: refuses(-7)}}, "", "null", "list was answered with error -7: no"},
		{"silence", script{{method: "list", does: ignores}}, "", "null", "no answer to list within 5s (--timeout)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			items, asked, err := listAll(t, tt.script)
			if got := string(Compact(items)); got != tt.items || fmt.Sprint(err) != fmt.Sprint(orNil(tt.err)) {
				t.Errorf("got %s, %v", got, err)
			}
			if asked != "mine"+tt.asked {
				t.Errorf("it was asked for %q", asked)
			}
		})
	}
}

// Lists without an end are left, and for what they are: with pages that come again, or with ever new ones.
func TestListAllIsBounded(t *testing.T) {
	many := func(items string) (all script) {
		for i := range 2 * mostPages {
			result := strings.ReplaceAll(fmt.Sprintf(`{"items":%s,"nextCursor":"c%d"}`, items, i), "N", fmt.Sprint(i))
			all = append(all, line{method: "list", nth: i + 1, does: act{result: result}})
		}
		return all
	}
	items, _, err := listAll(t, many("[1]"))
	if endless := (*Endless)(nil); !errors.As(err, &endless) || len(items) != mostStale {
		t.Errorf("of pages that come again: %d, %v", len(items), err)
	}
	if _, _, err = listAll(t, many("[N]")); !errors.Is(err, ErrManyPages) {
		t.Errorf("of new pages: %v", err)
	}
}

// listAll asks a scripted server for all items of a list, and returns the cursors that it was asked for as well.
func listAll(t *testing.T, script script) (items []any, asked string, err error) {
	synctest.Test(t, func(t *testing.T) {
		stage := &stage{script: script}
		s := greeted(t, t.Context(), driver.Target{Serve: stage.serve})
		defer s.Close()
		items, err = ListAll(s, "list", "items", M{"cursor": "mine", "beside": true})
		var cursors []string
		for _, f := range s.Record(0) {
			if f.Method != "list" {
				continue
			}
			params, _ := f.JSON()["params"].(M)
			cursors = append(cursors, params["cursor"].(string))
			if params["beside"] != true {
				t.Errorf("the other params were lost: %s", f.Raw.Bytes())
			}
		}
		asked = strings.Join(cursors, " ")
	})
	return items, asked, err
}

// orNil is a text as an error would print; of no text, no error.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func TestObjects(t *testing.T) {
	got := Objects([]any{1, M{"a": 1}, nil, "x", M{}})
	if diff := cmp.Diff([]M{{"a": 1}, {}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestInfo(t *testing.T) {
	server := &Server{
		Welcome:      M{"serverInfo": M{"name": "n", "version": 7}},
		Capabilities: M{"tools": M{}, "logging": M{}, "prompts": nil}, Tools: []M{{}, {}},
	}
	want := ServerInfo{Name: "n", Capabilities: []string{"logging", "tools"}, Tools: 2}
	if diff := cmp.Diff(want, server.Info()); diff != "" {
		t.Error(diff)
	}
	if !server.Declares("tools") || server.Declares("prompts") || server.Declares("tasks") {
		t.Error("it declares what it does not, or the other way round")
	}
}

// Who confirms a verdict still has the session of the attempt before, for which others may wait.
func TestConfirmationKeepsNobodyWaiting(t *testing.T) {
	held, wanted := make(chan struct{}), make(chan struct{})
	scene{
		cast: []role{
			{id: "a/one", check: Probe(func(t *T) {
				if !t.Alone() {
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
	}.play(t).want(t, "a/one", Pass, "")
}

// Who wants a hostile session is tried after a check that has promised its process. When that is no good, one is
// opened.
func TestPromisedSession(t *testing.T) {
	for _, jobs := range []int{1, 4} {
		for good, want := range map[bool]int32{true: 1, false: 2} {
			promised := Fresh(func(t *T) {
				s := t.Start()
				s.HostileThroughout()
				time.Sleep(time.Second) // in which others would open one
				if good {
					s.Establish(driver.Hello(t.Revision))
				}
			}).ThenHostile()
			hostile := Probe(func(t *T) { t.Ask(t.Hostile(), "list", nil) })
			out := scene{
				cast:    []role{{id: "a/one", check: hostile}, {id: "a/promised", check: promised}},
				options: Options{Jobs: jobs},
			}.play(t)
			for id := range out.results {
				out.want(t, id, Pass, "")
			}
			if got := int32(len(out.sessions)); got != want {
				t.Errorf("%d jobs, a good process is %v: %d sessions, want %d", jobs, good, got, want)
			}
		}
	}
}
