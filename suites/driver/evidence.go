package driver

import (
	"cmp"
	"errors"
	"slices"
)

// Position is the place of a frame in the record of a session. Frames that are in no record have the zero value.
type Position struct {
	record *record
	// index is absolute in the record.
	index int
}

// SameRecord reports whether two positions are in the record of one session.
func (p Position) SameRecord(q Position) bool { return p.record == q.record }

// Compare orders frames of one session by time, and then by their position.
func (f *Frame) Compare(g *Frame) int {
	return cmp.Or(cmp.Compare(f.At, g.At), cmp.Compare(f.Position.index, g.Position.index))
}

// WithTrigger returns the frame, preceded by the client's message that caused it if that is known: the request of a
// response, or the last message before the end of a process.
func (f *Frame) WithTrigger() []*Frame {
	if sent := f.trigger(); sent != nil {
		return []*Frame{sent, f}
	}
	return []*Frame{f}
}

// trigger returns the client's message that caused a frame, or nil if none is known.
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
		asks := func(m *Frame) bool { return SameID(m.ID, f.RequestID()) }
		if sent.Side == FromClient && slices.ContainsFunc(sent.requests(), asks) {
			return sent
		}
	}
	if f.RoundTrip != nil && !f.RoundTrip.IsAnsweredOnStream() {
		return f.RoundTrip.requestFrame
	}
	return f.Position.record.lastUnanswered(before)
}

// lastUnanswered returns the last of the client's messages among these frames that has no response.
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

// lastInput returns the last input that has no response. If one user sent several messages last, it is the first of
// them, because the no-op request follows the message that is being tested.
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

// Frames returns the request and its response. If there is no response, it returns what is known instead: the HTTP
// response without a message, or the end of the server.
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

// FramesOfError returns the frames that an error is about: the end of a server and the last message before it, a round
// trip without a response, or a request without one.
func FramesOfError(err error) []*Frame {
	var ended *SessionEndError
	var noResponse *NoResponseError
	var timeout *TimeoutError
	switch {
	case errors.As(err, &ended) && ended.frame != nil:
		return ended.frame.WithTrigger()
	case errors.As(err, &noResponse) && noResponse.RoundTrip != nil:
		return noResponse.RoundTrip.Frames()
	case errors.As(err, &timeout) && timeout.request != nil:
		return []*Frame{timeout.request}
	}
	return nil
}

// Frames returns the frames of the response's round trip.
func (a HTTPResponse) Frames() []*Frame {
	if a.roundTrip == nil {
		return nil
	}
	return a.roundTrip.Frames()
}

// Frames returns the request and its response as they are in the record or, for an event stream, its headers.
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
