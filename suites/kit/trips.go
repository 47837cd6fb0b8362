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
	result := func(f *driver.Frame) bool { return f.HasResult }
	return slices.ContainsFunc(r.Came, result) || Has(Object(r.Answer.Body.Bytes()), "result")
}

// Subject shows the request, and the first that came back.
func (r RoundTrip) Subject() Subject {
	return Subject{Frames: append([]*driver.Frame{r.Sent}, r.Came[:min(len(r.Came), 1)]...)}
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

// Accepted are the single requests that were posted in ordinary sessions and accepted with 2xx, whatever became of the
// answer then.
func Accepted(w Wire) []RoundTrip {
	return slices.DeleteFunc(Trips(w), func(r RoundTrip) bool {
		return !r.Ordinary() || !r.Sent.IsRequest() || !r.Answer.OK()
	})
}

// Requests are those of Accepted that were answered to the end. What was cancelled needs no answer.
func Requests(w Wire) []RoundTrip {
	cancelled := map[*driver.Exchange]bool{}
	for _, d := range Dialogues(w) {
		for _, x := range d.Exchanges {
			cancelled[x.Request.HTTP] = x.Cancelled
		}
	}
	return slices.DeleteFunc(Accepted(w), func(r RoundTrip) bool {
		unfinished := !r.Answer.IsStream && !r.Answer.Ended || r.Answer.Err != nil
		return unfinished || cancelled[r.Sent.HTTP]
	})
}

// JudgeTrips tries a check on HTTP requests; keep nil keeps all of them.
func JudgeTrips(t *T, what string, all []RoundTrip, keep func(RoundTrip) bool, run func(*T, RoundTrip)) {
	if keep != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(r RoundTrip) bool { return !keep(r) })
	}
	Judge(t, what, all, RoundTrip.Subject, run)
}
