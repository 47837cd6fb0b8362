// Package robust holds the checks of robustness that the specification does not spell out: a server survives malformed
// and extreme messages, starts in time, and lists the same tools in every session.
//
// The checks of malformed messages use invalid.SendMalformed; the others watch the sessions of the run.
package robust

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.Suite{
	"robust/survives-malformed-json": check.Probe(func(t *check.T) {
		names := slices.Sorted(maps.Keys(invalid.MalformedLines))
		if t.Revision != "2025-03-26" { // there, checks of the area batch send arrays
			names = slices.DeleteFunc(names, func(name string) bool {
				return strings.HasPrefix(invalid.MalformedLines[name], "[")
			})
		}
		check.Each(t, names, check.NamedSubject,
			func(t *check.T, name string) {
				expectSurvival(t, invalid.SendMalformed(t, invalid.MalformedLines[name]))
			})
	}),

	"robust/survives-invalid-utf8": check.Probe(func(t *check.T) {
		for _, line := range []string{
			requestWithMeta("mcpcheck-utf8", "\"\xff\""), requestWithMeta("mcpcheck-surrogate", `"\ud800"`),
		} {
			p := invalid.SendMalformed(t, line)
			t.Expect(p.SessionErr == nil).To(check.ReportedBy("robust/survives-malformed-json", beSurvived(p)))
		}
	}),

	"robust/survives-deep-nesting": check.Probe(func(t *check.T) {
		const depth = 5000
		deep := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		expectSurvival(t, invalid.SendMalformed(t, requestWithMeta("mcpcheck-deep", deep)))
	}),

	"robust/survives-unknown-messages": check.Probe(func(t *check.T) {
		for _, line := range slices.Concat([]string{
			invalid.RequestWithoutID,
			`{"jsonrpc":"2.0","id":"mcpcheck-unknown","method":"mcpcheck/no-such-method"}`,
		}, invalid.UnknownResponses) {
			expectSurvival(t, invalid.SendMalformed(t, line))
		}
		p := invalid.SendMalformed(t, `{"jsonrpc":"2.0","method":"notifications/mcpcheck/unknown"}`)
		if errors.As(p.SessionErr, new(*driver.SessionEndError)) || errors.As(p.SessionErr, new(*driver.TimeoutError)) {
			t.Yield("it did not survive a notification")
		}
		expectSurvival(t, p)
	}),

	"robust/survives-client-errors-to-server-requests": check.ProcessProbe(func(t *check.T) {
		o := handshake.RunScenario(t, handshake.Scenario{RefuseRequests: true})
		o.RequireConnected(t)
		switch {
		case len(o.ServerRequests) == 0 && o.LastNoOpReply.Err != nil:
			t.Retry(check.Undecided, "the session did not last until the server could ask: %v",
				check.Explain(o.LastNoOpReply.Err))
		case len(o.ServerRequests) == 0:
			t.Skip(check.NotObserved, "the server asked the client for nothing")
		}
		t.Expect(o.LastNoOpReply).To(check.BeAnswered(), "%s after the client refused a request of the server",
			o.LastNoOpReply.Method)
	}),

	"robust/startup-time": check.Probe(func(t *check.T) {
		const quick = 5 * time.Second
		if first := t.Server.ConnectReply; first.Answered() && startupTime(first) <= quick {
			return // fast enough, although other processes were starting
		}
		check.RequireTime(t)
		check.RequireSerial(t, t.Server.ConnectMethod())
		r := t.Session(check.Process).Connect(driver.ConnectParams(t.Revision))
		if !r.Answered() {
			t.Retry(check.Undecided, "%v", check.Explain(r.Err))
		}
		took := startupTime(r)
		const alone = " within 5s, in a second start while nothing else runs"
		t.Expect(took <= quick).To(check.BeTrue("an answer to "+r.Method+alone, "%v", took.Round(100*time.Millisecond)))
	}),

	"robust/repeatable-session": check.WatchWithSetup(handshake.PrepareUnusedSession, func(t *check.T, w check.Wire) {
		plain := func(m check.Message) bool { return hasNoCapabilities(m.Session) }
		ordinary := w.ResultsOf("initialize").Negotiated(t.Revision).Filter("session", plain)
		if len(ordinary.List) < 2 {
			t.Skip(check.NotObserved, "there was one session only")
		}
		one := ordinary.List[0].Session
		t.Judge(ordinary, func(t *check.T, m check.Message) {
			capabilities := string(text.CompactJSON(m.Session.Capabilities))
			t.Expect(capabilities).To(check.BeOneOf(string(text.CompactJSON(one.Capabilities))), "capabilities")
			if haveToolsChanged(m.Session) || haveToolsChanged(one) {
				t.Skip(check.NotObserved, "the server said that its tools had changed")
			}
			here, there := toolListings(m.Session), toolListings(one)
			if len(here) > 0 && len(there) > 0 {
				t.Expect(slices.ContainsFunc(here, isOneOf(there))).To(check.BeTrue("the same tools in every session",
					"%s", protocol.Difference(there[0], here[0])))
			}
		})
	}).InOwnSession(),
}

