package transcript

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Exchange is a request of the client and what became of it.
type Call struct {
	Request            *driver.Frame
	Session            *driver.Session
	Response           *driver.Frame // nil: none came
	ErrorWithoutID     bool          // an error came without its id that was probably meant for it
	WrongIDResponse    *driver.Frame // a response under an id that no request has, which was probably meant for it
	Batched            bool          // it was a member of an array
	Ready              bool          // it was sent after the handshake, or needs none
	OpensStream        bool          // its answer is that a stream stays open
	StreamAcknowledged bool          // the server has said that it is
	Cancelled          bool
	TimedOut           bool          // it was cancelled when there was no answer in time
	NoResponseInBody   bool          // over HTTP: it was answered with a success that holds no response
	EndFrame           *driver.Frame // what ended the wait for an answer; nil when nothing did

	httpStatus        *driver.Frame // over HTTP: how the exchange ended without a message
	transcript        *Transcript
	index             int  // in the order of what was said
	afterNotification bool // a notification came before it whose effect was to come
}

// ResponseFrame is a message of the server that looks like an answer.
type Response struct {
	check.Message
	WireFrame   *driver.Frame // as it stood on the wire
	Call        *Call         // that it answers; nil: none
	DuplicateOf *Call         // a request that had its answer before
	// of a response that answers none: a request without an answer that it may be for
	GuessedCall          *Call
	MaybeForNotification bool // it may be an answer to a notification, which came not long before

	index int
}

// Transcript is the requests and responses of one session, in pairs.
type Transcript struct {
	Calls     []*Call
	Responses []*Response

	pending           map[string]*Call // by id: those that wait for their answer
	latest            map[string]*Call // by id
	notificationIndex int              // where a notification was sent whose effect may be to come
	answeredSince     int              // how many requests that were sent after it have their answers
	notificationCount int              // how many notifications were sent
	endedCalls        int              // how many exchanges have an end
	initialized       bool
	sessionEnded      bool // the session has ended: what the client says after that reaches nobody
	index             int
}

// Transcripts are those of the run, as long as the client kept the protocol.
func Transcripts(w check.Wire) (all []*Transcript) {
	for _, s := range w.Sessions {
		all = append(all, SessionTranscript(s))
	}
	return all
}

// SessionTranscript is that of one session. It leaves out what checks have sent by hand, and ends where the client did
// not keep the protocol.
func SessionTranscript(s *driver.Session) *Transcript {
	frames := slices.DeleteFunc(s.FramesSince(0), func(f *driver.Frame) bool { return f.Manual })
	if i := slices.IndexFunc(frames, func(f *driver.Frame) bool { return f.AfterInvalidInput }); i >= 0 {
		frames = frames[:i+1]
	}
	return correlate(s, frames)
}

// Of are the exchanges whose request has a method.
func (d *Transcript) CallsOf(method string) []*Call {
	return slices.DeleteFunc(slices.Clone(d.Calls), func(x *Call) bool { return x.Request.Method != method })
}

// correlate finds out which response of a record answers which request.
func correlate(s *driver.Session, frames []*driver.Frame) *Transcript {
	d := &Transcript{pending: map[string]*Call{}, latest: map[string]*Call{}}
	for _, f := range frames {
		d.index++
		switch {
		case f.AfterInvalidInput || f.Side == driver.SessionEvent:
			d.endCalls(f)
			d.sessionEnded = d.sessionEnded || isSessionEnd(s, f)
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
				x.httpStatus = f
				x.NoResponseInBody = f.RoundTrip.Response().OK() && !f.AfterShutdown && !f.RoundTrip.IsCancelled()
			}
		default:
			for _, m := range f.Messages() {
				d.addReceived(s, m, f)
			}
		}
	}
	if len(d.Calls) == 0 || !s.HasBeginning() {
		d.Responses = nil // what they answer, if anything, is not in the record
	}
	d.guessCalls()
	return d
}

// clientMessages are the messages in a frame of the client: some checks write several lines at once.
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
			transcript: d, index: d.index, afterNotification: d.notificationIndex > 0,
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

// namesRevision reports whether a request says itself in which revision it is to be served.
func namesRevision(request *driver.Frame) bool {
	params, _ := request.JSON()["params"].(check.M)
	meta, _ := params["_meta"].(check.M)
	return check.HasMember(meta, driver.MetaRevision)
}

// CancelledID is the key of the id that a notification cancels; empty for any other message.
func CancelledID(m *driver.Frame) string {
	if m.Method != "notifications/cancelled" {
		return ""
	}
	params, _ := m.JSON()["params"].(check.M)
	return driver.IDKey(text.CompactJSON(params["requestId"]))
}

