package transcript

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// TrackedRequest is a request of the client, with what the server has sent for it so far.
type TrackedRequest struct {
	Request *driver.Frame
	// Response is the response; nil when none has come yet.
	Response *driver.Frame
	// Cancelled reports whether the client cancelled the request.
	Cancelled bool
	// Progress are the progress notifications for the request, in their order.
	Progress []*ProgressNotification

	// token is its progress token; nil when it asks for no progress.
	token json.RawMessage
}

// ProgressNotification is a progress notification, with the request that it is about.
type ProgressNotification struct {
	check.Message
	// ForRequest is the latest request with the token, preferably one without a response; nil when there is none.
	ForRequest *TrackedRequest
	// EarlierResponse is the response to that request which came before the notification; nil while it is pending.
	EarlierResponse *driver.Frame
	// SimilarTokenRequest is a request with the same token as another JSON type, if ForRequest is nil; nil when there
	// is none.
	SimilarTokenRequest *TrackedRequest
	// TokenNotRequested reports, if ForRequest is nil, whether the notification is about a request without a token.
	TokenNotRequested bool

	// OnSubscriptionStream reports whether the notification came on the stream of a subscription: on a shared channel,
	// whether it names one, as its subscription or, without a request that it is about, as its token.
	OnSubscriptionStream bool
}

// ForeignProgress returns a function that reports whether a message in a session is progress of a request of another
// session: with a token that the other one gives, and this one has not given until then.
func ForeignProgress(w check.Wire) func(*driver.Session, *driver.Frame) bool {
	given := map[*driver.Session]map[string]time.Duration{}
	for _, s := range w.Sessions {
		given[s] = ProgressTokens(s)
	}
	return func(s *driver.Session, m *driver.Frame) bool {
		if !IsProgress(m) {
			return false
		}
		token := driver.IDKey(ProgressTokenOf(m))
		if at, is := given[s][token]; is && at <= m.At {
			return false
		}
		return slices.ContainsFunc(w.Sessions, func(other *driver.Session) bool {
			_, is := given[other][token]
			return is && other != s
		})
	}
}

// ProgressTokens are the progress tokens of a session, by the key of their value (7 and 7.0 are the same), with the
// times when they were given first.
func ProgressTokens(s *driver.Session) map[string]time.Duration {
	tokens := map[string]time.Duration{}
	for _, f := range s.FramesSince(0) {
		if f.Side != driver.FromClient {
			continue
		}
		for _, m := range f.Messages() {
			token := requestedToken(m)
			if _, is := tokens[driver.IDKey(token)]; token != nil && !is {
				tokens[driver.IDKey(token)] = m.At
			}
		}
	}
	return tokens
}

// ProgressTokenOf is the token of a progress notification.
func ProgressTokenOf(m *driver.Frame) json.RawMessage {
	params, _ := m.JSON()["params"].(check.M)
	return text.CompactJSON(params["progressToken"])
}

// ProgressValue is the member progress of a progress notification; false when that is not a number.
func ProgressValue(m *driver.Frame) (value *big.Float, ok bool) {
	params, _ := m.JSON()["params"].(check.M)
	number, _ := params["progress"].(json.Number)
	const bits = 256
	value, _, err := big.ParseFloat(string(number), 10, bits, big.ToNearestEven)
	return value, err == nil
}

// SessionProgress are the progress notifications of a session that has ended.
func SessionProgress(t *check.T, s *driver.Session) []*ProgressNotification {
	return check.Memo(t, s, func() []*ProgressNotification { return ProgressIn(s, s.FramesSince(0)) })
}

// ProgressIn are the progress notifications in a part of a session.
func ProgressIn(s *driver.Session, frames []*driver.Frame) (all []*ProgressNotification) {
	tracker := &requestTracker{byID: map[string]*TrackedRequest{}, byToken: map[string][]*TrackedRequest{}}
	tracker.read(frames, func(f, m *driver.Frame) {
		if IsProgress(m) {
			r := &ProgressNotification{Message: check.Message{Frame: m, Session: s}}
			tracker.correlateProgress(r, f)
			all = append(all, r)
		}
	})
	return all
}

