package http

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

var sessionChecks = check.Suite{
	"http/session-missing-400": check.Probe(func(t *check.T) {
		skipUnlessSessions(t)
		eachValid(t, 3, func(t *check.T, request roundtrip.ManualRequest) {
			r, a := requestWithoutSessionID(t, request)
			roundtrip.RequireNotFromIntermediary(t, a)
			t.Expect(a).To(check.Satisfy("HTTP 400, or to be served", func(a driver.HTTPResponse) bool {
				return a.StatusCode == http.StatusBadRequest || isHandled(r, a)
			}))
			if !a.OK() {
				return
			}
			t.DecidedBy(a).Expect(request.Method == "" || !refusesWithoutSessionID(t)).To(check.BeTrue(
				"HTTP 400, as other methods without a session id", "%s", a))
			request.Header, request.OnNewConnection = roundtrip.Header(roundtrip.SessionIDHeader), true
			alone := roundtrip.AwaitResponse(roundtrip.PostRequest(t.Session(), request))
			isNeeded := alone.StatusCode == http.StatusBadRequest
			t.DecidedBy(a).Expect(!isNeeded).To(check.BeTrue("HTTP 400, as on a new connection",
				"%s on a connection on which the id has come before", a))
		})
		if refusesWithoutSessionID(t) {
			a := cancelUnknown(t, t.Session(), roundtrip.Header(roundtrip.SessionIDHeader))
			t.DecidedBy(a.Response).Expect(!a.Response.OK()).To(check.BeTrue(
				"HTTP 400 for a notification, as for requests without a session id", "%s", a))
		}
	}),

	"http/session-missing-get-400": check.Probe(func(t *check.T) {
		skipUnlessSessions(t)
		s := t.Session()
		x := roundtrip.Get(s, roundtrip.Header(roundtrip.SessionIDHeader))
		a := x.AwaitHeaders()
		x.Abort()
		if usual := roundtrip.ListeningResponse(t,
			s); !isStreamOr405(usual) && a.StatusCode == usual.StatusCode {
			t.Yield("GET is answered like that in a session, too")
		}
		t.Expect(a).To(check.Satisfy("HTTP 400, HTTP 405 or an event stream", func(a driver.HTTPResponse) bool {
			return a.StatusCode == http.StatusBadRequest || isStreamOr405(a)
		}))
	}),

	"http/session-unknown-404": check.RestartProbe(func(t *check.T) {
		skipUnlessSessions(t)
		validRequests(t)
		s := t.Session(check.Exclusive)
		id := s.HTTP().SessionID()
		if isJWT(id) {
			t.Skip(check.NotApplicable, "the session ids are signed: one that is made up is malformed")
		}
		if check.RestartServer(t, s) {
			s = t.Session(check.Exclusive)
			expectLost(t, s, id)
		}
		eachValid(t, 2, func(t *check.T, request roundtrip.ManualRequest) {
			unknown := request
			unknown.Header = roundtrip.Header(roundtrip.SessionIDHeader, roundtrip.MutatedID(id))
			x := roundtrip.PostRequest(s, unknown)
			r := x.AwaitReply()
			if r.Result() != nil && isHandled(requestWithoutSessionID(t, request)) {
				t.Skip(check.NotOffered, "the server needs no session id: it serves requests without one, too")
			}
			roundtrip.RequireNotFromIntermediary(t, x.Response())
			t.ExpectShould(x.Response()).To(check.Satisfy("HTTP 404", roundtrip.IsNotFound))
		})
	}),

	"http/session-terminated-404": check.Probe(func(t *check.T) {
		skipUnlessSessions(t)
		e := deleteSession(t)
		requireEnded(t, e.DeleteResponse)
		if e.IsIDReused {
			t.Yield("the next session has the same id")
		}
		eachNamedRoundTrip(t, e.LaterRequests, func(t *check.T, use roundtrip.NamedRoundTrip) {
			a := roundtrip.RequireHTTPResponse(t, use.Response())
			if use.Method != http.MethodGet {
				t.Expect(a).To(check.Satisfy("HTTP 404", roundtrip.IsNotFound), "DELETE was answered with %s",
					roundtrip.FormatStatus(e.DeleteResponse))
				return
			}
			if a.StatusCode == e.GetResponse.StatusCode && !isStreamOr405(e.GetResponse) {
				t.Yield("GET is not served at all")
			}
			t.Expect(a).To(check.Satisfy("HTTP 404 or HTTP 405", func(a driver.HTTPResponse) bool {
				return roundtrip.IsNotFound(a) || a.StatusCode == http.StatusMethodNotAllowed
			}), "DELETE was answered with %s", roundtrip.FormatStatus(e.DeleteResponse))
		})
	}),

	"http/delete-supported-or-405": check.Probe(func(t *check.T) {
		skipUnlessSessions(t)
		t.Expect(deleteSession(t).DeleteResponse).To(check.Satisfy("a status of success, or HTTP 405",
			func(a driver.HTTPResponse) bool {
				return a.OK() || a.StatusCode == http.StatusMethodNotAllowed
			}))
	}),

	"http/reinitialize-after-404": check.Probe(func(t *check.T) {
		skipUnlessSessions(t)
		e := deleteSession(t)
		requireEnded(t, e.DeleteResponse)
		t.Expect(e.InitializeReply).To(check.BeResult())
	}),

	"http/initialize-needs-no-session": check.Probe(func(t *check.T) {
		s := t.Session(check.Process)
		plain := roundtrip.PostConnect(t, s, roundtrip.Header(roundtrip.SessionIDHeader))
		if plain.AwaitReply().Result() != nil {
			return
		}
		a := plain.Response()
		skipIfUnauthorized(t, a)
		if !a.OK() && !roundtrip.MayRequireSession(a) {
			t.NoVerdict(check.HandshakeFailed, "initialize is not served: %s", a)
		}
		const want = "initialize served without further headers, as with them"
		t.DecidedBy(a).Expect(!roundtrip.IsServedWithHeaders(t, s)).To(check.BeTrue(want, "%s", a))
		if t.Server.ConnectResult == nil { // else discovery has seen it served, and there may be one session only
			t.NoVerdict(check.HandshakeFailed, "initialize is not served in any way: %s", a)
		}
	}).WhenConnectRefused(),

	"http/no-session-issued-no-session-required": check.Probe(func(t *check.T) {
		switch {
		case t.Server.ConnectResult == nil:
			t.NoVerdict(check.HandshakeFailed, "the handshake failed")
		case !t.Server.Sessionless:
			t.Skip(check.NotApplicable, "the server issues session ids")
		}
		answers := responsesWithoutSession(t)
		served := slices.ContainsFunc(answers, driver.HTTPResponse.OK)
		demanded := !served && slices.ContainsFunc(answers, roundtrip.MayRequireSession)
		t.Expect(!demanded).To(check.BeTrue("requests served without a session id, since initialize brought none",
			"%s (a proxy may have removed the header Mcp-Session-Id)", answers[0]))
		if !served {
			t.NoVerdict(check.Undecided, "requests are not served after the handshake: %s", answers[0])
		}
	}).WhenConnectRefused(),

	"http/session-header-case-insensitive": check.Probe(func(t *check.T) {
		skipUnlessSessions(t)
		id := t.Session().HTTP().SessionID()
		var forms []headerVariant
		for _, name := range []string{"mcp-session-id", "MCP-SESSION-ID", "MCP-Session-Id"} {
			forms = append(forms, headerVariant{name, roundtrip.Header(name, id)})
		}
		compareHeaders(t, roundtrip.Header(roundtrip.SessionIDHeader, id), forms)
	}),

	"http/multiple-clients": check.Probe(func(t *check.T) {
		if t.Server.Sessionless {
			for _, r := range concurrentReplies(t) {
				t.Expect(r).To(check.Satisfy("each of twenty clients at a time served as one alone is",
					func(r driver.Reply) bool { return !isRefusedClient(t, r) }))
			}
			return
		}
		s := t.Session(check.Process)
		first := begin(t, s)
		if first.AwaitReply().Result() == nil {
			t.NoVerdict(check.OtherCheck, "initialize is not served: %s", check.Got(first.AwaitReply()))
		}
		second := begin(t, s)
		t.Expect(second.AwaitReply()).To(check.BeResult(), "initialize of a second client, while another has a session")
		for _, x := range []*driver.RoundTrip{second, first} {
			t.Expect(pingIn(s, x).AwaitReply()).To(check.BeResult(), "ping of one of two clients with a session")
		}
		further := []*driver.RoundTrip{begin(t, s), begin(t, s), begin(t, s)}
		for _, x := range further {
			t.Expect(x.AwaitReply()).To(check.BeResult(), "initialize of one of three clients at the same time")
		}
	}),

	"http/session-isolation": check.WatchWithSetup(
		func(t *check.T) {
			steps := []func(*check.T){
				func(t *check.T) { requestInTwoSessions(t) },
				func(t *check.T) { leaksBetweenSessions(t) },
				exchangeMarkers,
			}
			check.Parallel(t, len(steps), func(t *check.T, i int) { steps[i](t) })
		},
		func(t *check.T, w check.Wire) {
			if leaks := append(leaksBetweenSessions(t), leakedMarkers(t, w)...); len(leaks) > 0 {
				check.Each(t, leaks, leak.subject, func(t *check.T, l leak) {
					t.Fail("each message once, and in its own session", "%s", l.description)
				})
			}
			if foreign := append(foreignResponses(w), foreignProgress(w)...); len(foreign) > 0 {
				check.Each(t, foreign, foreignMessage.subject, func(t *check.T, s foreignMessage) {
					t.Fail("each message once, and in its own session", "%s", s.description)
				})
			}
			for _, x := range requestInTwoSessions(t) {
				if r := x.AwaitReply(); r.Err != nil {
					t.Retry(check.Undecided, "%v", check.Explain(r.Err))
				}
			}
		}),
}

