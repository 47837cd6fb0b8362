package driver

import (
	"cmp"
	"errors"
	"slices"
)

// Place is where a frame stands in the record of a session. Frames that are in none have the zero one.
type Place struct {
	record *record
	index  int // absolute, in the record
}

// Shares reports whether two places are in the record of one session.
func (p Place) Shares(q Place) bool { return p.record == q.record }

// Compare orders frames of one session as they were seen.
func (f *Frame) Compare(g *Frame) int {
	return cmp.Or(cmp.Compare(f.At, g.At), cmp.Compare(f.Place.index, g.Place.index))
}

// Exchange is the frame with the message of the client that brought it about, if one did: the request of a response,
// what was sent last before the end of a process.
func (f *Frame) Exchange() []*Frame {
	if sent := f.broughtBy(); sent != nil {
		return []*Frame{sent, f}
	}
	return []*Frame{f}
}

// broughtBy is the message of the client that has brought a frame about; nil when none is known to have.
func (f *Frame) broughtBy() *Frame {
	onStream := f.HTTP == nil || f.HTTP.stream
	if f.Side == FromClient || f.Place.record == nil || onStream && (f.unasked() || f.IsRequest()) {
		return nil
	}
	before := f.Place.record.Between(0, f.Place.index)
	if f.Side == Event {
		return lastInput(before)
	}
	for _, sent := range slices.Backward(before) {
		if sent.Side == FromClient && slices.ContainsFunc(sent.Members(), f.answersTo) {
			return sent
		}
	}
	if f.HTTP != nil && !f.HTTP.Elsewhere() {
		return f.HTTP.message
	}
	return f.Place.record.unanswered(before)
}

// answersTo reports whether the frame is a response with the id of a request.
func (f *Frame) answersTo(request *Frame) bool {
	return request.IsRequest() && SameID(request.ID, f.Answers())
}

// unanswered is the last message of the client among frames that has no response.
func (r *record) unanswered(among []*Frame) *Frame {
	answered := map[string]bool{}
	for _, f := range r.Record(0) {
		if f.Side == FromServer && f.IsResponse() {
			answered[IDKey(f.Answers())] = true
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
		case f.Side == Event && input == nil: // such as the end of stdin
			return f
		case f.Side == FromClient && (input == nil || f.User == input.User):
			input = f
		case input != nil:
			return input
		}
	}
	return input
}

// Frames are the request and the answer to it; of a request without one, what is known instead: the HTTP exchange that
// brought none, or the end of the server.
func (r Reply) Frames() (frames []*Frame) {
	switch {
	case r.Frame != nil && r.Request == nil:
		return r.Frame.Exchange()
	case r.Frame != nil:
		return []*Frame{r.Request, r.Frame}
	}
	if frames = FramesOf(r.Err); r.Request != nil && !slices.Contains(frames, r.Request) {
		frames = append([]*Frame{r.Request}, frames...)
	}
	return frames
}

// FramesOf are what an error tells of: the end of a server and what was sent last before it, an exchange without an
// answer, a request that had none.
func FramesOf(err error) []*Frame {
	var death *Death
	var none *Unanswered
	var silence *Silence
	switch {
	case errors.As(err, &death) && death.end != nil:
		return death.end.Exchange()
	case errors.As(err, &none) && none.HTTP != nil:
		return none.HTTP.Frames()
	case errors.As(err, &silence) && silence.request != nil:
		return []*Frame{silence.request}
	}
	return nil
}

// Frames are those of the exchange that the answer belongs to.
func (a Answer) Frames() []*Frame {
	if a.of == nil {
		return nil
	}
	return a.of.Frames()
}

// Frames are the request and the answer as the record has it or, of an event stream, its headers.
func (x *Exchange) Frames() []*Frame {
	if x.message == nil {
		return nil
	}
	for _, f := range x.s.Record(x.message.Place.index) {
		if f.HTTP == x && f.Side != FromClient && f.Event == nil {
			return []*Frame{x.message, f}
		}
	}
	a := x.Answer()
	if a.Status == 0 {
		return []*Frame{x.message}
	}
	head := &Frame{Side: Status, Raw: Text(a.String()), Ended: true, HTTP: x, At: a.HeadAt}
	head.Place = x.message.Place
	return []*Frame{x.message, head}
}
