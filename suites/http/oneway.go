package http

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

var oneWayChecks = check.Suite{
	"http/notification-202": check.ProcessProbe(func(t *check.T) {
		eachNamedRoundTrip(t, sendOneWay(t).Notifications, func(t *check.T, n roundtrip.NamedRoundTrip) {
			a := n.AwaitEnd()
			roundtrip.RequireNotFromIntermediary(t, a)
			requireNoReply(t, a)
			if a.StatusCode >= 400 && n.Subject.Name != "notifications/initialized" {
				t.Skip(check.NotApplicable, "it was not accepted")
			}
			t.Expect(a).To(check.Satisfy("HTTP 202", isAccepted))
		})
	}),

	"http/notification-empty-body": check.ProcessProbe(func(t *check.T) {
		sent := sendOneWay(t)
		all := slices.Concat(sent.Notifications, sent.Unsolicited, sent.Responses)
		eachNamedRoundTrip(t, all, func(t *check.T, n roundtrip.NamedRoundTrip) {
			a := n.AwaitEnd()
			if !isAccepted(a) {
				t.Skip(check.NotApplicable, "it was not answered with 202")
			}
			if hasNoBody(a) && !a.IsStream && (!a.Ended || a.Err != nil) {
				t.Retry(check.Undecided, "its end has not come: %s", a)
			}
			t.Expect(a).To(check.Satisfy("no body",
				func(a driver.HTTPResponse) bool { return a.Ended && hasNoBody(a) }))
		})
	}),

	"http/response-post-202": check.ProcessProbe(func(t *check.T) {
		sent := sendOneWay(t)
		eachNamedRoundTrip(t, slices.Concat(sent.Unsolicited, sent.Responses),
			func(t *check.T, response roundtrip.NamedRoundTrip) {
				t.Expect(response.AwaitEnd()).To(check.Satisfy("HTTP 202 or an error status",
					isAcceptedOrError))
			})
		for _, response := range sent.Responses {
			if response.IsBusy() {
				t.Yield("the server was busy with another message")
			}
			t.ExpectShould(response.AwaitEnd()).To(check.Satisfy("HTTP 202 for the answer to a request of the server",
				isAccepted))
		}
	}),

	"http/rejected-message-status": check.Probe(func(t *check.T) {
		for _, n := range sendOneWay(t).Notifications {
			if a := n.AwaitEnd(); a.OK() && !isAccepted(a) {
				t.Yield("accepted notifications are not answered with 202")
			}
		}
		s := t.Session()
		unknown := post(s, `{"jsonrpc":"2.0","method":"notifications/mcpcheck/unknown"}`)
		bad := post(t.Session(check.ForInvalidInput), `{"jsonrpc":"2.0","method":42}`)
		requireNoReply(t, unknown.AwaitEnd())
		if a := unknown.Response(); a.StatusCode == 0 && !s.IsAlive() {
			t.Retry(check.OtherCheck, "%s", a)
		}
		const want = "HTTP 202 or an error status for an unknown notification"
		t.Expect(unknown.AwaitEnd()).To(check.Satisfy(want, isAcceptedOrError))
		for _, x := range []*driver.RoundTrip{unknown, bad} {
			t.ExpectShould(x.AwaitEnd()).To(check.Satisfy("HTTP 202 or 4xx", func(a driver.HTTPResponse) bool {
				return isAccepted(a) || isClientError(a)
			}))
		}
	}),
}

// hasNoBody reports whether nothing follows the headers, not even white space.
func hasNoBody(a driver.HTTPResponse) bool { return a.Body.Len() == 0 && len(a.Events) == 0 }

// requireNoReply ends a check of the status for a notification when the response has a message in it, since another
// check judges that.
func requireNoReply(t *check.T, a driver.HTTPResponse) {
	isReply := func(m check.M) bool { return check.HasMember(m, "jsonrpc") && !check.HasMember(m, "method") }
	_, array := driver.Decode(a.Body.Bytes()).([]any)
	switch {
	case a.OK() && slices.ContainsFunc(bodies(a),
		func(body []byte) bool { return isReply(decodeObject(body)) }):
		t.Yield("it was replied to")
	case a.OK() && array && t.Revision != "2025-03-26":
		t.Yield("an array came")
	}
}

// oneWayMessages are messages that need no answer, with their HTTP responses.
type oneWayMessages struct {
	Notifications []roundtrip.NamedRoundTrip
	// Unsolicited are responses that answer no request.
	Unsolicited []roundtrip.NamedRoundTrip
	// Responses are the responses to requests of the server, if there were any.
	Responses []roundtrip.NamedRoundTrip
}

// sendOneWay sends notifications and responses in a session of its own, as a client that declares roots so that the
// server may request these.
func sendOneWay(t *check.T) oneWayMessages {
	return check.Step(t, "one-way messages", func(t *check.T) (sent oneWayMessages) {
		s := t.Session(check.Process)
		params := driver.ConnectParams(t.Revision)
		params["capabilities"] = check.M{"roots": check.M{"listChanged": true}}
		if err := s.Open(params); err != nil {
			t.Retry(check.Undecided, "no session: %v", check.Explain(err))
		}
		cancellation := invalid.NewCancellation(s)
		mark := s.Mark()
		s.SendJSON(cancellation)
		if !t.IsModern() {
			s.SendJSON(check.M{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
		}
		handshake.AwaitServerRequests(t, s)
		check.Barrier(t, s, mark)
		if !t.IsModern() { // modern clients send no responses
			s.MarkInvalidInput() // nothing has asked for these
			sent.Unsolicited = []roundtrip.NamedRoundTrip{
				postOneWay(t, s, "an unsolicited response", `"id":"mcpcheck-unsolicited","result":{}`),
				postOneWay(t, s, "an unsolicited error response",
					`"id":"mcpcheck-unsolicited-error","error":{"code":-32603,"message":"mcpcheck"}`),
			}
			sent.Notifications = append(sent.Notifications, postOneWay(t, s, "notifications/progress",
				`"method":"notifications/progress","params":{"progressToken":"mcpcheck-unsolicited","progress":1}`))
		}
		for _, f := range s.FramesSince(0) {
			switch {
			case f.Side != driver.FromClient || f.RoundTrip == nil || f.Manual:
			case f.IsNotification():
				f.RoundTrip.AwaitEnd()
				sent.Notifications = append(sent.Notifications, roundtrip.NewNamedRoundTrip(s, f.Method, f.RoundTrip))
			case f.IsResponse():
				f.RoundTrip.AwaitEnd()
				sent.Responses = append(sent.Responses,
					roundtrip.NewNamedRoundTrip(s, "the answer to a request of the server", f.RoundTrip))
			}
		}
		return sent
	})
}

// postOneWay posts a message with these members, to which there is no response.
func postOneWay(t *check.T, s *driver.Session, name, members string) roundtrip.NamedRoundTrip {
	x := post(s, `{"jsonrpc":"2.0",`+members+`}`)
	x.AwaitEnd()
	check.Barrier(t, s, s.Mark())
	return roundtrip.NewNamedRoundTrip(s, name, x)
}
