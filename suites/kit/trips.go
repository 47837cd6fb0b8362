package kit

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// RoundTrip is an HTTP request of a session, and what came back.
type RoundTrip struct {
	Session *driver.Session
	Sent    *driver.Frame
	Came    []*driver.Frame // the messages, or the status if there was none
	Answer  driver.Answer
}

// Ordinary reports whether it is one that any client could make.
func (r RoundTrip) Ordinary() bool { return !r.Sent.Apart && !r.Sent.Hostile }

// Brought reports whether a result came, be it with the status of an error.
func (r RoundTrip) Brought() bool {
	return slices.ContainsFunc(r.Came, func(f *driver.Frame) bool { return f.HasResult }) || Has(Object(r.Answer.Body), "result")
}

// Trips are all HTTP requests of the run.
func Trips(w Wire) (all []RoundTrip) {
	for _, s := range w.Sessions {
		record := s.Record(0)
		came := map[*driver.Exchange][]*driver.Frame{}
		for _, f := range record {
			if f.HTTP != nil && f.Side != driver.FromClient {
				came[f.HTTP] = append(came[f.HTTP], f)
			}
		}
		for _, f := range record {
			if f.HTTP != nil && f.Side == driver.FromClient {
				all = append(all, RoundTrip{Session: s, Sent: f, Came: came[f.HTTP], Answer: f.HTTP.Answer()})
			}
		}
	}
	return all
}

// Requests are the single requests that were posted in ordinary sessions, accepted
// with 2xx, and answered to the end.
func Requests(w Wire) []RoundTrip {
	return slices.DeleteFunc(Trips(w), func(r RoundTrip) bool {
		return !r.Ordinary() || !r.Sent.IsRequest() || !r.Answer.OK() || !r.Answer.IsStream && !r.Answer.Ended || r.Answer.Err != nil
	})
}

// JudgeTrips tries a check on HTTP requests; keep nil keeps all of them.
func JudgeTrips(t *T, what string, all []RoundTrip, keep func(RoundTrip) bool, run func(*T, RoundTrip)) {
	messages := Messages{What: what}
	bySent := map[*driver.Frame]RoundTrip{}
	for _, r := range all {
		if keep != nil && !keep(r) {
			continue
		}
		came := r.Sent
		if len(r.Came) > 0 {
			came = r.Came[0]
		}
		messages.List = append(messages.List, Message{Frame: came, Session: r.Session, Request: r.Sent})
		bySent[r.Sent] = r
	}
	t.Judge(messages, func(t *T, m Message) { run(t, bySent[m.Request]) })
}
