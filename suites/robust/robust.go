package robust

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var Checks = Suite{
	"robust/survives-malformed-json": Probe(func(t *T) {
		names := slices.Sorted(maps.Keys(kit.Malformed))
		if t.Revision != "2025-03-26" { // arrays have checks of their own
			names = slices.DeleteFunc(names, func(name string) bool {
				return strings.HasPrefix(kit.Malformed[name], "[")
			})
		}
		Each(t, names, Named, func(t *T, name string) { expectSurvival(t, kit.Provoke(t, kit.Malformed[name])) })
	}),

	"robust/survives-invalid-utf8": Probe(func(t *T) {
		expectSurvival(t, kit.Provoke(t, withMeta("mcpcheck-utf8", "\"\xff\"")))
	}),

	"robust/survives-deep-nesting": Probe(func(t *T) {
		const depth = 5000
		deep := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		expectSurvival(t, kit.Provoke(t, withMeta("mcpcheck-deep", deep)))
	}),

	"robust/survives-unknown-messages": Probe(func(t *T) {
		for _, line := range []string{
			kit.RequestWithoutID,
			`{"jsonrpc":"2.0","id":"mcpcheck-unknown","method":"mcpcheck/no-such-method"}`,
			`{"jsonrpc":"2.0","id":"mcpcheck-nobody-asked","result":{}}`,
		} {
			expectSurvival(t, kit.Provoke(t, line))
		}
		p := kit.Provoke(t, `{"jsonrpc":"2.0","method":"notifications/mcpcheck/unknown"}`)
		if errors.As(p.Fatal, new(*driver.Death)) || errors.As(p.Fatal, new(*driver.Silence)) {
			t.Yield("it did not survive a notification")
		}
		expectSurvival(t, p)
	}),

	"robust/survives-client-errors-to-server-requests": Fresh(func(t *T) {
		o := kit.Begin(t, kit.Opening{Client: true})
		o.WantWelcome(t)
		switch {
		case len(o.Asked) == 0 && o.LastPong.Err != nil:
			t.Again("the session did not last until the server could ask: %v", Explain(o.LastPong.Err))
		case len(o.Asked) == 0:
			t.Because(NotObserved).Skip("the server asked the client for nothing")
		}
		t.Expect(o.LastPong).To(BeAnswered(), "%s after the client refused a request of the server",
			o.LastPong.Method)
	}),

	"robust/startup-time": Probe(func(t *T) {
		const quick = 5 * time.Second
		if first := t.Server.First; first.Answered() && sinceStart(first) <= quick {
			return // although other processes were starting
		}
		RequireTime(t)
		RequireQuiet(t, t.Server.Greeting())
		r := t.Start().Greet(driver.Hello(t.Revision))
		if !r.Answered() {
			t.Again("%v", Explain(r.Err))
		}
		took := sinceStart(r)
		const alone = " within 5s, in a second start while nothing else runs"
		t.Expect(took <= quick).To(Hold("an answer to "+r.Method+alone, "%v", took.Round(100*time.Millisecond)))
	}),

	"robust/repeatable-session": WatchAfter(kit.MeetAgain, func(t *T, w Wire) {
		plain := func(m Message) bool { return isOrdinary(m.Session) }
		ordinary := w.ResultsOf("initialize").Established(t.Revision).Filter("session", plain)
		if len(ordinary.List) < 2 {
			t.Because(NotObserved).Skip("there was one session only")
		}
		one := ordinary.List[0].Session
		t.Judge(ordinary, func(t *T, m Message) {
			capabilities := string(Compact(m.Session.Capabilities))
			t.Expect(capabilities).To(BeOneOf(string(Compact(one.Capabilities))), "capabilities")
			if changes(m.Session) || changes(one) {
				t.Because(NotObserved).Skip("the server said that its tools had changed")
			}
			here, there := listings(m.Session), listings(one)
			if len(here) > 0 && len(there) > 0 {
				t.Expect(slices.ContainsFunc(here, amongst(there))).To(Hold("the same tools in every session",
					"%s", kit.Difference(there[0], here[0])))
			}
		})
	}),
}

// withMeta is a harmless request with a value in _meta, for kit.Provoke.
func withMeta(id, value string) string {
	const line = `{"jsonrpc":"2.0","id":"%s","method":$method,"params":{"_meta":{$meta"com.example/mcpcheck":%s}}}`
	return fmt.Sprintf(line, id, value)
}

// expectSurvival wants the session to go on.
func expectSurvival(t *T, p kit.Provoked) {
	t.Expect(p.Fatal == nil).To(Hold("the following request answered", "%s", Explain(p.Fatal)))
}

// sinceStart is how long the answer to the greeting took: since the process was started or, over HTTP, since it was
// asked.
func sinceStart(r driver.Reply) time.Duration {
	if r.Frame.HTTP == nil {
		return r.Frame.At
	}
	return r.Frame.At - r.Request.SentAt()
}

// isOrdinary reports whether a session declared no client capability.
func isOrdinary(s *driver.Session) bool {
	client, _ := s.Hello["capabilities"].(M)
	return len(client) == 0
}

// changes reports whether the server has said in a session, before any tool was called, that they are others now.
func changes(s *driver.Session) bool {
	record := s.Record(0)
	if at := slices.IndexFunc(record, func(f *driver.Frame) bool { return f.Method == "tools/call" }); at >= 0 {
		record = record[:at]
	}
	return slices.ContainsFunc(record, func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.Method == "notifications/tools/list_changed"
	})
}

// listings are the names of the tools on all pages, each time that they were listed before any of them was called,
// which may change them.
func listings(s *driver.Session) (all [][]string) {
	asked := kit.DialogueIn(s).Exchanges
	if at := slices.IndexFunc(asked, func(x *kit.Exchange) bool { return x.Request.Method == "tools/call" }); at >= 0 {
		asked = asked[:at]
	}
	for {
		at := slices.IndexFunc(asked, asksTools(nil))
		if at < 0 {
			return all
		}
		if names, whole := listing(asked[at:]); whole {
			all = append(all, names)
		}
		asked = asked[at+1:]
	}
}

// listing are the names on all pages of the list that is asked for first.
func listing(asked []*kit.Exchange) (names []string, whole bool) {
	for cursor := any(nil); ; {
		at := slices.IndexFunc(asked, asksTools(cursor))
		if at < 0 || asked[at].Answer == nil {
			return nil, false
		}
		page, _ := asked[at].Answer.JSON()["result"].(M)
		if _, listed := page["tools"].([]any); !listed {
			return nil, false
		}
		for _, tool := range kit.ObjectsIn(page["tools"]) {
			name, _ := tool["name"].(string)
			names = append(names, name)
		}
		next, more := page["nextCursor"].(string)
		if !more {
			return kit.Sorted(names), true
		}
		cursor, asked = next, asked[at+1:]
	}
}

// asksTools picks requests for the page of the tools at a cursor, in the form in which discovery asks: what a server
// makes of others, tools/list-params-optional and schema/request-meta-tolerated try.
func asksTools(cursor any) func(*kit.Exchange) bool {
	return func(x *kit.Exchange) bool {
		params, given := x.Request.JSON()["params"].(M)
		return x.Request.Method == "tools/list" && params["cursor"] == cursor && given == (cursor != nil)
	}
}

// amongst reports whether a listing is one of some.
func amongst(all [][]string) func(names []string) bool {
	return func(names []string) bool {
		return slices.ContainsFunc(all, func(other []string) bool { return slices.Equal(names, other) })
	}
}
