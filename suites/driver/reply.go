package driver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Pending is a request that was sent.
type Pending struct {
	ID     json.RawMessage
	Method string
	// mark is the position in the record from which on its response may be.
	mark int
	sent time.Time
	// frame is the request in the record; nil if the caller sent it.
	frame *Frame
}

// sentAt returns the time at which the request was sent. Over HTTP it may have had to wait for its turn; until it is
// sent, that is the current time.
func (p Pending) sentAt() time.Time {
	if p.frame == nil || p.frame.RoundTrip == nil {
		return p.sent
	}
	return p.frame.RoundTrip.sentAt()
}

func (p Pending) wasHeld() bool {
	return p.frame != nil && p.frame.RoundTrip != nil && p.frame.RoundTrip.wasHeld()
}

// replyFrom returns the reply in frame f, which contains it.
func (p Pending) replyFrom(f *Frame) Reply {
	r := Reply{Method: p.Method, Request: p.frame, Frame: f, messageFrame: f}
	ownID := f.IsResponse() && SameID(f.RequestID(), p.ID)
	switch {
	// the server rejected the batch
	case f.RoundTrip != nil && f.RoundTrip.hasErrorStatus() && f.RoundTrip.isInBatch(p.ID) && !ownID:
		none := &NoResponseError{Method: p.Method, Cause: f.RoundTrip.Response().String(), RoundTrip: f.RoundTrip}
		r.Frame, r.messageFrame, r.Err = nil, nil, none
	case f.Side == StatusOnly && f.RoundTrip.hasErrorStatus() && f.RoundTrip.resumeCount == 0:
		r.Synthetic = httpErrorMessage(f)
	case f.Side == StatusOnly && f.RoundTrip.unknownIDFrame != nil: // and no response with the right id followed
		r.Frame, r.messageFrame = f.RoundTrip.unknownIDFrame, f.RoundTrip.unknownIDFrame
	case f.Side == StatusOnly:
		r.Frame, r.Err = nil, &NoResponseError{Method: p.Method, Cause: f.Raw.String(), RoundTrip: f.RoundTrip}
	default:
		for _, m := range f.Messages() {
			if p.isAnsweredBy(m) {
				r.messageFrame = m
			}
		}
	}
	return r
}

func (p Pending) isAnsweredBy(f *Frame) bool {
	if f.Side == StatusOnly && f.RoundTrip.isAnswerTo(p.ID) || f.isHTTPErrorFor(p.ID) && f.IsResponse() {
		return true
	}
	return f.Side == FromServer && slices.ContainsFunc(f.Messages(), func(m *Frame) bool {
		return m.IsResponse() && SameID(m.RequestID(), p.ID)
	})
}

// Reply is the response to a request, or the reason why there is none.
type Reply struct {
	Method string
	// Request is nil if the caller sent the request.
	Request *Frame
	// Frame contains the response; nil if there is none.
	Frame *Frame
	// Err is why there is no response.
	Err error
	// Synthetic is the message if it cannot be read from the frame, as for an HTTP error without a JSON-RPC message.
	Synthetic M

	// messageFrame has the message: a member of a batch or, if nil, Frame itself.
	messageFrame *Frame

	// awaitLate implements AwaitLate; nil if the request had less time than the reply timeout.
	awaitLate func(within time.Duration) (waited bool, slow error)
}

// Took is the time from the request to the response; zero if there is none, or if the caller sent the request.
func (r Reply) Took() time.Duration {
	if r.Request == nil || r.Frame == nil {
		return 0
	}
	return r.Frame.At - r.Request.At
}

// AwaitLate waits for the response to a request that had none within the reply timeout, until the given time after the
// request was sent. slow is the error for a response that arrived, or nil. waited is false if AwaitLate could not wait.
func (r Reply) AwaitLate(within time.Duration) (waited bool, slow error) {
	if r.awaitLate == nil {
		return false, nil
	}
	return r.awaitLate(within)
}

// awaitLate implements Reply.AwaitLate. If the round trip ends without a message for the request, that is not a
// response: the session may have been ended.
func (s *Session) awaitLate(p Pending, within time.Duration) (waited bool, slow error) {
	f, err := s.Wait(p.mark, time.Until(p.sentAt().Add(within)), p.isAnsweredBy)
	if isSilent := errors.Is(err, errTimeout); err != nil {
		if isSilent && within >= 2*s.limits.ReplyTimeout {
			s.patience.add(p.frame, false)
		}
		return isSilent, nil
	}
	if r := p.replyFrom(f); !r.Answered() || r.IsStatusOnly() {
		return true, nil
	}
	s.patience.add(p.frame, true)
	return true, &LateResponseError{Method: p.Method, Took: s.TimeOf(f).Sub(p.sentAt()), Timeout: s.limits.ReplyTimeout}
}

// LateResponseError says that a response arrived after the reply timeout.
type LateResponseError struct {
	Method        string
	Took, Timeout time.Duration
}

func (e *LateResponseError) Error() string {
	return fmt.Sprintf("the server answered %s after %v, later than the --timeout of %v",
		e.Method, e.Took.Round(100*time.Millisecond), e.Timeout)
}

