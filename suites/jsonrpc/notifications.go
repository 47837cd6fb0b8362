package jsonrpc

import (
	"maps"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// notificationChecks are the checks that notifications have no response.
var notificationChecks = check.Suite{
	"jsonrpc/notification-no-response": check.Probe(func(t *check.T) {
		s := t.Session()
		cancellation := invalid.NewCancellation(s)
		mark := s.Mark()
		s.SendJSON(cancellation)
		check.Barrier(t, s, mark)
		invalid.ExpectNoReply(t, s, mark)
	}),

	"jsonrpc/unknown-notification-ignored": check.Probe(func(t *check.T) {
		form := func(note check.M) check.Subject { return check.NamedSubject(check.Show(note)) }
		all := unknownNotifications
		if check.SavesRequests(t) {
			all = []check.M{all[0], all[2]} // without params, and with some
		}
		check.Each(t, all, form, func(t *check.T, note check.M) {
			s := t.Session()
			check.RequestNoOp(t, s) // what the handshake brought is not a reaction
			mark := s.Mark()
			note = maps.Clone(note)
			note["jsonrpc"] = "2.0"
			s.SendJSON(note)
			_, err := s.Barrier(mark)
			invalid.ExpectAlive(t, err)
			invalid.ExpectIgnored(t, s, mark, "jsonrpc/unknown-notification-ignored")
		})
	}),

	"jsonrpc/request-method-without-id": check.Probe(func(t *check.T) {
		p := invalid.SendMalformed(t, invalid.RequestWithoutID)
		if p.SessionErr != nil {
			t.Yield("the session did not survive it")
		}
		r := invalid.ReplyToMalformed(p, nil)
		invalid.SkipIfUnsolicitedResponses(t, r)
		if r.Answered() && !isHTTPRefusal(r) {
			invalid.SkipIfRepliesToNotifications(t)
		}
		t.Expect(r).NotTo(check.BeResult())
		if isHTTPRefusal(r) {
			return // over HTTP, a notification may be refused with an error status
		}
		isNoError := check.ReportedBy("jsonrpc/unknown-notification-ignored",
			check.BeTrue("anything but an error", "%s", r))
		t.DecidedBy(r).ExpectShould(r.Error() == nil).To(isNoError)
	}),

	"jsonrpc/unknown-response-ignored": check.Probe(func(t *check.T) {
		check.Each(t, invalid.UnknownResponses, check.NamedSubject, func(t *check.T, line string) {
			p := invalid.SendMalformed(t, line)
			if p.SessionErr != nil {
				t.Yield("the session did not survive it")
			}
			id := invalid.IDInLine(line)
			r := invalid.ReplyToMalformed(p, id)
			hasID := r.Answered() && driver.SameID(r.Frame.ID, id)
			t.DecidedBy(r).Expect(!hasID).To(check.BeTrue("no response", "%s", r))
		})
	}),

	"jsonrpc/notification-method-with-id": check.Probe(func(t *check.T) {
		line := initializedWithID
		if t.IsModern() {
			line = cancellationWithID // clients send no other one in these revisions
		}
		p := invalid.SendMalformed(t, line)
		id := invalid.IDInLine(p.Line)
		r := invalid.ReplyToMalformed(p, id)
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(check.BeAnswered())
		requireRepeatedIDs(t)
		t.Expect(r.Frame).To(haveID(id))
		t.ExpectAdvice(r).To(check.BeError())
	}),

	"jsonrpc/server-notification-no-id": check.Watch(func(t *check.T, w check.Wire) {
		notifications := func(m check.Message) bool { return strings.HasPrefix(m.Method, "notifications/") }
		t.Judge(w.Messages().Filter("notification", notifications), func(t *check.T, m check.Message) {
			t.Expect(m.ID == nil).To(check.BeTrue("no id", "id %s", m.ID))
		})
	}),
}

// unknownNotifications are the forms in which clients send notifications that a server may not know, those of later
// revisions among them.
var unknownNotifications = []check.M{
	{"method": "notifications/mcpcheck/unknown"},
	{"method": "notifications/mcpcheck/unknown", "params": check.M{}},
	{"method": "notifications/mcpcheck/unknown", "params": check.M{"mcpcheck": 1}},
	{"method": "notifications/mcpcheck/unknown", "params": check.M{"_meta": protocol.UnknownMeta}},
}

// isHTTPRefusal reports whether the reply is an HTTP error that names no request.
func isHTTPRefusal(r driver.Reply) bool { return r.Answered() && protocol.MayLackID(r.Frame) }
