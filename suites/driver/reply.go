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
	from   int       // where in the record its answer may begin
	sent   time.Time // when it was
	frame  *Frame    // nil when the caller has sent it
}

// leftAt is when it was sent or, where others were to be taken first, when its own turn had come: as long as that has
// not, now.
func (p Pending) leftAt() time.Time {
	if p.frame == nil || p.frame.HTTP == nil {
		return p.sent
	}
	return p.frame.HTTP.leftAt()
}

// reply reads the answer out of the frame that has it.
func (p Pending) reply(f *Frame) Reply {
	r := Reply{Method: p.Method, Request: p.frame, Frame: f, said: f}
	ownID := f.IsResponse() && SameID(f.Answers(), p.ID)
	switch {
	case f.HTTP != nil && f.HTTP.failed() && f.HTTP.batched(p.ID) && !ownID: // the batch was refused
		none := &Unanswered{Method: p.Method, Cause: f.HTTP.Answer().String(), HTTP: f.HTTP}
		r.Frame, r.said, r.Err = nil, nil, none
	case f.Side == Status && f.HTTP.failed() && f.HTTP.resumed == 0:
		r.Made = refusal(f)
	case f.Side == Status && f.HTTP.misnamed != nil: // and there was no other one
		r.Frame, r.said = f.HTTP.misnamed, f.HTTP.misnamed
	case f.Side == Status:
		r.Frame, r.Err = nil, &Unanswered{Method: p.Method, Cause: f.Raw.String(), HTTP: f.HTTP}
	default:
		for _, m := range f.Members() {
			if p.answeredBy(m) {
				r.said = m
			}
		}
	}
	return r
}

func (p Pending) answeredBy(f *Frame) bool {
	if f.Side == Status && f.HTTP.answers(p.ID) || f.refusesFor(p.ID) && f.IsResponse() {
		return true
	}
	if f.Side != FromServer {
		return false
	}
	for _, m := range f.Members() {
		if m.IsResponse() && SameID(m.Answers(), p.ID) {
			return true
		}
	}
	return false
}

// Reply is the answer to a request, or the reason why none came.
type Reply struct {
	Method  string
	Request *Frame // nil when the caller has sent it
	Frame   *Frame // nil: none came
	Err     error  // why none came
	Made    M      // the message, where it is not to be read in the frame

	said *Frame // that has the message: a member of Frame; nil: Frame itself

	late func(within time.Duration) (waited bool, slow error) // see Late; nil: it had less than --timeout says
}

// Late waits for the answer to a request that had none within the time of --timeout, until so long after it. slow is
// nil when none came; waited is false when it could not be waited for.
func (r Reply) Late(within time.Duration) (waited bool, slow error) {
	if r.late == nil {
		return false, nil
	}
	return r.late(within)
}

// late is Reply.Late for a request of the session. What ends the wait over HTTP without a message for the request is no
// answer: it may be that the session was ended.
func (s *Session) late(p Pending, within time.Duration) (waited bool, slow error) {
	f, err := s.Wait(p.from, time.Until(p.leftAt().Add(within)), p.answeredBy)
	if err != nil {
		return errors.Is(err, errTimeout), nil
	}
	if r := p.reply(f); !r.Answered() || r.Bare() {
		return true, nil
	}
	return true, &Slowness{Method: p.Method, Took: s.Moment(f).Sub(p.leftAt()), Given: s.limits.Reply}
}

// Slowness says that an answer came, but not in time.
type Slowness struct {
	Method      string
	Took, Given time.Duration
}

func (e *Slowness) Error() string {
	return fmt.Sprintf("the server answered %s after %v, later than the --timeout of %v",
		e.Method, e.Took.Round(100*time.Millisecond), e.Given)
}

// Answered reports whether an answer came.
func (r Reply) Answered() bool { return r.Frame != nil }

// M is the message; nil when none came. A long one is not kept, but decoded whenever it is asked for.
func (r Reply) M() M {
	switch {
	case r.Made != nil:
		return r.Made
	case r.said != nil:
		return r.said.JSON()
	case r.Frame != nil:
		return r.Frame.JSON()
	}
	return nil
}

// Member is a member of the message; nil where it has none of that name. A long message is not decoded to learn that it
// has no result, or no error.
func (r Reply) Member(name string) any {
	if f := cmp.Or(r.said, r.Frame); r.Made == nil && f != nil && f.Shape == Object {
		if name == "result" && !f.HasResult || name == "error" && !f.HasError {
			return nil
		}
	}
	return r.M()[name]
}

// Bare reports whether the answer is an HTTP error without a JSON-RPC one. It counts as an error without a code.
func (r Reply) Bare() bool { return r.Frame != nil && r.Frame.Side == Status }

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

// Refused is the reply that an HTTP error is when it carries no JSON-RPC error.
func Refused(f *Frame) Reply { return Reply{Frame: f, Made: refusal(f)} }

// refusal is the error that an HTTP error stands for: the one in its body, if that is one, or one without a code.
func refusal(f *Frame) M {
	body, _ := Decode(f.HTTP.Answer().Body.Bytes()).(M)
	if _, ok := body["error"].(M); ok {
		return body
	}
	return M{"error": M{"message": f.Raw.String()}}
}

// Silence says that an answer did not come although the session is alive.
type Silence struct {
	Method  string
	After   time.Duration
	Limit   string // the flag that says how long; empty: none does
	Partial int    // bytes that came without a newline
	Coming  bool   // it was on its way when --timeout was over, as StillComing has it

	Stray json.RawMessage // the id of a response that came meanwhile and answers nothing; nil: none did

	request *Frame // in the record; nil: it is not there any more
}

func (e *Silence) Error() string {
	text := fmt.Sprintf("no answer to %s within %v", e.Method, e.After)
	if e.Limit != "" {
		text += " (" + e.Limit + ")"
	}
	if e.Partial > 0 {
		text += fmt.Sprintf(" (%s came without a newline)", count(e.Partial, "byte"))
	}
	if e.Stray != nil {
		text += fmt.Sprintf("; a response with id %s came, which no request has", Brief(e.Stray))
	}
	if e.Coming {
		text += ", though it was still coming"
	}
	return text
}

// Unanswered says that the transport brought no answer to a request, and none will come: an HTTP exchange that ended
// without one.
type Unanswered struct {
	Method string
	Cause  string // "HTTP 202 Accepted with no body"
	HTTP   *Exchange
}

func (e *Unanswered) Error() string { return "no answer to " + e.Method + ": " + e.Cause }

// Unwrap is the error of the connection, if that was the cause.
func (e *Unanswered) Unwrap() error {
	if e.HTTP == nil {
		return nil
	}
	return e.HTTP.Answer().Err
}

// Brief shortens a text of the wire for a message.
func Brief(raw []byte) string { return text.ShortenBytes(raw, 130, 30, "…") }