// begin sends initialize as another client does.
func begin(t *check.T, s *driver.Session) *driver.RoundTrip {
	return roundtrip.PostConnect(t, s, roundtrip.Header(roundtrip.SessionIDHeader))
}

// pingIn ends the handshake of the session that a request has begun, and sends a ping in it.
func pingIn(s *driver.Session, x *driver.RoundTrip) *driver.RoundTrip {
	in := roundtrip.Header(roundtrip.SessionIDHeader, x.Response().Header.Values(roundtrip.SessionIDHeader)...)
	roundtrip.PostInitialized(s, in).AwaitEnd()
	return roundtrip.PostRequest(s, roundtrip.ManualRequest{Header: in})
}

// expectLost requires 404 for the id of a session that the server had before it was restarted, unless it has kept the
// session.
func expectLost(t *check.T, s *driver.Session, id string) {
	x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Header: roundtrip.Header(roundtrip.SessionIDHeader, id)})
	isServed := x.AwaitReply().Result() != nil
	a := roundtrip.RequireHTTPResponse(t, x.Response())
	t.DecidedBy(a).Expect(isServed || roundtrip.IsNotFound(a)).To(check.BeTrue(
		"HTTP 404 for a session of before the server was restarted", "%s", a))
}

func skipUnlessSessions(t *check.T) {
	if t.Server.Sessionless {
		t.Skip(check.NotOffered, "the server issues no session id")
	}
}

