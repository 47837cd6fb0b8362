// Package progress holds the checks of what servers report of the progress of requests.
package progress

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Merge(tokens, Suite{
	"progress/strictly-increasing": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		pairs := pairsOf(reports(t, w))
		if len(pairs) == 0 {
			t.Because(NotObserved).Skip("no request was reported on twice")
		}
		Each(t, pairs, pair.subject, func(t *T, p pair) {
			earlier, is := valueOf(p.earlier)
			later, are := valueOf(p.later)
			if !is || !are {
				t.Yield("progress is not a number")
			}
			t.Expect(later.Cmp(earlier) > 0).To(Hold("more than "+earlier.String(), "%s", later.String()))
		})
	}),

	"progress/stops-after-response": WatchAfter(lateReports, func(t *T, w Wire) {
		Each(t, reports(t, w), (*kit.ProgressReport).Subject, func(t *T, r *kit.ProgressReport) {
			const astray = time.Second // in which what came over another stream may have crossed the answer
			switch {
			case r.Of == nil:
				t.Yield("it is of no request")
			case r.Done == nil:
				return
			case r.Of.AsTask():
				t.Skip("the request goes on as a task")
			case r.HTTP == r.Done.HTTP:
				t.Fail("none after the answer", "progress %s", Show(r.Params()["progress"]))
			case r.At-r.Done.At <= astray:
				t.Skip("it came over another stream than the answer: there is no order between them")
			}
			t.FailAt(Should, "none after the answer", "progress %s over another stream, %v later",
				Show(r.Params()["progress"]), (r.At - r.Done.At).Round(time.Millisecond))
		})
	}),

	"progress/params-valid": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		Each(t, reports(t, w), (*kit.ProgressReport).Subject, func(t *T, r *kit.ProgressReport) {
			broken := kit.Broken(t, "progress/params-valid", "ProgressNotification", r.JSON())
			t.Expect(broken).To(BeEmptyList[string]("progress, a number, and members of the right types"))
		})
	}),

	"progress/rate-limited": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		all := flows(t, w)
		if len(all) == 0 {
			reports(t, w)
		}
		Each(t, all, flow.subject, func(t *T, f flow) {
			n := kit.Within2s(f.reports, func(m *driver.Frame) time.Duration { return m.At })
			t.Warn(n <= mostReports).To(Hold("about 50 reports a second at most", "%d within two seconds", n))
		})
	}),

	"progress/server-token-valid": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		asking := w.Requests().Established(t.Revision).Filter("request that asks for progress", func(m Message) bool {
			return Has(metaOf(m.Frame), "progressToken")
		})
		t.Judge(asking, func(t *T, m Message) {
			token := metaOf(m.Frame)["progressToken"]
			_, isText := token.(string)
			t.Expect(isText || driver.IsInteger(number(token))).To(Hold("a token that is a string or an integer",
				"%s", Show(token)))
			t.Expect(isTaken(m)).To(BeOneOf(false), "a token that another request has which is under way")
		})
	}),

	"progress/on-request-stream": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		Each(t, reports(t, w), (*kit.ProgressReport).Subject, func(t *T, r *kit.ProgressReport) {
			switch {
			case r.Of == nil:
				t.Yield("it is of no request")
			case r.HTTP != r.Of.Request.HTTP && !r.Listens:
				t.Yield("it is on no subscription")
			}
			t.Expect(r.HTTP == r.Of.Request.HTTP).To(Hold("progress on the stream that answers the request",
				"%s on that of a subscription", Show(r.Params()["progress"])))
		})
	}),
})

// mostReports is how many reports of one request within two seconds are no flood.
const mostReports = 100

// reports are those of the run. Without any, a check does not apply.
func reports(t *T, w Wire) []*kit.ProgressReport {
	all := kit.Reports(t, w)
	if len(all) == 0 {
		if len(flows(t, w)) > 0 {
			t.Because(Limit).Inconclusive("progress came in sessions of which mcpcheck keeps the end only")
		}
		kit.NothingSeen(t, "progress was reported", kit.ValidCalls(t).Uncalled, kit.AnyTool)
	}
	return all
}

