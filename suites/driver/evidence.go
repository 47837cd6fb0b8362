package driver

import (
	"cmp"
	"errors"
	"slices"
)

// Position is where a frame stands in the record of a session. Frames that are in none have the zero one.
type Position struct {
	record *record
	index  int // absolute, in the record
}

// SameRecord reports whether two places are in the record of one session.
func (p Position) SameRecord(q Position) bool { return p.record == q.record }

// Compare orders frames of one session as they were seen.
func (f *Frame) Compare(g *Frame) int {
	return cmp.Or(cmp.Compare(f.At, g.At), cmp.Compare(f.Position.index, g.Position.index))
}

// Exchange is the frame with the message of the client that brought it about, if one did: the request of a response,
// what was sent last before the end of a process.
func (f *Frame) WithTrigger() []*Frame {
	if sent := f.trigger(); sent != nil {
		return []*Frame{sent, f}
	}
	return []*Frame{f}
}

// trigger is the message of the client that has brought a frame about; nil when none is known to have.
func (f *Frame) trigger() *Frame {
	onStream := f.RoundTrip == nil || f.RoundTrip.stream
	if f.Side == FromClient || f.Position.record == nil || onStream && (f.isUnsolicited() || f.IsRequest()) {
		return nil
	}
	before := f.Position.record.FramesBetween(0, f.Position.index)
	if f.Side == SessionEvent {
		return lastInput(before)
	}
	for _, sent := range slices.Backward(before) {
		if sent.Side == FromClient && slices.ContainsFunc(sent.Messages(), f.isResponseTo) {
			return sent
		}
	}
	if f.RoundTrip != nil && !f.RoundTrip.IsAnsweredOnStream() {
		return f.RoundTrip.requestFrame
	}
	return f.Position.record.lastUnanswered(before)
}

// isResponseTo reports whether the frame is a response with the id of a request.
func (f *Frame) isResponseTo(request *Frame) bool {
	return request.IsRequest() && SameID(request.ID, f.RequestID())
}

// unanswered is the last message of the client among frames that has no response.
func (r *record) lastUnanswered(among []*Frame) *Frame {
	answered := map[string]bool{}
	for _, f := range r.FramesSince(0) {
		if f.Side == FromServer && f.IsResponse() {
			answered[IDKey(f.RequestID())] = true
		}
	}
	for _, f := range slices.Backward(among) {
		if f.Side == FromClient && !answered[IDKey(f.ID)] {
			return f
		}
	}
	return nil
}

// lastInput is what was sent last of what has no answer, of several at once the first: a request is sent behind what is
// tried.
func lastInput(before []*Frame) (input *Frame) {
	for _, f := range slices.Backward(before) {
		switch {
		case f.Side == SessionEvent && input == nil: // such as the end of stdin
			return f
		case f.Side == FromClient && (input == nil || f.User == input.User):
			input = f
		case input != nil:
			return input
		}
	}
	return input
}

// Frames are the request and the answer to it; of a request without one, what is known instead: the RoundTrip exchange
// that brought none, or the end of the server.
func (r Reply) Frames() (frames []*Frame) {
	switch {
	case r.Frame != nil && r.Request == nil:
		return r.Frame.WithTrigger()
	case r.Frame != nil:
		return []*Frame{r.Request, r.Frame}
	}
	if frames = FramesOfError(r.Err); r.Request != nil && !slices.Contains(frames, r.Request) {
		frames = append([]*Frame{r.Request}, frames...)
	}
	return frames
}

// FramesOfError are what an error tells of: the end of a server and what was sent last before it, an exchange without
// an answer, a request that had none.
func FramesOfError(err error) []*Frame {
	var death *SessionEndError
	var none *NoResponseError
	var silence *TimeoutError
	switch {
	case errors.As(err, &death) && death.frame != nil:
		return death.frame.WithTrigger()
	case errors.As(err, &none) && none.RoundTrip != nil:
		return none.RoundTrip.Frames()
	case errors.As(err, &silence) && silence.request != nil:
		return []*Frame{silence.request}
	}
	return nil
}

// Frames are those of the exchange that the answer belongs to.
func (a HTTPResponse) Frames() []*Frame {
	if a.roundTrip == nil {
		return nil
	}
	return a.roundTrip.Frames()
}

// Frames are the request and the answer as the record has it or, of an event stream, its headers.
func (x *RoundTrip) Frames() []*Frame {
	if x.requestFrame == nil {
		return nil
	}
	for _, f := range x.s.FramesSince(x.requestFrame.Position.index) {
		if f.RoundTrip == x && f.Side != FromClient && f.Event == nil {
			return []*Frame{x.requestFrame, f}
		}
	}
	a := x.Response()
	if a.StatusCode == 0 {
		return []*Frame{x.requestFrame}
	}
	head := &Frame{Side: StatusOnly, Raw: Text(a.String()), Complete: true, RoundTrip: x, At: a.HeadersAt}
	head.Position = x.requestFrame.Position
	return []*Frame{x.requestFrame, head}
}