// requireEnded ends a check of what follows DELETE when that did not end the session.
func requireEnded(t *check.T, a driver.HTTPResponse) {
	switch {
	case a.StatusCode == http.StatusMethodNotAllowed:
		t.Skip(check.NotOffered, "DELETE is answered with 405: the server lets no client end a session")
	case !a.OK():
		t.Yield("DELETE did not end the session")
	}
}

// isHandled reports whether a request was handled, even if the method is unknown.
func isHandled(r driver.Reply, a driver.HTTPResponse) bool {
	code, _ := r.Code()
	return a.OK() && (r.Result() != nil || code == errcode.MethodNotFound)
}

// validRequests are the no-op of the session, and a request of each other method that the server serves.
func validRequests(t *check.T) []roundtrip.ManualRequest {
	all := []roundtrip.ManualRequest{{}}
	for _, valid := range requests.Valid(t) {
		if valid.Method != "ping" && valid.Method != "server/discover" {
			all = append(all, roundtrip.ManualRequest{Method: valid.Method, Params: valid.Params})
		}
	}
	return all
}

// eachValid runs a check on each of the validRequests for which the server has time, when it is sent so many times.
func eachValid(t *check.T, times int, run func(*check.T, roundtrip.ManualRequest)) {
	eachVaried(t, validRequests(t), times, run)
}

// requestWithoutSessionID sends a request in a session without the session id, right after one with it, so that the
// connection has carried the id when it is used again.
func requestWithoutSessionID(t *check.T, request roundtrip.ManualRequest) (driver.Reply, driver.HTTPResponse) {
	x := check.Step(t, strings.TrimSpace("without session id "+nameOf(request)), func(t *check.T) *driver.RoundTrip {
		request.Header = roundtrip.Header(roundtrip.SessionIDHeader)
		s := t.Session()
		s.Call(s.NoOp())
		x := roundtrip.PostRequest(s, request)
		x.AwaitReply()
		return x
	})
	return x.AwaitReply(), x.Response()
}

// refusesWithoutSessionID reports whether a request without a session id is answered with 400, ping apart.
func refusesWithoutSessionID(t *check.T) bool {
	return slices.ContainsFunc(validRequests(t)[1:], func(request roundtrip.ManualRequest) bool {
		_, a := requestWithoutSessionID(t, request)
		return a.StatusCode == http.StatusBadRequest
	})
}