// lateReports calls tools and, when any of them reports its progress, has the run wait for reports that come late.
func lateReports(t *T) {
	calls := kit.ValidCalls(t)
	for _, c := range calls.List {
		if len(kit.ReportsIn(c.Session, c.Session.Record(0))) > 0 {
			ObserveLate(t, calls.Ended)
			return
		}
	}
}

// pair is two reports of one request, one right after the other on one channel.
type pair struct{ earlier, later *kit.ProgressReport }

func (p pair) subject() Subject {
	return Subject{Frames: []*driver.Frame{p.earlier.Frame, p.later.Frame}}
}

// pairsOf pairs each report with the last one before it on its channel.
func pairsOf(reports []*kit.ProgressReport) (pairs []pair) {
	type channel struct {
		of *kit.Asked
		on *driver.Exchange
	}
	last := map[channel]*kit.ProgressReport{}
	for _, r := range reports {
		if r.Of == nil {
			continue
		}
		c := channel{r.Of, r.HTTP}
		if earlier := last[c]; earlier != nil {
			pairs = append(pairs, pair{earlier, r})
		}
		last[c] = r
	}
	return pairs
}

// flow is the reports under one token in a session.
type flow struct{ reports []*driver.Frame }

// subject shows the first of them. That mcpcheck has not kept others is no excuse for a flood, so it is shown by its
// JSON, and not as part of a stream.
func (f flow) subject() Subject { return Subject{Value: f.reports[0].JSON(), Behind: f.reports[:1]} }

// flows are those of the run, also in sessions of which only the end is kept: a flood is one there, too. What is under
// a token that nobody has given is left to progress/known-token.
func flows(t *T, w Wire) (all []flow) {
	for _, s := range kit.Established(t, w) {
		given, under := kit.TokensGiven(s), map[string][]*driver.Frame{}
		kit.EachSaid(s.Record(0), func(m *driver.Frame, _ []*kit.Asked) {
			if kit.IsProgress(m) {
				token := driver.IDKey(kit.TokenOf(m))
				under[token] = append(under[token], m)
			}
		})
		for token, reports := range under {
			if given[token] || !s.Whole() {
				all = append(all, flow{reports})
			}
		}
	}
	slices.SortFunc(all, func(a, b flow) int { return cmp.Compare(a.reports[0].At, b.reports[0].At) })
	return all
}

// valueOf is how far a request is, as a report has it.
func valueOf(r *kit.ProgressReport) (value *big.Float, ok bool) {
	const bits = 256
	value, _, err := big.ParseFloat(string(number(r.Params()["progress"])), 10, bits, big.ToNearestEven)
	return value, err == nil
}

// number is a JSON number; empty when it is none.
func number(v any) json.Number {
	n, _ := v.(json.Number)
	return n
}

// metaOf is the _meta of the params of a message.
func metaOf(f *driver.Frame) M {
	params, _ := f.JSON()["params"].(M)
	return kit.MetaOf(params)
}

// isTaken reports whether an earlier request of the server in the session has the same token, and no answer yet when a
// request came.
func isTaken(m Message) bool {
	open := map[string]json.RawMessage{} // tokens by ids of requests
	for _, f := range m.Session.Record(0) {
		for _, x := range f.Members() {
			switch {
			case f == m.Frame || f.At == m.At && x.Raw.Equal(m.Raw):
				for _, token := range open {
					if driver.SameID(token, Compact(metaOf(m.Frame)["progressToken"])) {
						return true
					}
				}
				return false
			case f.Side == driver.FromServer && x.IsRequest() && Has(metaOf(x), "progressToken"):
				open[driver.IDKey(x.ID)] = Compact(metaOf(x)["progressToken"])
			case f.Side == driver.FromClient && x.IsResponse():
				delete(open, driver.IDKey(x.ID))
			case x.Method == "notifications/cancelled":
				params, _ := x.JSON()["params"].(M)
				delete(open, driver.IDKey(Compact(params["requestId"])))
			}
		}
	}
	return false
}
