package http

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// RoundTripRecord is an HTTP request of a session with what the server sent back.
type RoundTripRecord struct {
	Session *driver.Session
	Request *driver.Frame
	// Received are the messages or, without any, the status.
	Received []*driver.Frame
	Response driver.HTTPResponse
}

// IsOrdinary reports whether the request is one that any client may send.
func (r RoundTripRecord) IsOrdinary() bool { return !r.Request.Manual && !r.Request.AfterInvalidInput }

// HasResult reports whether a result came, even with an error status.
func (r RoundTripRecord) HasResult() bool {
	result := func(f *driver.Frame) bool { return f.HasResult }
	return slices.ContainsFunc(r.Received, result) || check.HasMember(decodeObject(r.Response.Body.Bytes()),
		"result")
}

// Subject shows the request and the first message that came back.
func (r RoundTripRecord) Subject() check.Subject {
	return check.Subject{Frames: append([]*driver.Frame{r.Request}, r.Received[:min(len(r.Received), 1)]...)}
}

// RoundTrips are all HTTP requests of the run.
func RoundTrips(w check.Wire) (all []RoundTripRecord) {
	for _, s := range w.Sessions {
		record := s.FramesSince(0)
		came := map[*driver.RoundTrip][]*driver.Frame{}
		for _, f := range record {
			if f.RoundTrip != nil && f.Side != driver.FromClient {
				came[f.RoundTrip] = append(came[f.RoundTrip], f)
			}
		}
		for _, f := range record {
			if f.RoundTrip != nil && f.Side == driver.FromClient {
				all = append(all, RoundTripRecord{Session: s, Request: f, Received: came[f.RoundTrip],
					Response: f.RoundTrip.Response()})
			}
		}
	}
	return all
}

// AcceptedRequests are the single requests of ordinary sessions that were accepted with 2xx, even if their responses
// are incomplete.
func AcceptedRequests(w check.Wire) []RoundTripRecord {
	return slices.DeleteFunc(RoundTrips(w), func(r RoundTripRecord) bool {
		return !r.IsOrdinary() || !r.Request.IsRequest() || !r.Response.OK()
	})
}

// AnsweredRequests are AcceptedRequests whose responses are complete. Cancelled requests are left out, since they need
// no response.
func AnsweredRequests(w check.Wire) []RoundTripRecord {
	cancelled := map[*driver.RoundTrip]bool{}
	for _, d := range transcript.Transcripts(w) {
		for _, x := range d.Calls {
			cancelled[x.Request.RoundTrip] = x.Cancelled
		}
	}
	return slices.DeleteFunc(AcceptedRequests(w), func(r RoundTripRecord) bool {
		unfinished := !r.Response.IsStream && !r.Response.Ended || r.Response.Err != nil
		return unfinished || cancelled[r.Request.RoundTrip]
	})
}

// JudgeRoundTrips runs a check on the HTTP requests for which keep returns true; nil keeps all of them. The text what
// names them in the reason when there are none.
func JudgeRoundTrips(
	t *check.T, what string, all []RoundTripRecord, keep func(RoundTripRecord) bool,
	run func(*check.T, RoundTripRecord),
) {
	if keep != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(r RoundTripRecord) bool { return !keep(r) })
	}
	check.Judge(t, what, all, RoundTripRecord.Subject, run)
}