// deletedSession is the outcome of a session that the client ended with DELETE.
type deletedSession struct {
	// GetResponse is the response to a GET before that.
	GetResponse driver.HTTPResponse
	// DeleteResponse is the response to DELETE.
	DeleteResponse driver.HTTPResponse
	// LaterRequests are requests afterwards with the id of the session.
	LaterRequests []roundtrip.NamedRoundTrip
	// InitializeReply is the reply to initialize without an id.
	InitializeReply driver.Reply
	// IsIDReused reports whether the session which that began has the same id.
	IsIDReused bool
}

// deleteSession ends a session with DELETE and tries to use it.
func deleteSession(t *check.T) deletedSession {
	uses := sessionRequests(t)
	return check.Step(t, "ended session", func(t *check.T) (e deletedSession) {
		s := t.Session(check.Process)
		in := newManualSession(t, s)
		e.GetResponse = awaitHeaders(roundtrip.Get(s, in))
		if e.DeleteResponse = s.HTTP().Do(driver.HTTPRequest{Method: http.MethodDelete, Header: in}).
			AwaitEnd(); !e.DeleteResponse.OK() {
			return e
		}
		again := roundtrip.PostRequest(s, roundtrip.ManualRequest{
			ID: invalid.StringIDOrDefault(t,
				"mcpcheck-start-over"), Method: "initialize", Params: driver.ConnectParams(t.Revision),
			Header: roundtrip.Header(roundtrip.SessionIDHeader),
		})
		deadline := time.Now().Add(gracePeriod(e.DeleteResponse, s))
		for pause := timing.SessionEnd; ; pause *= 2 {
			e.LaterRequests = requestAll(s, in, uses)
			if !slices.ContainsFunc(e.LaterRequests, isServing) || time.Now().Add(pause).After(deadline) {
				break
			}
			time.Sleep(pause)
		}
		e.InitializeReply = again.AwaitReply()
		id := in.Get(roundtrip.SessionIDHeader)
		e.IsIDReused = id != "" && id == again.Response().Header.Get(roundtrip.SessionIDHeader)
		return e
	})
}

// sessionRequests are requests of each method that a session should serve, those that change it among them.
func sessionRequests(t *check.T) []roundtrip.ManualRequest {
	all := validRequests(t)
	for _, method := range protocol.ListMethods(t.Server.Capabilities) {
		if !slices.ContainsFunc(all, func(r roundtrip.ManualRequest) bool { return r.Method == method }) {
			all = append(all, roundtrip.ManualRequest{Method: method})
		}
	}
	for _, r := range requests.ChangingSession(t) {
		all = append(all, roundtrip.ManualRequest{Method: r.Method, Params: r.Params})
	}
	return requests.Affordable(t, all, 2)
}

// requestAll sends requests, a notification and GET with the headers of a session, and waits for the responses.
func requestAll(
	s *driver.Session, in http.Header, all []roundtrip.ManualRequest,
) (uses []roundtrip.NamedRoundTrip) {
	use := func(name string, make func() *driver.RoundTrip) {
		x := roundtrip.RetryWhileBusy(s, make)
		awaitHeaders(x)
		uses = append(uses, roundtrip.NewNamedRoundTrip(s, name, x))
	}
	for _, request := range all {
		request.Header = in
		name := request.Method
		if name == "" {
			name, _ = s.NoOp()
		}
		use(name, func() *driver.RoundTrip { return roundtrip.PostRequest(s, request) })
	}
	use("a notification", func() *driver.RoundTrip { return roundtrip.PostInitialized(s, in) })
	use("GET", func() *driver.RoundTrip { return roundtrip.Get(s, in) })
	return uses
}

// isServing reports whether a request shows that its session goes on.
func isServing(use roundtrip.NamedRoundTrip) bool {
	a := use.Response()
	return a.OK() || use.Method != http.MethodGet && !roundtrip.IsNotFound(a)
}

// gracePeriod is how long a server may take to end a session after its response to DELETE. It is longer after 202,
// which promises an end later.
func gracePeriod(deleted driver.HTTPResponse, s *driver.Session) time.Duration {
	if isAccepted(deleted) {
		return s.ReplyTimeout()
	}
	return 500 * time.Millisecond
}

