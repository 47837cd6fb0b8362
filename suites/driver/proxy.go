package driver

import (
	"bytes"
	"encoding/json"
)

// What passes by a recorder over RoundTrip, which looks at it and leaves it as it is.

// EventStreamParser takes an event stream apart that is written to it, up to a limit for each event.
type EventStreamParser struct{ reader *eventReader }

// NewEventStreamParser has each called with the events of a stream.
func NewEventStreamParser(limit int, each func(StreamEvent)) *EventStreamParser {
	taken := &readQuota{record: &record{limits: Limits{MaxMessageBytes: limit}}, partial: &partialMessage{}}
	return &EventStreamParser{&eventReader{quota: taken, each: each, comment: func() {}}}
}

// Write fails when an event is too long.
func (s *EventStreamParser) Write(p []byte) (int, error) { return s.reader.Write(p) }

// Message is the message of an event; false where it has none.
func (e StreamEvent) Message() ([]byte, bool) {
	f := &Frame{Raw: e.Data}
	f.parse()
	return e.Data.Bytes(), e.IsDispatched() && (e.hasMessageType() || f.HasJSONRPC)
}

// IsResponseBody reports whether a body, or the data of an event, answers requests.
func IsResponseBody(body []byte) bool {
	f := &Frame{Raw: Text(body)}
	f.parse()
	return f.IsResponse() || f.Kind == Array
}

// PostInfo is what of a body that is posted says how it is to be answered.
type PostInfo struct {
	IsInitialize bool              // it greets the server
	RequestIDs   []json.RawMessage // of the requests in it
	roundTrip    RoundTrip
}

// NewPostInfo looks at a body.
func NewPostInfo(method string, body []byte) (p PostInfo) {
	f := &Frame{Side: FromClient, Raw: Text(body)}
	f.parse()
	for _, m := range f.Messages() {
		if m.IsRequest() {
			p.RequestIDs = append(p.RequestIDs, m.ID)
			p.IsInitialize = p.IsInitialize || m.Method == "initialize"
		}
	}
	p.roundTrip = RoundTrip{Method: method, requestID: requestIDIn(f), batchIDs: batchIDsIn(f)}
	return p
}

// CarriesMessage reports whether the body of an answer is a message: that of an RoundTrip error may be some other JSON.
// Over HTTP+SSE none is.
func (p PostInfo) CarriesMessage(status int, body []byte, old bool) bool {
	f := &Frame{Raw: bytes.TrimSpace(body)}
	f.parse()
	x := &p.roundTrip
	x.response.StatusCode = status
	return (&HTTP{isSSE: old}).carriesMessage(x, f)
}