// HTTPResponse returns the HTTP response that carried the reply; the zero value over stdio, or if there is none.
func (r Reply) HTTPResponse() HTTPResponse {
	if r.Frame == nil || r.Frame.RoundTrip == nil {
		return HTTPResponse{}
	}
	return r.Frame.RoundTrip.Response()
}

// Answered reports whether there is a response.
func (r Reply) Answered() bool { return r.Frame != nil }

// Message returns the message, or nil if there is none. A long one is decoded at each call.
func (r Reply) Message() M {
	switch {
	case r.Synthetic != nil:
		return r.Synthetic
	case r.messageFrame != nil:
		return r.messageFrame.JSON()
	case r.Frame != nil:
		return r.Frame.JSON()
	}
	return nil
}

// Member returns a member of the message, or nil if there is none with that name. It does not decode a long message to
// learn that result or error is absent.
func (r Reply) Member(name string) any {
	if f := cmp.Or(r.messageFrame, r.Frame); r.Synthetic == nil && f != nil && f.Kind == Object {
		if name == "result" && !f.HasResult || name == "error" && !f.HasError {
			return nil
		}
	}
	return r.Message()[name]
}

// IsStatusOnly reports whether the response is an HTTP error without a JSON-RPC message. It counts as an error without
// a code.
func (r Reply) IsStatusOnly() bool { return r.Frame != nil && r.Frame.Side == StatusOnly }

// IsForbidden reports whether the response is HTTP 403, with or without a JSON-RPC message: the token may lack a scope.
func (r Reply) IsForbidden() bool { return r.HTTPResponse().StatusCode == http.StatusForbidden }

// Result returns the result object, or nil if there is none.
func (r Reply) Result() M {
	m, _ := r.Member("result").(M)
	return m
}

// Error returns the error object, or nil if there is none.
func (r Reply) Error() M {
	m, _ := r.Member("error").(M)
	return m
}

// Code returns the error code. ok is false if there is none or if it needs more than 64 bits.
func (r Reply) Code() (code int, ok bool) {
	n, _ := r.Error()["code"].(json.Number)
	i, ok := Integer(n)
	return int(i), ok
}

// HTTPErrorReply returns the reply for an HTTP error that carries no JSON-RPC message.
func HTTPErrorReply(f *Frame) Reply { return Reply{Frame: f, Synthetic: httpErrorMessage(f)} }

// httpErrorMessage returns the error object in the body of an HTTP error or, if there is none, an error without a code.
func httpErrorMessage(f *Frame) M {
	body, _ := Decode(f.RoundTrip.Response().Body.Bytes()).(M)
	if _, ok := body["error"].(M); ok {
		return body
	}
	return M{"error": M{"message": f.Raw.String()}}
}

// TimeoutError says that a response did not arrive in time although the session is alive.
type TimeoutError struct {
	Method string
	After  time.Duration
	// Flag is the command-line flag that sets the time; empty if there is none.
	Flag string
	// Shortened is how long the response was waited for, if less than After, see Patience; otherwise zero.
	Shortened time.Duration
	// PartialBytes is the number of bytes that were received without a newline.
	PartialBytes int
	// Receiving reports whether the response was on its way when the reply timeout ended, see IsReceiving.
	Receiving bool

	// Unreadable reports whether the response came in a form that is not JSON, so that the wait was cut short.
	Unreadable bool
	// UnknownID is the id of a response received meanwhile that no request has; nil if there is none.
	UnknownID json.RawMessage

	// request is the request in the record; nil if it is no longer there.
	request *Frame
}

func (e *TimeoutError) Error() string {
	if e.Unreadable {
		return fmt.Sprintf("no answer to %s: %v", e.Method, errUnreadable)
	}
	text := fmt.Sprintf("no answer to %s within %v", e.Method, cmp.Or(e.Shortened, e.After))
	switch {
	case e.Shortened > 0:
		text += fmt.Sprintf(" (no longer, since it had none within %v before)", e.After)
	case e.Flag != "":
		text += " (" + e.Flag + ")"
	}
	if e.PartialBytes > 0 {
		text += fmt.Sprintf(" (%s came without a newline)", count(e.PartialBytes, "byte"))
	}
	if e.UnknownID != nil {
		text += fmt.Sprintf("; a response with id %s came, which no request has", Brief(e.UnknownID))
	}
	if e.Receiving {
		text += ", though it was still coming"
	}
	return text
}

// NoResponseError says that a round trip ended without the response to a request, so that none will come.
type NoResponseError struct {
	Method string
	// Cause is such as "HTTP 202 Accepted with no body".
	Cause     string
	RoundTrip *RoundTrip
}

func (e *NoResponseError) Error() string { return "no answer to " + e.Method + ": " + e.Cause }

// Unwrap returns the error of the connection, if that was the cause.
func (e *NoResponseError) Unwrap() error {
	if e.RoundTrip == nil {
		return nil
	}
	return e.RoundTrip.Response().Err
}

// Brief shortens a received or sent text for a message to people.
func Brief(raw []byte) string { return text.ShortenBytes(raw, 130, 30, "…") }