// EachServerMessage calls visit for each request and notification of the server in a part of a session, with the
// requests that the client had sent by then. It ends at the first invalid input.
func EachServerMessage(frames []*driver.Frame, visit func(m *driver.Frame, asked []*TrackedRequest)) {
	tracker := &requestTracker{byID: map[string]*TrackedRequest{}, byToken: map[string][]*TrackedRequest{}}
	tracker.read(frames, func(_, m *driver.Frame) { visit(m, tracker.requests) })
}

// requestTracker holds the requests of the client in a session so far.
type requestTracker struct {
	requests []*TrackedRequest
	// byID are the latest requests of each id.
	byID map[string]*TrackedRequest
	// byToken are the requests of each progress token.
	byToken map[string][]*TrackedRequest
}

// read tracks the messages in frames, and calls visit for each request and notification m of the server with the frame
// f that it came in.
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

// addClientMessage tracks a message of the client.
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

// addResponse tracks a response.
func (s *requestTracker) addResponse(m *driver.Frame) {
	if x := s.byID[driver.IDKey(m.RequestID())]; x != nil && x.Response == nil {
		x.Response = m
	}
}

// requestedToken is the progress token of a request; nil when there is none.
func requestedToken(request *driver.Frame) json.RawMessage {
	if !bytes.Contains(request.Raw, []byte(`"progressToken"`)) { // cheaper than decoding
		return nil
	}
	params, _ := request.JSON()["params"].(check.M)
	if token, has := protocol.MetaOf(params)["progressToken"]; has {
		return text.CompactJSON(token)
	}
	return nil
}

// correlateProgress finds the request that a notification, which came in the frame f, is about.
func (s *requestTracker) correlateProgress(r *ProgressNotification, f *driver.Frame) {
	token := ProgressTokenOf(r.Frame)
	r.OnSubscriptionStream = slices.ContainsFunc(s.requests, func(a *TrackedRequest) bool {
		return a.Request.OpensStream() && IsOnStreamOf(f, a.Request)
	}) || !HasOwnStream(f) && SubscriptionIDOf(r.Frame) != (check.Absent{})
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
	if a := s.byID[driver.IDKey(token)]; a != nil && !HasOwnStream(f) && a.Request.Method == ListenMethod {
		r.OnSubscriptionStream = true
	}
	r.TokenNotRequested = s.isForRequestWithoutToken(f)
	i := slices.IndexFunc(s.requests,
		func(a *TrackedRequest) bool { return a.token != nil && driver.SameIDText(a.token, token) })
	if i >= 0 {
		r.SimilarTokenRequest = s.requests[i]
	}
}

// isForRequestWithoutToken reports whether a message that came in a frame is about a request without a progress token:
// it came on the stream of the response to one or, on a shared channel, while only such requests were pending.
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

// HasOwnStream reports whether a frame of the server came on a stream that belongs to one request.
func HasOwnStream(f *driver.Frame) bool { return f.RoundTrip != nil && f.RoundTrip.RequestID() != nil }

// IsOnStreamOf reports whether a frame of the server came on the stream of this request, resumed or not.
func IsOnStreamOf(f, request *driver.Frame) bool {
	return HasOwnStream(f) && driver.SameID(f.RoundTrip.RequestID(), request.ID)
}

// IsOnOtherStream reports whether a frame of the server came on the stream of another request.
func IsOnOtherStream(f, request *driver.Frame) bool {
	return HasOwnStream(f) && !IsOnStreamOf(f, request)
}

// Params are the params of the notification.
func (r *ProgressNotification) Params() check.M {
	params, _ := r.JSON()["params"].(check.M)
	return params
}

// Token is the token in the notification, decoded.
func (r *ProgressNotification) Token() any { return check.Member(r.Params(), "progressToken") }

// Subject shows the request and the notification.
func (r *ProgressNotification) Subject() check.Subject {
	if r.ForRequest != nil {
		return check.Subject{Frames: []*driver.Frame{r.ForRequest.Request, r.Frame}}
	}
	return check.Subject{Frames: []*driver.Frame{r.Frame}}
}

// IsProgress reports whether a frame is a progress notification.
func IsProgress(f *driver.Frame) bool { return f.Method == "notifications/progress" }

// PeakPerTwoSeconds is the largest number of elements, sorted by time, within any two seconds.
func PeakPerTwoSeconds[V any](all []V, at func(V) time.Duration) (most int) {
	first := 0
	for i, v := range all {
		for at(v)-at(all[first]) > 2*time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