// responsesWithoutSession are the responses to what every server accepts in a session without an id: the notification
// that ends the handshake, and requests.
func responsesWithoutSession(t *check.T) (answers []driver.HTTPResponse) {
	s := t.Session(check.Process)
	in := roundtrip.Header(roundtrip.VersionHeader, t.Revision)
	if connect := roundtrip.PostConnect(t, s, nil); connect.AwaitReply().Result() == nil {
		t.Retry(check.Undecided, "no session: initialize was answered with %s", connect.Response())
	}
	sent := []*driver.RoundTrip{roundtrip.PostInitialized(s, in)}
	for _, method := range append([]string{""}, protocol.ListMethods(t.Server.Capabilities)...) {
		sent = append(sent, roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: method, Header: in}))
	}
	for _, x := range sent {
		answers = append(answers, x.AwaitEnd())
	}
	return answers
}

// requestInTwoSessions sends requests in two sessions at once, some of them under the same ids in both, and waits until
// the responses are complete. Tools are called while both sessions are open. It sends fewer requests to a slow server,
// which may serve one after the other.
func requestInTwoSessions(t *check.T) []*driver.RoundTrip {
	return check.Step(t, "two sessions at once", func(t *check.T) (sent []*driver.RoundTrip) {
		const most, same = 4, 70041
		a, b := t.Session(check.Exclusive), t.Session(check.Exclusive)
		both := []*driver.Session{a, b}
		if !t.IsModern() {
			for _, s := range both {
				roundtrip.ListeningResponse(t, s) // on this stream responses of the other session may come
			}
		}
		begin := time.Now()
		check.RequestNoOp(t, a)
		rounds := int(a.ReplyTimeout() / max(most*time.Since(begin), 1))
		for i := range max(1, min(rounds, most)) {
			one := invalid.StringIDOrDefault(t, fmt.Sprint("mcpcheck-in-one-", i))
			other := invalid.StringIDOrDefault(t, fmt.Sprint("mcpcheck-in-other-", i))
			sent = append(sent,
				roundtrip.PostRequest(a, roundtrip.ManualRequest{ID: same + i}),
				roundtrip.PostRequest(a, roundtrip.ManualRequest{ID: one}),
				roundtrip.PostRequest(b, roundtrip.ManualRequest{ID: same + i}), roundtrip.PostRequest(b,
					roundtrip.ManualRequest{ID: other}))
		}
		for _, x := range sent {
			x.AwaitEnd()
		}
		for _, s := range both {
			check.KeepIdle(t, s)
		}
		toolcall.CallTools(t)
		return sent
	})
}

// foreignMessage is a message that came in another session than its own.
type foreignMessage struct {
	*driver.Frame
	description string
}

func (s foreignMessage) subject() check.Subject {
	return check.Subject{Frames: []*driver.Frame{s.Frame}}
}

// foreignResponses are responses under an id that another session has used for a request, and their own has not. A
// duplicate response does not count, nor does an id that the server took from a malformed message.
func foreignResponses(w check.Wire) (foreign []foreignMessage) {
	for _, s := range w.CompleteSessions() {
		asked := map[string]bool{}
		for _, f := range s.FramesSince(0) {
			if f.AfterInvalidInput {
				break
			}
			for _, m := range f.Messages() {
				switch id := originalID(m); {
				case f.Side == driver.FromClient && m.IsRequest():
					asked[driver.IDKey(id)] = true
				case f.Side == driver.FromServer && m.IsResponse():
					if !asked[driver.IDKey(id)] && s.OtherSessionUsedID(id) {
						foreign = append(foreign,
							foreignMessage{m, "a response with id " + check.Show(check.FrameID(m))})
					}
				}
			}
		}
	}
	return foreign
}

// reportedIfForeign returns a function for matchers of streams that lack their response: where responses come to other
// clients, http/session-isolation reports it.
func reportedIfForeign(w check.Wire) func(types.GomegaMatcher) types.GomegaMatcher {
	isAny := len(foreignResponses(w)) > 0
	return func(isWanted types.GomegaMatcher) types.GomegaMatcher {
		if isAny {
			return check.ReportedBy("http/session-isolation", isWanted)
		}
		return isWanted
	}
}

// originalID is the id of a message, restored if the server sent it as a string.
func originalID(m *driver.Frame) json.RawMessage {
	if driver.SameIDText(m.ID, m.RequestID()) {
		return m.RequestID()
	}
	return m.ID
}

// foreignProgress are progress notifications in a session with a token of another one.
func foreignProgress(w check.Wire) (foreign []foreignMessage) {
	isForeign := transcript.ForeignProgress(w)
	for _, s := range w.CompleteSessions() {
		for _, f := range s.ReceivedSince(0) {
			for _, m := range f.Messages() {
				if isForeign(s, m) {
					foreign = append(foreign,
						foreignMessage{m, "the progress of " + string(transcript.ProgressTokenOf(m))})
				}
			}
		}
	}
	return foreign
}