// acknowledgedID is the key of the id of the request whose stream a notification says to be open; empty for any other
// message.
func acknowledgedID(m *driver.Frame) string {
	if m.Method != "notifications/subscriptions/acknowledged" {
		return ""
	}
	params, _ := m.JSON()["params"].(check.M)
	meta, _ := params["_meta"].(check.M)
	return driver.IDKey(text.CompactJSON(meta[driver.MetaSubscription]))
}

// fences is how many requests Settle sends to prove that what was sent before has had its effect.
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
		return // some other JSON
	}
	d.Responses = append(d.Responses, r)
}

// addHTTPError notes the HTTP error that answers a request. It need not be JSON-RPC, and its body may be an error
// without an id, so it counts as the answer unless it is a response under that id.
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

// guessCalls finds for each response that answers nothing the request whose HTTP answer it came with or, for want of
// that, the oldest one without an answer.
func (d *Transcript) guessCalls() {
	free := d.Calls // from the oldest one on that has no answer and was not found yet
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

// matchRoundTrip takes a response for the answer to the request whose HTTP answer it came with, unless that has another
// one.
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

// HasWrongID reports whether a response has another id than the request that it answers.
func (r *Response) HasWrongID() bool {
	return r.Call != nil && !driver.SameID(r.ID, r.Call.Request.ID) && !protocol.MayLackID(r.Frame)
}

// JudgeResponses tries a check on the responses that are kept.
func JudgeResponses(
	t *check.T, what string, all []*Transcript, keep func(*Response) bool, run func(*check.T, *Response),
) {
	var kept []*Response
	for _, d := range all {
		for _, r := range d.Responses {
			if keep(r) {
				kept = append(kept, r)
			}
		}
	}
	check.Judge(t, what, kept, (*Response).Subject, run)
}

// UnmatchedResponse is the first response since the mark that answers no request; nil when there is none.
func UnmatchedResponse(s *driver.Session, mark int) *driver.Frame {
	for _, r := range correlate(s, s.FramesSince(0)).responsesIn(s.ReceivedSince(mark)) {
		if r.Call == nil {
			return r.Frame
		}
	}
	return nil
}

// among are the responses that came in certain lines.
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

// NotificationReplies are the replies to the notification that was sent after the mark. A server that has sent more
// responses without id than it was sent notifications is noisy: then such a response says nothing of the notification.
// Nor does a second answer where others are doubled as well.
func NotificationReplies(s *driver.Session, mark int) (replies []*driver.Frame, noisy bool) {
	d := correlate(s, s.FramesSince(0))
	nameless, doubles := 0, d.hasDuplicates()
	for _, r := range d.Responses {
		if r.lacksID() {
			nameless++
		}
	}
	noisy = nameless > d.notificationCount
	for _, r := range d.responsesIn(s.ReceivedSince(mark)) {
		if r.answersNotification() && !(noisy && r.lacksID()) && !(doubles && r.DuplicateOf != nil) {
			replies = append(replies, r.Frame)
		}
	}
	return replies, noisy
}

// SkipIfAnswersTwice ends a check that has seen a second response if the server has answered a request of the session
// twice that was not cancelled.
func SkipIfAnswersTwice(t *check.T, s *driver.Session) {
	if correlate(s, s.FramesSince(0)).hasDuplicates() {
		t.Yield("a request that was not cancelled has several answers, too")
	}
}

func (d *Transcript) hasDuplicates() bool {
	return slices.ContainsFunc(d.Responses,
		func(r *Response) bool { return r.DuplicateOf != nil && !r.DuplicateOf.Cancelled })
}

// answersNotification reports whether a response seems to be a reply to a notification: it came soon after one, and is
// nothing that the client waits for.
func (r *Response) answersNotification() bool {
	unwanted := func(x *Call) bool { return x == nil || x.Cancelled }
	return r.MaybeForNotification && r.Call == nil && unwanted(r.DuplicateOf) && unwanted(r.GuessedCall)
}

// IsUnsolicited reports whether a response has no id and belongs to nothing that was sent: neither to a request nor, as
// far as time tells, to a notification.
func (r *Response) IsUnsolicited() bool {
	return r.lacksID() && r.GuessedCall == nil && !r.MaybeForNotification
}

// lacksID reports whether a response has no id, and does not answer a request otherwise.
func (r *Response) lacksID() bool { return r.Call == nil && protocol.IsMissingID(r.ID) }

// SessionEnded reports whether the server ended the session, without being asked to, before the request had its answer.
func (x *Call) SessionEnded() bool {
	return x.EndFrame != nil && !x.EndFrame.AfterShutdown && isSessionEnd(x.Session, x.EndFrame)
}

// isSessionEnd reports whether a frame says how a session ended.
func isSessionEnd(s *driver.Session, f *driver.Frame) bool {
	if f.Side != driver.SessionEvent {
		return false
	}
	death := s.EndErr()
	return death != nil && death.Error() == f.Raw.String()
}

// LimitErr is what mcpcheck itself cut off where the answer would be; nil when nothing was, or the answer is there.
func (x *Call) LimitErr() *driver.LimitError {
	switch {
	case x.Response != nil:
	case x.SessionEnded():
		return driver.AsLimitError(x.Session.EndErr())
	case x.Request.RoundTrip != nil:
		return x.Request.RoundTrip.Response().LimitErr()
	}
	return nil
}

// IsConnectionClosed reports whether over HTTP the server closed the connection instead of answering the request.
func (x *Call) IsConnectionClosed() bool {
	return x.Response == nil && x.httpStatus != nil && !x.SessionEnded() && x.httpStatus.RoundTrip.IsConnectionClosed()
}

// StreamOpen reports whether over HTTP the request was answered by an event stream that was still open when the wait
// for the response ended.
func (x *Call) StreamOpen() bool {
	if x.Response != nil || x.Request.RoundTrip == nil || x.Request.RoundTrip.IsAnsweredOnStream() {
		return false
	}
	a := x.Request.RoundTrip.Response()
	return a.IsStream && a.OK() && !x.SessionEnded()
}

// IsReceiving reports whether the answer was on its way when it was due: the server is slow, and not silent.
func (x *Call) IsReceiving() bool {
	return x.Response == nil && !x.SessionEnded() && x.Session.IsReceiving(x.Request)
}

// Left reports whether the server ended the session with status 0 before it answered, which it may over stdio: the
// request and the end may have crossed.
func (x *Call) ExitedZero() bool {
	return x.SessionEnded() && x.Session.HTTP() == nil && x.EndFrame.Raw.String() == driver.CleanExit
}

// Crashed reports whether the process ended by itself before it answered, other than Left. One that was killed may have
// been killed by somebody else.
func (x *Call) Crashed() bool {
	if !x.SessionEnded() || x.ExitedZero() || x.afterNotification || !x.followsRequest() {
		return false
	}
	end := x.EndFrame.Raw.String()
	return strings.HasPrefix(end, "the server exited") || strings.Contains(end, "by a signal") &&
		!strings.Contains(end, "(killed)") && !strings.Contains(end, "(terminated)")
}

// OtherSessionActive reports whether another session of the same process was in use when the server ended: over HTTP
// all sessions have one process.
func (x *Call) OtherSessionActive(w check.Wire) bool {
	const recently = 2 * time.Second
	return slices.ContainsFunc(w.Sessions, func(s *driver.Session) bool {
		return s != x.Session && s.HTTP() != nil && s.SentWithin(x.Session.TimeOf(x.EndFrame), recently)
	})
}

// followsRequest reports whether the request came right after another one. After a notification or a batch, their
// checks judge what becomes of the session.
func (x *Call) followsRequest() bool {
	follows := true
	for _, f := range x.Session.FramesSince(0) {
		switch {
		case f == x.Request:
			return follows
		case f.Side == driver.FromClient:
			follows = f.IsRequest()
		}
	}
	return false
}

// Last reports whether nothing was answered any more in the session once the request was sent, until it was ended.
func (x *Call) NothingAnsweredAfter() bool {
	return !slices.ContainsFunc(x.Session.ReceivedSince(0), func(f *driver.Frame) bool {
		return f.At > x.Request.At && f.IsResponse() && !f.AfterShutdown
	})
}

// WaitTime is how long an answer could have come: until the wait for it was ended, or until now. A server that answers
// one request after the other has the time for it once those are answered that were sent before.
func (x *Call) WaitTime() time.Duration {
	begin, end := x.Request.SentAt(), x.Session.ShutdownAt()
	if x.EndFrame != nil {
		end = min(end, x.EndFrame.At)
	}
	for _, y := range x.transcript.Calls {
		if y == x {
			break
		}
		if y.Response != nil {
			begin = max(begin, y.Response.At)
		}
	}
	return end - begin
}

// Subject shows the request, what seems to be the answer to it though it does not say so, and, if it came before the
// answer, the end of the session.
func (x *Call) Subject() check.Subject {
	frames := []*driver.Frame{x.Request}
	if x.Response == nil && x.WrongIDResponse != nil {
		frames = append(frames, x.WrongIDResponse)
	}
	switch {
	case x.Response != nil:
	case x.SessionEnded():
		frames = append(frames, x.EndFrame)
	case x.IsConnectionClosed():
		frames = append(frames, x.httpStatus)
	}
	return check.Subject{Frames: frames}
}

// Fate is why a request has no answer.
func (x *Call) NoAnswerReason() string {
	switch {
	case x.SessionEnded():
		return x.EndFrame.Raw.String()
	case x.IsConnectionClosed():
		return x.httpStatus.Raw.String()
	}
	fate := fmt.Sprintf("none within %v (--timeout)", x.Session.ReplyTimeout())
	if x.WrongIDResponse != nil {
		fate += fmt.Sprintf(", but a response under the id %s, which no request has",
			check.Show(check.FrameID(x.WrongIDResponse)))
	}
	return fate
}
