package transcript

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Asked is a request of the client, and when it was answered.
type TrackedRequest struct {
	Request   *driver.Frame
	Response  *driver.Frame           // nil: none has come
	Cancelled bool                    // the client has taken it back
	Progress  []*ProgressNotification // of its progress, as they came

	token json.RawMessage // nil: it asks for no progress
}

// ProgressNotification is a notification of progress, and what the client had asked for when it came.
type ProgressNotification struct {
	check.Message
	ForRequest      *TrackedRequest // the request that has given the token, the latest of several; nil: none has
	EarlierResponse *driver.Frame   // the answer to that, which came before; nil: it was under way
	// of one without Of: the request that has given the same token in another type; nil: none has
	SimilarTokenRequest *TrackedRequest
	TokenNotRequested   bool // of one without Of: it is about a request that asks for no progress

	OnSubscriptionStream bool // it is on the stream of a subscription
}

// Reports are the reports of progress of the sessions that negotiated the revision, as long as their clients kept the
// protocol. A session whose record has lost its beginning is left out, and so is what strayed into another session,
// where http/session-isolation judges that.
func ProgressNotifications(t *check.T, w check.Wire) (all []*ProgressNotification) {
	for _, s := range EstablishedSessions(t, check.Wire{Sessions: w.CompleteSessions()}) {
		all = append(all, SessionProgress(t, s)...)
	}
	strange := func(r *ProgressNotification) bool { return r.ForRequest == nil }
	if t.Server.Transport != "http" || t.IsModern() || !slices.ContainsFunc(all, strange) {
		return all
	}
	isStray := ForeignProgress(w)
	return slices.DeleteFunc(all,
		func(r *ProgressNotification) bool { return strange(r) && isStray(r.Session, r.Frame) })
}

// ForeignProgress tells whether a message in a session is progress of what another session has asked for.
func ForeignProgress(w check.Wire) func(*driver.Session, *driver.Frame) bool {
	all, own := map[string]bool{}, map[*driver.Session]map[string]bool{}
	for _, s := range w.Sessions {
		own[s] = ProgressTokens(s)
		maps.Copy(all, own[s])
	}
	return func(s *driver.Session, m *driver.Frame) bool {
		if !IsProgress(m) {
			return false
		}
		token := driver.IDKey(ProgressTokenOf(m))
		return all[token] && !own[s][token]
	}
}

// ProgressTokens are those under which a session has asked for progress, by the key of their value: 7 and 7.0 are one.
func ProgressTokens(s *driver.Session) map[string]bool {
	tokens := map[string]bool{}
	for _, f := range s.FramesSince(0) {
		if f.Side == driver.FromClient {
			for _, m := range f.Messages() {
				if token := requestedToken(m); token != nil {
					tokens[driver.IDKey(token)] = true
				}
			}
		}
	}
	return tokens
}

// ProgressTokenOf is the token of a report of progress.
func ProgressTokenOf(m *driver.Frame) json.RawMessage {
	params, _ := m.JSON()["params"].(check.M)
	return text.CompactJSON(params["progressToken"])
}

// SessionProgress are those of a session that has ended.
func SessionProgress(t *check.T, s *driver.Session) []*ProgressNotification {
	return check.Memo(t, s, func() []*ProgressNotification { return ProgressIn(s, s.FramesSince(0)) })
}

// ProgressIn are those in a part of what was said in a session.
func ProgressIn(s *driver.Session, frames []*driver.Frame) (all []*ProgressNotification) {
	told := &requestTracker{byID: map[string]*TrackedRequest{}, byToken: map[string][]*TrackedRequest{}}
	told.read(frames, func(f, m *driver.Frame) {
		if IsProgress(m) {
			r := &ProgressNotification{Message: check.Message{Frame: m, Session: s}}
			told.correlateProgress(r, f)
			all = append(all, r)
		}
	})
	return all
}

// EachServerMessage visits what the server says by itself in a part of what was said in a session, as long as the
// client kept the protocol, with what the client had asked for when it came.
func EachServerMessage(frames []*driver.Frame, visit func(m *driver.Frame, asked []*TrackedRequest)) {
	told := &requestTracker{byID: map[string]*TrackedRequest{}, byToken: map[string][]*TrackedRequest{}}
	told.read(frames, func(_, m *driver.Frame) { visit(m, told.requests) })
}

// requestTracker is what the client has asked for in a session so far.
type requestTracker struct {
	requests []*TrackedRequest
	byID     map[string]*TrackedRequest   // by id: the latest request
	byToken  map[string][]*TrackedRequest // by token
}

