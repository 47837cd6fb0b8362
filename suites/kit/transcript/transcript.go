package transcript

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Call is a request of the client with its response and the circumstances in which it has none.
type Call struct {
	// Request is the request as it was sent, in Session.
	Request *driver.Frame
	Session *driver.Session
	// Response is the response; nil when none came.
	Response *driver.Frame
	// ErrorWithoutID reports whether an error without an id came that was probably meant for the request.
	ErrorWithoutID bool
	// WrongIDResponse is a response that was probably meant for the request, under an id that no request has.
	WrongIDResponse *driver.Frame
	// Batched reports whether the request was a member of a JSON-RPC batch.
	Batched bool
	// Ready reports whether the request was sent after the handshake, or needs none.
	Ready bool
	// OpensStream reports whether a stream that stays open is the answer to the request.
	OpensStream bool
	// StreamAcknowledged reports whether the server acknowledged that stream.
	StreamAcknowledged bool
	// Cancelled reports whether the client cancelled the request.
	Cancelled bool
	// TimedOut reports whether the client cancelled the request because there was no response in time.
	TimedOut bool
	// NoResponseInBody reports whether over HTTP the request was answered with a success status and no response.
	NoResponseInBody bool
	// EndFrame is the event that ended the wait for a response; nil when nothing did.
	EndFrame *driver.Frame

	// HTTPStatus is how the HTTP round trip ended without a message; nil when it did not.
	HTTPStatus *driver.Frame
	// Transcript is the one that the call is part of.
	Transcript *Transcript
	// index is the position of the request in the transcript.
	index int
	// AfterNotification reports whether a notification preceded the request whose effect might still be to come.
	AfterNotification bool
}

// Response is a message of the server that looks like a response.
type Response struct {
	check.Message
	// WireFrame is the frame that the message came in, which may be a batch.
	WireFrame *driver.Frame
	// Call is the call that the response answers; nil when there is none.
	Call *Call
	// DuplicateOf is the call that had its response before this one; nil when there is none.
	DuplicateOf *Call
	// GuessedCall is a call without a response that this response may be for, if it answers none; nil when there is
	// none.
	GuessedCall *Call
	// MaybeForNotification reports whether the response may be a reply to a notification that was sent shortly before.
	MaybeForNotification bool

	index int
}

// Transcript is the requests and responses of one session, correlated with each other.
type Transcript struct {
	Calls     []*Call
	Responses []*Response

	// pending are the calls without a response, by id.
	pending map[string]*Call
	// latest are the latest calls of each id.
	latest map[string]*Call
	// notificationIndex is where a notification was sent whose effect may be to come; 0 when there is none.
	notificationIndex int
	// answeredSince is how many requests that were sent after that notification have responses.
	answeredSince int
	// notificationCount is how many notifications were sent.
	notificationCount int
	// endedCalls is how many calls have an EndFrame.
	endedCalls  int
	initialized bool
	// sessionEnded reports whether the session ended, after which the server receives nothing.
	sessionEnded bool
	index        int
}

// Transcripts are the transcripts of all sessions of the run.
func Transcripts(w check.Wire) (all []*Transcript) {
	for _, s := range w.Sessions {
		all = append(all, SessionTranscript(s))
	}
	return all
}

// SessionTranscript is the transcript of one session. It leaves out what checks sent by hand, and ends where the client
// sent invalid input.
func SessionTranscript(s *driver.Session) *Transcript {
	frames := slices.DeleteFunc(s.FramesSince(0), func(f *driver.Frame) bool { return f.Manual })
	if i := slices.IndexFunc(frames, func(f *driver.Frame) bool { return f.AfterInvalidInput }); i >= 0 {
		frames = frames[:i+1]
	}
	return correlate(s, frames)
}

// WholeTranscript is the transcript of one session with what checks sent by hand, and what follows invalid input.
func WholeTranscript(s *driver.Session) *Transcript { return correlate(s, s.FramesSince(0)) }

// CallsOf are the calls of a method.
func (d *Transcript) CallsOf(method string) []*Call {
	return slices.DeleteFunc(slices.Clone(d.Calls), func(x *Call) bool { return x.Request.Method != method })
}

