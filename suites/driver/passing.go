package driver

import (
	"bytes"
	"encoding/json"
)

// What passes by a recorder over HTTP, which looks at it and leaves it as it is.

// EventStream takes an event stream apart that is written to it, up to a limit for each event.
type EventStream struct{ r *eventReader }

// NewEventStream has each called with the events of a stream.
func NewEventStream(limit int, each func(StreamEvent)) *EventStream {
	taken := &intake{r: &record{limits: Limits{Message: limit}}, part: &partial{}}
	return &EventStream{&eventReader{taken: taken, each: each, comment: func() {}}}
}

// Write fails when an event is too long.
func (s *EventStream) Write(p []byte) (int, error) { return s.r.Write(p) }

// Message is the message of an event; false where it has none.
func (e StreamEvent) Message() ([]byte, bool) {
	f := &Frame{Raw: e.Data}
	f.parse()
	return e.Data.Bytes(), e.Dispatched() && (e.isMessage() || f.HasVersion)
}

// IsAnswer reports whether a body, or the data of an event, answers requests.
func IsAnswer(body []byte) bool {
	f := &Frame{Raw: Text(body)}
	f.parse()
	return f.IsResponse() || f.Shape == Array
}

// Posted is what of a body that is posted says how it is to be answered.
type Posted struct {
	Initialize bool              // it greets the server
	IDs        []json.RawMessage // of the requests in it
	exchange   Exchange
}

// NewPosted looks at a body.
func NewPosted(method string, body []byte) (p Posted) {
	f := &Frame{Side: FromClient, Raw: Text(body)}
	f.parse()
	for _, m := range f.Members() {
		if m.IsRequest() {
			p.IDs = append(p.IDs, m.ID)
			p.Initialize = p.Initialize || m.Method == "initialize"
		}
	}
	p.exchange = Exchange{Method: method, asked: askedBy(f), batch: batchIn(f)}
	return p
}

// Brings reports whether the body of an answer is a message: that of an HTTP error may be some other JSON. Over
// HTTP+SSE none is.
func (p Posted) Brings(status int, body []byte, old bool) bool {
	f := &Frame{Raw: bytes.TrimSpace(body)}
	f.parse()
	x := &p.exchange
	x.answer.Status = status
	return (&HTTP{old: old}).carries(x, f)
}