// read notes what is said in frames, and visits what the server says by itself: a message, and the frame that it came
// in.
func (s *requestTracker) read(frames []*driver.Frame, visit func(f, m *driver.Frame)) {
	for _, f := range frames {
		if f.AfterInvalidInput {
			return
		}
		for _, m := range f.Messages() {
			switch {
			case f.Side == driver.FromClient:
				s.addClientMessage(m)
			case f.Side != driver.FromServer || f.ForOtherSession:
			case m.IsResponse():
				s.addResponse(m)
			case !f.Manual:
				visit(f, m)
			}
		}
	}
}

// addClientMessage notes a message of the client.
func (s *requestTracker) addClientMessage(m *driver.Frame) {
	if x := s.byID[CancelledID(m)]; x != nil {
		x.Cancelled = true
	}
	if !m.IsRequest() {
		return
	}
	a := &TrackedRequest{Request: m, token: requestedToken(m)}
	s.requests, s.byID[driver.IDKey(m.ID)] = append(s.requests, a), a
	if key := driver.IDKey(a.token); a.token != nil {
		s.byToken[key] = append(s.byToken[key], a)
	}
}

// answered notes a response.
func (s *requestTracker) addResponse(m *driver.Frame) {
	if x := s.byID[driver.IDKey(m.RequestID())]; x != nil && x.Response == nil {
		x.Response = m
	}
}

// requestedToken is the token for progress in a request; nil when there is none.
func requestedToken(request *driver.Frame) json.RawMessage {
	if !bytes.Contains(request.Raw, []byte(`"progressToken"`)) { // which is learnt sooner than by decoding
		return nil
	}
	params, _ := request.JSON()["params"].(check.M)
	if token, has := protocol.MetaOf(params)["progressToken"]; has {
		return text.CompactJSON(token)
	}
	return nil
}

// correlateProgress finds out what a report, which came in a frame, is about.
func (s *requestTracker) correlateProgress(r *ProgressNotification, f *driver.Frame) {
	token := ProgressTokenOf(r.Frame)
	r.OnSubscriptionStream = slices.ContainsFunc(s.requests, func(a *TrackedRequest) bool {
		return a.Request.OpensStream() && IsOnStreamOf(f, a.Request)
	})
	for _, a := range slices.Backward(s.byToken[driver.IDKey(token)]) {
		if r.ForRequest == nil || r.ForRequest.Response != nil && a.Response == nil {
			r.ForRequest = a
		}
	}
	if r.ForRequest != nil {
		r.EarlierResponse = r.ForRequest.Response
		r.ForRequest.Progress = append(r.ForRequest.Progress, r)
		return
	}
	r.TokenNotRequested = s.isForRequestWithoutToken(f)
	i := slices.IndexFunc(s.requests,
		func(a *TrackedRequest) bool { return a.token != nil && driver.SameIDText(a.token, token) })
	if i >= 0 {
		r.SimilarTokenRequest = s.requests[i]
	}
}

// isForRequestWithoutToken reports whether what came in a frame is about a request that asks for no progress: on the
// stream of its answer or, on a channel that requests share, while only such requests are under way.
func (s *requestTracker) isForRequestWithoutToken(f *driver.Frame) (plain bool) {
	for _, a := range slices.Backward(s.requests) {
		switch {
		case IsOnStreamOf(f, a.Request):
			return a.token == nil
		case HasOwnStream(f), a.Response != nil, a.Cancelled, a.Request.OpensStream():
		case a.token != nil:
			return false
		default:
			plain = true
		}
	}
	return plain
}

// HasOwnStream reports whether what the server sent came on a stream that belongs to one request.
func HasOwnStream(f *driver.Frame) bool { return f.RoundTrip != nil && f.RoundTrip.RequestID() != nil }

// IsOnStreamOf reports whether it came on that of a certain request, be it after that was resumed.
func IsOnStreamOf(f, request *driver.Frame) bool {
	return HasOwnStream(f) && driver.SameID(f.RoundTrip.RequestID(), request.ID)
}

// IsOnOtherStream reports whether it came on that of another one.
func IsOnOtherStream(f, request *driver.Frame) bool {
	return HasOwnStream(f) && !IsOnStreamOf(f, request)
}

// Params are those of the report.
func (r *ProgressNotification) Params() check.M {
	params, _ := r.JSON()["params"].(check.M)
	return params
}

// Token is the one that the report names.
func (r *ProgressNotification) Token() any { return check.Member(r.Params(), "progressToken") }

// Subject shows the request and the report.
func (r *ProgressNotification) Subject() check.Subject {
	if r.ForRequest != nil {
		return check.Subject{Frames: []*driver.Frame{r.ForRequest.Request, r.Frame}}
	}
	return check.Subject{Frames: []*driver.Frame{r.Frame}}
}

// BecameTask reports whether the request was answered with a task, which goes on.
func (a *TrackedRequest) BecameTask() bool {
	if a.Response == nil {
		return false
	}
	result, _ := a.Response.JSON()["result"].(check.M)
	return check.HasMember(result, "task") || result["resultType"] == "task"
}
