package http

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var oneWayChecks = Suite{
	"http/notification-202": Fresh(func(t *T) {
		kit.EachAttempt(t, oneWay(t).Notifications, func(t *T, n kit.Attempt) {
			a := n.End()
			kit.NotForeign(t, a)
			skipReply(t, a)
			if a.Status >= 400 && n.Subject.Name != "notifications/initialized" {
				t.Skip("it was not accepted")
			}
			t.Expect(a).To(That("HTTP 202", kit.IsAccepted))
		})
	}),

	"http/notification-empty-body": Fresh(func(t *T) {
		sent := oneWay(t)
		all := slices.Concat(sent.Notifications, sent.Unsolicited, sent.Genuine)
		kit.EachAttempt(t, all, func(t *T, n kit.Attempt) {
			a := n.End()
			if !kit.IsAccepted(a) {
				t.Skip("it was not answered with 202")
			}
			if hasNoBody(a) && !a.IsStream && (!a.Ended || a.Err != nil) {
				t.Again("its end has not come: %s", a)
			}
			t.Expect(a).To(That("no body", func(a driver.Answer) bool { return a.Ended && hasNoBody(a) }))
		})
	}),

	"http/response-post-202": Fresh(func(t *T) {
		sent := oneWay(t)
		kit.EachAttempt(t, slices.Concat(sent.Unsolicited, sent.Genuine), func(t *T, response kit.Attempt) {
			t.Expect(response.End()).To(That("HTTP 202 or an error status", kit.AcceptsOrRefuses))
		})
		for _, response := range sent.Genuine {
			if response.IsBusy() {
				t.Yield("the server was busy with another message")
			}
			t.Warn(response.End()).To(That("HTTP 202 for the answer to a request of the server", kit.IsAccepted))
		}
	}),

	"http/rejected-message-status": Probe(func(t *T) {
		for _, n := range oneWay(t).Notifications {
			if a := n.End(); a.OK() && !kit.IsAccepted(a) {
				t.Yield("accepted notifications are not answered with 202")
			}
		}
		s := t.Session()
		unknown := kit.Post(s, `{"jsonrpc":"2.0","method":"notifications/mcpcheck/unknown"}`)
		bad := kit.Post(t.Hostile(), `{"jsonrpc":"2.0","method":42}`)
		skipReply(t, unknown.End())
		if a := unknown.Answer(); a.Status == 0 && !s.Alive() {
			t.Because(OtherCheck).Again("%s", a)
		}
		const want = "HTTP 202 or an error status for an unknown notification"
		t.Expect(unknown.End()).To(That(want, kit.AcceptsOrRefuses))
		for _, x := range []*driver.Exchange{unknown, bad} {
			t.Warn(x.End()).To(That("HTTP 202 or 4xx", func(a driver.Answer) bool {
				return kit.IsAccepted(a) || kit.RefusesClient(a)
			}))
		}
	}),
}

// hasNoBody reports whether not even white space has come after the headers.
func hasNoBody(a driver.Answer) bool { return a.Body.Len() == 0 && len(a.Events) == 0 }

// skipReply ends a check of the status with which a notification is answered when that has brought a message: then the
// message is what is wrong.
func skipReply(t *T, a driver.Answer) {
	isReply := func(m M) bool { return Has(m, "jsonrpc") && !Has(m, "method") }
	_, array := driver.Decode(a.Body.Bytes()).([]any)
	switch {
	case a.OK() && slices.ContainsFunc(kit.Bodies(a), func(body []byte) bool { return isReply(kit.Object(body)) }):
		t.Yield("it was replied to")
	case a.OK() && array && t.Revision != "2025-03-26":
		t.Yield("an array came")
	}
}

// messages that want no answer, and what became of them.
type messages struct {
	Notifications []kit.Attempt
	Unsolicited   []kit.Attempt // a response to no request
	Genuine       []kit.Attempt // responses to requests of the server, if it had any
}

// oneWay sends messages that want no answer in a session of its own, as a client that invites the server to ask for its
// roots.
func oneWay(t *T) messages {
	return Step(t, "one-way messages", func(t *T) (sent messages) {
		s := t.Start()
		hello := driver.Hello(t.Revision)
		hello["capabilities"] = M{"roots": M{}}
		if err := s.Establish(hello); err != nil {
			t.Again("no session: %v", Explain(err))
		}
		cancellation := kit.Cancellation(s)
		mark := s.Mark()
		s.SendJSON(cancellation)
		kit.LetAsk(t, s)
		Settle(t, s, mark)
		if !t.Modern() { // whose clients send no responses
			sent.Unsolicited = []kit.Attempt{respond(t, s)}
		}
		for _, f := range s.Record(0) {
			switch {
			case f.Side != driver.FromClient || f.HTTP == nil || f.Apart:
			case f.IsNotification():
				f.HTTP.End()
				sent.Notifications = append(sent.Notifications, kit.AttemptOf(s, f.Method, f.HTTP))
			case f.IsResponse():
				f.HTTP.End()
				sent.Genuine = append(sent.Genuine, kit.AttemptOf(s, "the answer to a request of the server", f.HTTP))
			}
		}
		return sent
	})
}

// respond sends a response to no request.
func respond(t *T, s *driver.Session) kit.Attempt {
	s.Hostile()
	response := kit.Post(s, `{"jsonrpc":"2.0","id":"mcpcheck-unsolicited","result":{}}`)
	response.End()
	Settle(t, s, s.Mark())
	return kit.AttemptOf(s, "an unsolicited response", response)
}
