// Package progress holds the checks of progress notifications: their values, their tokens, their number, and that they
// end with the request.
//
// Most checks watch the notifications of the run. The checks of tokens call a tool that reports its progress again,
// with tokens of both types and without one.
package progress

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(tokenChecks, check.Suite{
	"progress/strictly-increasing": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		all := reports(t, w)
		pairs := reportPairs(all)
		if len(pairs) == 0 {
			t.Skip(check.NotObserved, "no request was reported on twice")
		}
		check.Each(t, pairs, reportPair.subject, func(t *check.T, p reportPair) {
			earlier, is := transcript.ProgressValue(p.earlier.Frame)
			later, are := transcript.ProgressValue(p.later.Frame)
			isLate := func(r *transcript.ProgressNotification) bool {
				return r.EarlierResponse != nil && r.Session == p.later.Session &&
					check.Show(r.Token()) == check.Show(p.later.Token())
			}
			switch {
			case !is || !are:
				t.Yield("progress is not a number")
			case later.Cmp(earlier) <= 0 && slices.ContainsFunc(all, isLate):
				t.Yield("progress came after an answer to a request with that token")
			}
			t.Expect(later.Cmp(earlier) > 0).To(check.BeTrue("more than "+earlier.String(), "%s", later.String()))
		})
	}),

	"progress/stops-after-response": check.WatchWithSetup(callForLateReports, func(t *check.T, w check.Wire) {
		check.Each(t, reports(t, w), (*transcript.ProgressNotification).Subject,
			func(t *check.T, r *transcript.ProgressNotification) {
				const astray = time.Second // in this time, a message of another stream may cross the response
				switch {
				case r.ForRequest == nil:
					t.Yield("it is of no request")
				case r.EarlierResponse == nil:
					return
				case becameTask(r.ForRequest):
					t.Skip(check.NotApplicable, "the request goes on as a task")
				case r.RoundTrip == r.EarlierResponse.RoundTrip:
					t.Fail("none after the answer", "progress %s", check.Show(r.Params()["progress"]))
				case r.At-r.EarlierResponse.At <= astray:
					t.Skip(check.NotApplicable,
						"it came over another stream than the answer: there is no order between them")
				}
				t.FailAt(catalogue.Should, "none after the answer", "progress %s over another stream, %v later",
					check.Show(r.Params()["progress"]), (r.At - r.EarlierResponse.At).Round(time.Millisecond))
			})
	}),

	"progress/params-valid": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		check.Each(t, reports(t, w), (*transcript.ProgressNotification).Subject,
			func(t *check.T, r *transcript.ProgressNotification) {
				broken := protocol.Violations(t, "progress/params-valid", "ProgressNotification", r.JSON())
				t.Expect(broken).To(check.BeEmptyList[string]("progress, a number, and members of the right types"))
			})
	}),

	"progress/rate-limited": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		all := reportsByToken(t, w)
		if len(all) == 0 {
			reports(t, w)
		}
		check.Each(t, all, tokenReports.subject, func(t *check.T, f tokenReports) {
			n := transcript.PeakPerTwoSeconds(f.reports, func(m *driver.Frame) time.Duration { return m.At })
			t.ExpectShould(n <= maxReports).To(check.BeTrue("about 50 reports a second at most",
				"%d within two seconds", n))
		})
	}),

	"progress/server-token-valid": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		asking := w.Requests().Negotiated(t.Revision).Filter("request that asks for progress",
			func(m check.Message) bool {
				return check.HasMember(metaOf(m.Frame), "progressToken")
			})
		t.Judge(asking, func(t *check.T, m check.Message) {
			token := metaOf(m.Frame)["progressToken"]
			_, isText := token.(string)
			t.Expect(isText ||
				driver.IsInteger(jsonNumber(token))).To(check.BeTrue("a token that is a string or an integer",
				"%s", check.Show(token)))
			t.Expect(isTokenInUse(m)).To(check.BeOneOf(false), "a token that another request has which is under way")
		})
	}),

	"progress/on-request-stream": check.WatchWithSetup(toolcall.CallTools, func(t *check.T, w check.Wire) {
		check.Each(t, reports(t, w), (*transcript.ProgressNotification).Subject,
			func(t *check.T, r *transcript.ProgressNotification) {
				switch {
				case r.ForRequest == nil:
					t.Yield("it is of no request")
				case r.RoundTrip != r.ForRequest.Request.RoundTrip && !r.OnSubscriptionStream:
					t.Yield("it is on no subscription")
				}
				t.Expect(r.RoundTrip == r.ForRequest.Request.RoundTrip).
					To(check.BeTrue("progress on the stream that answers the request",
						"%s on that of a subscription", check.Show(r.Params()["progress"])))
			})
	}),
})

// maxReports is the number of notifications of one request within two seconds that is not a flood.
const maxReports = 100