// correlate finds out which response answers which request.
func correlate(s *driver.Session, frames []*driver.Frame) *Transcript {
	d := &Transcript{pending: map[string]*Call{}, latest: map[string]*Call{}}
	for _, f := range frames {
		d.index++
		switch {
		case f.AfterInvalidInput || f.Side == driver.SessionEvent:
			d.endCalls(f)
			d.sessionEnded = d.sessionEnded || s.IsEnd(f)
		case f.Side == driver.FromClient && d.sessionEnded:
		case f.Side == driver.FromClient && f.Raw.Len() > 0:
			for _, m := range clientMessages(f) {
				d.addSent(s, m, f.Kind == driver.Array)
			}
		case f.Side == driver.FromClient:
		case f.RoundTrip != nil && f.RoundTrip.IsRejected():
			d.addHTTPError(s, f)
		case f.Side == driver.StatusOnly:
			if x := d.pending[driver.IDKey(f.RoundTrip.RequestID())]; x != nil && !f.RoundTrip.IsAnsweredOnStream() {
				x.HTTPStatus = f
				x.NoResponseInBody = f.RoundTrip.Response().OK() && !f.AfterShutdown && !f.RoundTrip.IsCancelled()
			}
		default:
			for _, m := range f.Messages() {
				d.addReceived(s, m, f)
			}
		}
	}
	if len(d.Calls) == 0 || !s.HasBeginning() {
		d.Responses = nil // the requests that they answer may be missing in the record
	}
	d.guessCalls()
	return d
}

// clientMessages are the messages in a frame of the client. Some checks write several lines at once.
func clientMessages(f *driver.Frame) (messages []*driver.Frame) {
	if f.Kind != driver.NotJSON {
		return f.Messages()
	}
	for line := range bytes.SplitSeq(f.Raw.Bytes(), []byte("\n")) {
		array := slices.Concat([]byte("["), line, []byte("]"))
		one := driver.Frame{At: f.At, Side: f.Side, Kind: driver.Array, Raw: driver.Text(array), User: f.User}
		messages = append(messages, one.Messages()...)
	}
	return messages
}

func (d *Transcript) addSent(s *driver.Session, m *driver.Frame, batched bool) {
	switch {
	case m.IsRequest():
		x := &Call{
			Request: m, Session: s, Batched: batched, Ready: d.initialized ||
				namesRevision(m), OpensStream: m.OpensStream(),
			Transcript: d, index: d.index, AfterNotification: d.notificationIndex > 0,
		}
		d.Calls = append(d.Calls, x)
		d.pending[driver.IDKey(m.ID)], d.latest[driver.IDKey(m.ID)] = x, x
	case m.IsNotification():
		d.notificationIndex, d.answeredSince = d.index, 0
		d.notificationCount++
		d.initialized = d.initialized || m.Method == "notifications/initialized"
		if x := d.latest[CancelledID(m)]; x != nil {
			x.Cancelled, x.TimedOut = true, x.Response == nil && m.At-x.Request.SentAt() >= s.ReplyTimeout()/2
		}
	}
}

// namesRevision reports whether a request names the revision in which it is to be served, as modern requests do.
func namesRevision(request *driver.Frame) bool {
	params, _ := request.JSON()["params"].(check.M)
	meta, _ := params["_meta"].(check.M)
	return check.HasMember(meta, driver.MetaRevision)
}

// CancelledID is the key of the id that a message cancels; empty when it is not a cancellation.
func CancelledID(m *driver.Frame) string {
	if m.Method != "notifications/cancelled" {
		return ""
	}
	params, _ := m.JSON()["params"].(check.M)
	return driver.IDKey(text.CompactJSON(params["requestId"]))
}

// acknowledgedID is the key of the id of the request whose stream a message acknowledges; empty when it is not an
// acknowledgment.
func acknowledgedID(m *driver.Frame) string {
	if m.Method != "notifications/subscriptions/acknowledged" {
		return ""
	}
	params, _ := m.JSON()["params"].(check.M)
	meta, _ := params["_meta"].(check.M)
	return driver.IDKey(text.CompactJSON(meta[driver.MetaSubscription]))
}

// barrierCount is how many requests driver.Session.Barrier sends, whose responses prove that what was sent before had
// its effect.
const barrierCount = 2