// requestWithMeta returns a no-op request with a value in _meta, for invalid.SendMalformed.
func requestWithMeta(id, value string) string {
	const line = `{"jsonrpc":"2.0","id":"%s","method":$method,"params":{"_meta":{$meta"com.example/mcpcheck":%s}}}`
	return fmt.Sprintf(line, id, value)
}

// expectSurvival requires the session to continue.
func expectSurvival(t *check.T, p invalid.MalformedResult) {
	t.Expect(p.SessionErr == nil).To(beSurvived(p))
}

// beSurvived matches that the session goes on.
func beSurvived(p invalid.MalformedResult) types.GomegaMatcher {
	return check.BeTrue("the following request answered", "%s", check.Explain(p.SessionErr))
}

// startupTime returns how long the response to the first request took: since the start of the process or, over HTTP,
// since the request was sent.
func startupTime(r driver.Reply) time.Duration {
	if r.Frame.RoundTrip == nil {
		return r.Frame.At
	}
	return r.Frame.At - r.Request.SentAt()
}

// hasNoCapabilities reports whether the client of a session declared no capability.
func hasNoCapabilities(s *driver.Session) bool {
	client, _ := s.ConnectParams["capabilities"].(check.M)
	return len(client) == 0
}

// haveToolsChanged reports whether the server has announced in a session, before any tool call, that its tools have
// changed.
func haveToolsChanged(s *driver.Session) bool {
	record := s.FramesSince(0)
	if at := slices.IndexFunc(record, func(f *driver.Frame) bool { return f.Method == "tools/call" }); at >= 0 {
		record = record[:at]
	}
	return slices.ContainsFunc(record, func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.Method == "notifications/tools/list_changed"
	})
}

// toolListings returns the names of the tools on all pages, for each time that they were listed before the first tool
// call, which may change them.
func toolListings(s *driver.Session) (all [][]string) {
	asked := transcript.SessionTranscript(s).Calls
	if at := slices.IndexFunc(asked,
		func(x *transcript.Call) bool { return x.Request.Method == "tools/call" }); at >= 0 {
		asked = asked[:at]
	}
	for {
		at := slices.IndexFunc(asked, isToolsRequest(nil))
		if at < 0 {
			return all
		}
		if names, whole := toolListing(asked[at:]); whole {
			all = append(all, names)
		}
		asked = asked[at+1:]
	}
}

// toolListing returns the names on all pages of the first list that was requested.
func toolListing(asked []*transcript.Call) (names []string, whole bool) {
	for cursor := any(nil); ; {
		at := slices.IndexFunc(asked, isToolsRequest(cursor))
		if at < 0 || asked[at].Response == nil {
			return nil, false
		}
		page, _ := asked[at].Response.JSON()["result"].(check.M)
		if _, listed := page["tools"].([]any); !listed {
			return nil, false
		}
		for _, tool := range protocol.ObjectsIn(page["tools"]) {
			name, _ := tool["name"].(string)
			names = append(names, name)
		}
		next, more := page["nextCursor"].(string)
		if !more {
			return protocol.Sorted(names), true
		}
		cursor, asked = next, asked[at+1:]
	}
}

// isToolsRequest returns a predicate for requests for the page of tools at a cursor, in the form in which discovery
// sends them. Other forms are judged by tools/list-params-optional and schema/request-meta-tolerated.
func isToolsRequest(cursor any) func(*transcript.Call) bool {
	return func(x *transcript.Call) bool {
		params, given := x.Request.JSON()["params"].(check.M)
		return x.Request.Method == "tools/list" && params["cursor"] == cursor && given == (cursor != nil)
	}
}

// isOneOf returns a predicate that reports whether a listing equals one of some.
func isOneOf(all [][]string) func(names []string) bool {
	return func(names []string) bool {
		return slices.ContainsFunc(all, func(other []string) bool { return slices.Equal(names, other) })
	}
}