// reports returns the progress notifications of the run. Without any, it ends the check as skip.
func reports(t *check.T, w check.Wire) []*transcript.ProgressNotification {
	all := progressNotifications(t, w)
	if len(all) == 0 {
		if len(reportsByToken(t, w)) > 0 {
			t.NoVerdict(check.Limit, "progress came in sessions of which mcpcheck keeps the end only")
		}
		toolcall.SkipNotObserved(t, "progress was reported", toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	}
	return all
}

// callForLateReports calls tools. If any of them reports its progress, the run observes late notifications.
func callForLateReports(t *check.T) {
	calls := toolcall.ValidCalls(t)
	for _, c := range calls.List {
		if len(transcript.ProgressIn(c.Session, c.Session.FramesSince(0))) > 0 {
			check.ObserveLate(t, calls.EndTime)
			return
		}
	}
}

// reportPair holds two successive notifications of one request on one channel.
type reportPair struct {
	earlier, later *transcript.ProgressNotification
}

func (p reportPair) subject() check.Subject {
	return check.Subject{Frames: []*driver.Frame{p.earlier.Frame, p.later.Frame}}
}

// reportPairs pairs each notification with the previous one on its channel.
func reportPairs(reports []*transcript.ProgressNotification) (pairs []reportPair) {
	type channel struct {
		of *transcript.TrackedRequest
		on *driver.RoundTrip
	}
	last := map[channel]*transcript.ProgressNotification{}
	for _, r := range reports {
		if r.ForRequest == nil || r.EarlierResponse != nil && !becameTask(r.ForRequest) {
			continue // what comes after the response is judged by progress/stops-after-response
		}
		c := channel{r.ForRequest, r.RoundTrip}
		if earlier := last[c]; earlier != nil {
			pairs = append(pairs, reportPair{earlier, r})
		}
		last[c] = r
	}
	return pairs
}

// tokenReports holds the notifications with one token in a session.
type tokenReports struct{ reports []*driver.Frame }

// subject shows the first notification by its JSON. A frame would make the verdict inconclusive, since not all of the
// stream was kept.
func (f tokenReports) subject() check.Subject {
	return check.Subject{Value: f.reports[0].JSON(), SourceFrames: f.reports[:1]}
}

// reportsByToken returns the notifications of the run by token, including those of sessions of which only the end was
// kept, since floods count there as well. Unknown tokens are left to progress/known-token.
func reportsByToken(t *check.T, w check.Wire) (all []tokenReports) {
	for _, s := range transcript.EstablishedSessions(t, w) {
		given, under := transcript.ProgressTokens(s), map[string][]*driver.Frame{}
		transcript.EachServerMessage(s.FramesSince(0), func(m *driver.Frame, _ []*transcript.TrackedRequest) {
			if transcript.IsProgress(m) {
				token := driver.IDKey(transcript.ProgressTokenOf(m))
				under[token] = append(under[token], m)
			}
		})
		for token, reports := range under {
			if _, is := given[token]; is || !s.HasBeginning() {
				all = append(all, tokenReports{reports})
			}
		}
	}
	slices.SortFunc(all, func(a, b tokenReports) int { return cmp.Compare(a.reports[0].At, b.reports[0].At) })
	return all
}

// jsonNumber returns a JSON number; empty if the value is not a number.
func jsonNumber(v any) json.Number {
	n, _ := v.(json.Number)
	return n
}

// metaOf returns the _meta of the params of a message.
func metaOf(f *driver.Frame) check.M {
	params, _ := f.JSON()["params"].(check.M)
	return protocol.MetaOf(params)
}

// isTokenInUse reports whether an unanswered earlier server request in the session has the same progress token.
func isTokenInUse(m check.Message) bool {
	// Tokens by the ids of their requests.
	open := map[string]json.RawMessage{}
	for _, f := range m.Session.FramesSince(0) {
		for _, x := range f.Messages() {
			switch {
			case f == m.Frame || f.At == m.At && x.Raw.Equal(m.Raw):
				for _, token := range open {
					if driver.SameID(token, text.CompactJSON(metaOf(m.Frame)["progressToken"])) {
						return true
					}
				}
				return false
			case f.Side == driver.FromServer && x.IsRequest() && check.HasMember(metaOf(x), "progressToken"):
				open[driver.IDKey(x.ID)] = text.CompactJSON(metaOf(x)["progressToken"])
			case f.Side == driver.FromClient && x.IsResponse():
				delete(open, driver.IDKey(x.ID))
			case x.Method == "notifications/cancelled":
				params, _ := x.JSON()["params"].(check.M)
				delete(open, driver.IDKey(text.CompactJSON(params["requestId"])))
			}
		}
	}
	return false
}

// callWithProgress is the quickest call for which the server reported progress.
func callWithProgress(t *check.T) toolcall.ToolCall {
	calls := toolcall.ValidCalls(t)
	return toolcall.QuickestCall(t, calls, "progress was reported", func(c toolcall.ToolCall) bool {
		return slices.ContainsFunc(transcript.ProgressIn(c.Session, c.Session.FramesSince(0)),
			func(r *transcript.ProgressNotification) bool {
				return r.ForRequest != nil && driver.SameID(r.ForRequest.Request.ID, c.Reply.Request.ID)
			})
	})
}

// becameTask reports whether the response to the request is a task, which may go on to report progress.
func becameTask(a *transcript.TrackedRequest) bool {
	if a.Response == nil {
		return false
	}
	result, _ := a.Response.JSON()["result"].(check.M)
	return check.HasMember(result, "task") || result["resultType"] == "task"
}
