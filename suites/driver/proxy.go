package driver

import (
	"bytes"
	"encoding/json"
)

// EventStreamParser parses an event stream that is written to it, with a limit for each event. A recording proxy uses
// it to look at messages without changing them.
type EventStreamParser struct{ reader *eventReader }

// NewEventStreamParser returns a parser that calls each for the events of a stream. limit is the size of an event in
// bytes.
func NewEventStreamParser(limit int, each func(StreamEvent)) *EventStreamParser {
	taken := &readQuota{record: &record{limits: Limits{MaxMessageBytes: limit}}, partial: &partialMessage{}}
	return &EventStreamParser{&eventReader{quota: taken, each: each, comment: func() {}}}
}

// Write parses the next bytes. It fails when an event is too long.
func (s *EventStreamParser) Write(p []byte) (int, error) { return s.reader.Write(p) }

// Message returns the message of an event, and false if it has none.
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

// PostInfo says how a posted body is to be answered.
type PostInfo struct {
	// IsInitialize reports whether the body has an initialize request.
	IsInitialize bool
	// RequestIDs holds the ids of the requests in the body.
	RequestIDs []json.RawMessage

	method   string
	id       json.RawMessage
	batchIDs []json.RawMessage
}

// NewPostInfo reads a body that was sent with an HTTP method.
func NewPostInfo(method string, body []byte) (p PostInfo) {
	f := &Frame{Side: FromClient, Raw: Text(body)}
	f.parse()
	for _, m := range f.requests() {
		p.RequestIDs = append(p.RequestIDs, m.ID)
		p.IsInitialize = p.IsInitialize || m.Method == "initialize"
	}
	p.method, p.id, p.batchIDs = method, requestIDIn(f), batchIDsIn(f)
	return p
}

// CarriesMessage reports whether the body of a response with that status is a message. The body of an HTTP error may be
// some other JSON. Over HTTP+SSE no body is a message.
func (p PostInfo) CarriesMessage(status int, body []byte, isSSE bool) bool {
	f := &Frame{Raw: bytes.TrimSpace(body)}
	f.parse()
	x := &RoundTrip{Method: p.method, requestID: p.id, batchIDs: p.batchIDs}
	x.response.StatusCode = status
	return (&HTTP{isSSE: isSSE}).carriesMessage(x, f)
}