func (d *Transcript) addReceived(s *driver.Session, m, line *driver.Frame) {
	if x := d.pending[acknowledgedID(m)]; x != nil {
		x.StreamAcknowledged = true
	}
	if !m.IsResponse() || m.ForOtherSession {
		return
	}
	key := driver.IDKey(m.RequestID())
	r := &Response{Message: check.Message{Frame: m, Session: s}, WireFrame: line,
		MaybeForNotification: d.notificationIndex > 0, index: d.index}
	switch x := d.pending[key]; {
	case x != nil:
		delete(d.pending, key)
		x.Response, r.Call, r.Request = m, x, x.Request
		if x.index > d.notificationIndex {
			d.answeredSince++
		}
		if d.answeredSince == barrierCount {
			d.notificationIndex = 0 // the notification has had its effect
		}
	case d.latest[key] != nil:
		r.DuplicateOf, r.Request = d.latest[key], d.latest[key].Request
	case !m.HasJSONRPC:
		return // JSON of another kind
	}
	d.Responses = append(d.Responses, r)
}

// addHTTPError notes the HTTP error that answers a request. It need not be JSON-RPC, and its body may be an error
// without an id, so it counts as the response unless it is a response under an id of its own.
func (d *Transcript) addHTTPError(s *driver.Session, f *driver.Frame) {
	x := d.pending[driver.IDKey(f.RoundTrip.RequestID())]
	switch {
	case f.Kind == driver.Object && f.ID != nil && string(f.ID) != "null":
		d.addReceived(s, f, f)
	case x != nil:
		delete(d.pending, driver.IDKey(f.RoundTrip.RequestID()))
		x.Response = f
	}
}

func (d *Transcript) endCalls(f *driver.Frame) {
	for _, x := range d.Calls[d.endedCalls:] {
		x.EndFrame = f
	}
	d.endedCalls = len(d.Calls)
}

// guessCalls finds a request for each response that answers none: the one in whose HTTP response it came or, without
// one, the oldest without a response.
func (d *Transcript) guessCalls() {
	free := d.Calls // calls from the oldest one on that has no response and was not guessed yet
	for _, r := range d.Responses {
		if r.Call != nil || r.DuplicateOf != nil || d.matchRoundTrip(r) {
			continue
		}
		for len(free) > 0 && (free[0].Response != nil || free[0].StreamAcknowledged) {
			free = free[1:]
		}
		if len(free) == 0 || free[0].index >= r.index {
			continue
		}
		r.GuessedCall, r.Request = free[0], free[0].Request
		r.GuessedCall.ErrorWithoutID, r.GuessedCall.WrongIDResponse = r.HasError, r.Frame
		free = free[1:]
	}
}

// matchRoundTrip takes a response as the answer to the request in whose HTTP response it came, unless that has another
// one. It reports whether there is such a request.
func (d *Transcript) matchRoundTrip(r *Response) bool {
	if r.WireFrame.RoundTrip == nil || r.WireFrame.RoundTrip.IsAnsweredOnStream() {
		return false
	}
	x := d.pending[driver.IDKey(r.WireFrame.RoundTrip.RequestID())]
	if x == nil {
		return false
	}
	delete(d.pending, driver.IDKey(x.Request.ID))
	x.Response, x.NoResponseInBody, r.Call, r.Request = r.Frame, false, x, x.Request
	return true
}

// UnmatchedResponse is the first response since the mark that answers no request; nil when there is none.
func UnmatchedResponse(s *driver.Session, mark int) *driver.Frame {
	for _, r := range WholeTranscript(s).responsesIn(s.ReceivedSince(mark)) {
		if r.Call == nil {
			return r.Frame
		}
	}
	return nil
}

// responsesIn are the responses that came in certain frames.
func (d *Transcript) responsesIn(lines []*driver.Frame) (responses []*Response) {
	wanted := make(map[*driver.Frame]bool, len(lines))
	for _, line := range lines {
		wanted[line] = true
	}
	for _, r := range d.Responses {
		if wanted[r.WireFrame] {
			responses = append(responses, r)
		}
	}
	return responses
}

