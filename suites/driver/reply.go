package driver

import (
	"github.com/mcpcheck/mcpcheck/suites/text"

	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Pending is a request that was sent.
type Pending struct {
	ID     json.RawMessage
	Method string
	mark   int       // where in the record its answer may begin
	sent   time.Time // when it was
	frame  *Frame    // nil when the caller has sent it
}

// sentAt is when it was sent or, where others were to be taken first, when its own turn had come: as long as that has
// not, now.
func (p Pending) sentAt() time.Time {
	if p.frame == nil || p.frame.RoundTrip == nil {
		return p.sent
	}
	return p.frame.RoundTrip.sentAt()
}

// reply reads the answer out of the frame that has it.
func (p Pending) replyFrom(f *Frame) Reply {
	r := Reply{Method: p.Method, Request: p.frame, Frame: f, messageFrame: f}
	ownID := f.IsResponse() && SameID(f.RequestID(), p.ID)
	switch {
	// the batch was refused
	case f.RoundTrip != nil && f.RoundTrip.hasErrorStatus() && f.RoundTrip.isInBatch(p.ID) && !ownID:
		none := &NoResponseError{Method: p.Method, Cause: f.RoundTrip.Response().String(), RoundTrip: f.RoundTrip}
		r.Frame, r.messageFrame, r.Err = nil, nil, none
	case f.Side == StatusOnly && f.RoundTrip.hasErrorStatus() && f.RoundTrip.resumeCount == 0:
		r.Synthetic = httpErrorMessage(f)
	case f.Side == StatusOnly && f.RoundTrip.unknownIDFrame != nil: // and there was no other one
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
	if f.Side != FromServer {
		return false
	}
	for _, m := range f.Messages() {
		if m.IsResponse() && SameID(m.RequestID(), p.ID) {
			return true
		}
	}
	return false
}

// Reply is the answer to a request, or the reason why none came.
type Reply struct {
	Method    string
	Request   *Frame // nil when the caller has sent it
	Frame     *Frame // nil: none came
	Err       error  // why none came
	Synthetic M      // the message, where it is not to be read in the frame

	messageFrame *Frame // that has the message: a member of Frame; nil: Frame itself

	awaitLate func(within time.Duration) (waited bool, slow error) // see Late; nil: it had less than --timeout says
}

// Late waits for the answer to a request that had none within the time of --timeout, until so long after it. slow is
// nil when none came; waited is false when it could not be waited for.
func (r Reply) AwaitLate(within time.Duration) (waited bool, slow error) {
	if r.awaitLate == nil {
		return false, nil
	}
	return r.awaitLate(within)
}

// awaitLate is Reply.Late for a request of the session. What ends the wait over RoundTrip without a message for the
// request is no answer: it may be that the session was ended.
func (s *Session) awaitLate(p Pending, within time.Duration) (waited bool, slow error) {
	f, err := s.Wait(p.mark, time.Until(p.sentAt().Add(within)), p.isAnsweredBy)
	if err != nil {
		return errors.Is(err, errTimeout), nil
	}
	if r := p.replyFrom(f); !r.Answered() || r.IsStatusOnly() {
		return true, nil
	}
	return true, &LateResponseError{Method: p.Method, Took: s.TimeOf(f).Sub(p.sentAt()), Timeout: s.limits.ReplyTimeout}
}

// LateResponseError says that an answer came, but not in time.
type LateResponseError struct {
	Method        string
	Took, Timeout time.Duration
}

func (e *LateResponseError) Error() string {
	return fmt.Sprintf("the server answered %s after %v, later than the --timeout of %v",
		e.Method, e.Took.Round(100*time.Millisecond), e.Timeout)
}

// Answered reports whether an answer came.
func (r Reply) Answered() bool { return r.Frame != nil }

// Message is the message; nil when none came. A long one is not kept, but decoded whenever it is asked for.
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

// Member is a member of the message; nil where it has none of that name. A long message is not decoded to learn that it
// has no result, or no error.
func (r Reply) Member(name string) any {
	if f := cmp.Or(r.messageFrame, r.Frame); r.Synthetic == nil && f != nil && f.Kind == Object {
		if name == "result" && !f.HasResult || name == "error" && !f.HasError {
			return nil
		}
	}
	return r.Message()[name]
}

// IsStatusOnly reports whether the answer is an RoundTrip error without a JSON-RPC one. It counts as an error without a
// code.
func (r Reply) IsStatusOnly() bool { return r.Frame != nil && r.Frame.Side == StatusOnly }

// Result is the result object; nil when the answer has none.
func (r Reply) Result() M {
	m, _ := r.Member("result").(M)
	return m
}

// Error is the error object; nil when the answer has none.
func (r Reply) Error() M {
	m, _ := r.Member("error").(M)
	return m
}

// Code is the error code; ok is false also when it needs more than 64 bits.
func (r Reply) Code() (code int, ok bool) {
	n, _ := r.Error()["code"].(json.Number)
	i, ok := Integer(n)
	return int(i), ok
}

// HTTPErrorReply is the reply that an RoundTrip error is when it carries no JSON-RPC error.
func HTTPErrorReply(f *Frame) Reply { return Reply{Frame: f, Synthetic: httpErrorMessage(f)} }

// httpErrorMessage is the error that an RoundTrip error stands for: the one in its body, if that is one, or one without
// a code.
func httpErrorMessage(f *Frame) M {
	body, _ := Decode(f.RoundTrip.Response().Body.Bytes()).(M)
	if _, ok := body["error"].(M); ok {
		return body
	}
	return M{"error": M{"message": f.Raw.String()}}
}

// TimeoutError says that an answer did not come although the session is alive.
type TimeoutError struct {
	Method       string
	After        time.Duration
	Flag         string // the flag that says how long; empty: none does
	PartialBytes int    // bytes that came without a newline
	Receiving    bool   // it was on its way when --timeout was over, as IsReceiving has it

	UnknownID json.RawMessage // the id of a response that came meanwhile and answers nothing; nil: none did

	request *Frame // in the record; nil: it is not there any more
}

func (e *TimeoutError) Error() string {
	text := fmt.Sprintf("no answer to %s within %v", e.Method, e.After)
	if e.Flag != "" {
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

// NoResponseError says that the transport brought no answer to a request, and none will come: an RoundTrip exchange
// that ended without one.
type NoResponseError struct {
	Method    string
	Cause     string // "HTTP 202 Accepted with no body"
	RoundTrip *RoundTrip
}

func (e *NoResponseError) Error() string { return "no answer to " + e.Method + ": " + e.Cause }

// Unwrap is the error of the connection, if that was the cause.
func (e *NoResponseError) Unwrap() error {
	if e.RoundTrip == nil {
		return nil
	}
	return e.RoundTrip.Response().Err
}

// Brief shortens a text of the wire for a message.
func Brief(raw []byte) string { return text.ShortenBytes(raw, 130, 30, "…") }
