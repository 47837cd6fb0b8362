package driver

import "bytes"

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
	return e.Data.Bytes(), e.IsDispatched() && (e.hasMessageType() || ParseBody(e.Data).HasJSONRPC)
}

// ParseBody returns the message in a body, as a frame that is in no record.
func ParseBody(body []byte) *Frame {
	f := &Frame{Raw: bytes.TrimSpace(body)}
	f.parse()
	return f
}

// IsResponseBody reports whether a body, or the data of an event, answers requests.
func IsResponseBody(body []byte) bool {
	f := ParseBody(body)
	return f.IsResponse() || f.Kind == Array
}