// NotificationReplies are the replies to the notification that was sent after the mark. A server that sent more
// responses without an id than it received notifications is noisy: then such a response proves nothing, and is left
// out, which isUndecided reports. So is a duplicate response where the server sends others twice, too.
func NotificationReplies(t *check.T, s *driver.Session, mark int) (replies []*driver.Frame, isUndecided bool) {
	d := WholeTranscript(s)
	withoutID, doubles := 0, d.hasDuplicates(t)
	for _, r := range d.Responses {
		if r.LacksID() {
			withoutID++
		}
	}
	noisy := withoutID > d.notificationCount
	for _, r := range d.responsesIn(s.ReceivedSince(mark)) {
		switch {
		case !r.answersNotification(), doubles && r.DuplicateOf != nil:
		case noisy && r.LacksID():
			isUndecided = true
		default:
			replies = append(replies, r.Frame)
		}
	}
	return replies, isUndecided
}

// IsOnGETStream reports whether a frame came on a GET stream of Streamable HTTP that does not resume a response.
func IsOnGETStream(t *check.T, f *driver.Frame) bool {
	return t.Server.Transport == "http" && f.RoundTrip != nil && f.RoundTrip.Method == http.MethodGet &&
		f.RoundTrip.RequestID() == nil
}

// SkipIfAnswersTwice ends a check that has seen a second response if the server also answered a request twice that was
// not cancelled.
func SkipIfAnswersTwice(t *check.T, s *driver.Session) {
	if WholeTranscript(s).hasDuplicates(t) {
		t.Yield("a request that was not cancelled has several answers, too")
	}
}

// hasDuplicates reports whether a request that was not cancelled has several responses. Copies on a GET stream, such as
// those that a check has resumed, do not count.
func (d *Transcript) hasDuplicates(t *check.T) bool {
	return slices.ContainsFunc(d.Responses, func(r *Response) bool {
		return r.DuplicateOf != nil && !r.DuplicateOf.Cancelled && !r.IsCopyOnGETStream(t)
	})
}

// IsCopyOnGETStream reports whether a duplicate, or the response before it, came on a GET stream.
func (r *Response) IsCopyOnGETStream(t *check.T) bool {
	return IsOnGETStream(t, r.WireFrame) || IsOnGETStream(t, r.DuplicateOf.Response)
}

// answersNotification reports whether a response seems to be a reply to a notification: it came soon after one, and the
// client waits for nothing that it could be.
func (r *Response) answersNotification() bool {
	unwanted := func(x *Call) bool { return x == nil || x.Cancelled }
	return r.MaybeForNotification && r.Call == nil && unwanted(r.DuplicateOf) && unwanted(r.GuessedCall)
}

// LacksID reports whether a response has no id and is not known to answer a request.
func (r *Response) LacksID() bool { return r.Call == nil && protocol.IsMissingID(r.ID) }

// SessionEnded reports whether the server ended the session on its own before it answered the request.
func (x *Call) SessionEnded() bool {
	return x.EndFrame != nil && !x.EndFrame.AfterShutdown && x.Session.IsEnd(x.EndFrame)
}

// IsConnectionClosed reports whether the server closed the HTTP connection instead of answering the request.
func (x *Call) IsConnectionClosed() bool {
	return x.Response == nil && x.HTTPStatus != nil && !x.SessionEnded() && x.HTTPStatus.RoundTrip.IsConnectionClosed()
}

// EstablishedSessions are the sessions that negotiated the tested revision, after the client requested that or a
// version that was never published. Where the client requested another published version, the server may follow the
// rules of that one.
func EstablishedSessions(t *check.T, w check.Wire) (sessions []*driver.Session) {
	for _, s := range w.Sessions {
		asked, _ := s.ConnectParams["protocolVersion"].(string)
		if s.NegotiatedRevision() == t.Revision && (asked == t.Revision ||
			slices.Contains(protocol.UnpublishedVersions, asked)) {
			sessions = append(sessions, s)
		}
	}
	return sessions
}

// UnterminatedResponse returns the response to a call over stdio that came without a newline, so that it is not read as
// one, until the call had timed out and the session was ended; nil if there is none.
func UnterminatedResponse(x *Call) *driver.Frame {
	if x.Response != nil || x.Session.ShutdownAt() < x.Request.SentAt()+x.Session.Patience(x.Request) {
		return nil
	}
	for _, f := range x.Session.ReceivedSince(0) {
		if f.Side == driver.FromServer && !f.Complete && f.IsResponse() && driver.SameID(f.ID, x.Request.ID) {
			return f
		}
	}
	return nil
}
