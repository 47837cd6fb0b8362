package driver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// Side says where a frame came from.
type Side int

// These are the sides. A SessionEvent is not a message but something that happened, such as the exit of the server or
// the end of a stream. StatusOnly is an HTTP response that carries no message.
const (
	FromClient Side = iota
	FromServer
	SessionEvent
	StatusOnly
)

// Frame is one line of the stdio transport as it was received or sent; over HTTP, it is one body or one event of a
// stream.
type Frame struct {
	// At is the time since the session opened.
	At       time.Duration
	Position Position
	Side     Side
	// Raw is the text without the newline.
	Raw  Text
	Kind JSONKind
	// TooDeep reports whether the frame is nested more than MaxDepth deep. What is below that depth is not known and is
	// left out by JSON.
	TooDeep bool

	// opensStream reports whether the frame opens a stream for the server's messages, so that nobody waits for its
	// response.
	opensStream bool
	// isOptional reports whether the session opens that stream by itself, so that no check depends on it.
	isOptional bool

	// RoundTrip is the HTTP round trip that carried the frame; nil over stdio.
	RoundTrip *RoundTrip
	// Event is the event of a stream that carried the frame; nil if a body or a line did.
	Event *StreamEvent
	// Manual reports whether the frame belongs to a request that a check made with HTTP.Do, or to one of another era,
	// so that other checks ignore it.
	Manual bool

	// InBatch reports whether the frame is a member of an array.
	InBatch bool
	// Stderr holds the last lines on stderr, for an event that is the end of a process.
	Stderr []string

	// ForOtherSession reports whether the frame is a response to a request of another session.
	ForOtherSession bool
	// Internal reports whether the frame is a response to a request that the session made for itself.
	Internal bool

	// User and PreviousUser are the current and the previous user of the session, as passed to SetUser; empty if there
	// is none.
	User, PreviousUser string
	// requestIDs holds the ids of the requests, by the keys of the ids of responses that differ from them.
	requestIDs map[string]json.RawMessage

	// These are members of a JSON object; they are nil or empty if the member is absent.
	ID json.RawMessage
	// Method is empty also when the member is not a string.
	Method    string
	HasMethod bool
	HasResult bool
	HasError  bool
	// HasJSONRPC reports whether the object has the member jsonrpc, whatever its value.
	HasJSONRPC bool
	// isJSONRPC reports whether the object has the member jsonrpc, or an error with a code that JSON-RPC reserves.
	isJSONRPC bool

	// AfterInvalidInput reports whether the server had been sent input before that no conforming client sends. Such
	// frames do not count for most checks.
	AfterInvalidInput bool
	// Complete reports whether the line ended with a newline.
	Complete bool
	// AfterShutdown reports whether the frame came after the client began to end the session, by closing stdin or
	// sending SIGTERM.
	AfterShutdown bool
}

// JSONKind says which kind of JSON value a line is.
type JSONKind int

// These are the kinds of a line.
const (
	NotJSON JSONKind = iota
	Object
	Array
	Scalar
	// Echo is the client's own initialize or server/discover request that the server sent back.
	Echo
)

// cost returns roughly how many bytes the frame takes. If the frame stands for an HTTP response or is the message in
// it, the body counts, which may be longer than the frame.
func (f *Frame) cost() int {
	cost := len(f.Raw) + frameOverhead
	if f.Side != FromClient && f.RoundTrip != nil {
		cost = max(len(f.Raw), len(f.RoundTrip.response.Body)) + frameOverhead
	}
	for _, line := range f.Stderr {
		cost += len(line)
	}
	return cost
}

// TextToMaxDepth returns what mcpcheck reads of the frame: all of it, unless it is TooDeep.
func (f *Frame) TextToMaxDepth() []byte {
	text, _ := textToMaxDepth(f.Raw)
	return text
}

// parse fills in the fields that depend on the text. Member names are matched exactly.
func (f *Frame) parse() {
	text, deep := textToMaxDepth(f.Raw)
	f.TooDeep = deep
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	switch {
	case len(trimmed) == 0:
	case trimmed[0] == '{':
		f.parseObject(text)
	case !json.Valid(text):
	case trimmed[0] == '[':
		f.Kind = Array
	default:
		f.Kind = Scalar
	}
}

func (f *Frame) parseObject(text []byte) {
	members := Members(text)
	if members == nil {
		return
	}
	f.Kind = Object
	var method json.RawMessage
	f.ID = members["id"]
	method, f.HasMethod = members["method"]
	json.Unmarshal(method, &f.Method)
	_, f.HasResult = members["result"]
	_, f.HasError = members["error"]
	_, f.HasJSONRPC = members["jsonrpc"]
	f.isJSONRPC = f.HasJSONRPC || f.HasError && isReservedCode(members["error"])
}

// Members returns the members of a JSON object as they are written; of members with the same name, the last. It returns
// nil if the text is not an object.
func Members(text []byte) (members map[string]json.RawMessage) {
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

// isReservedCode reports whether an error has a code that JSON-RPC reserves (-32768 to -32000).
func isReservedCode(err json.RawMessage) bool {
	e, _ := Decode(err).(M)
	code, _ := e["code"].(json.Number)
	n, ok := Integer(code)
	return ok && -32768 <= n && n <= -32000
}

// IsResponse reports whether the frame looks like a response: it has no method, and at least two of a mark of JSON-RPC,
// an id, and a result or an error. An object with only an id is some other JSON, such as a line of a log.
func (f *Frame) IsResponse() bool {
	if f.Kind != Object || f.HasMethod {
		return false
	}
	outcome := f.HasResult || f.HasError
	return f.ID != nil && (f.isJSONRPC || outcome) || f.isJSONRPC && outcome
}

// MayBeResponseTo reports whether the frame looks like a response to the request with this id or, with nil, to a
// request whose id could not be read. Without a mark of JSON-RPC, an object with any other id is some other JSON.
func (f *Frame) MayBeResponseTo(id json.RawMessage) bool {
	return f.IsResponse() && (f.isJSONRPC || string(f.ID) == "null" || SameID(f.RequestID(), id))
}

// IsRequest reports whether the frame has a method and an id, which may be null.
func (f *Frame) IsRequest() bool { return f.Kind == Object && f.HasMethod && f.ID != nil }

// IsMalformed reports whether the server wrote a line that begins like a message and is not JSON: a part of a message,
// or an unreadable one.
func (f *Frame) IsMalformed() bool {
	return f.isText() && bytes.HasPrefix(bytes.TrimLeft(f.Raw, " \t\r"), []byte("{"))
}

// isText reports whether the server wrote a line over stdio that is not JSON.
func (f *Frame) isText() bool {
	return f.Side == FromServer && f.RoundTrip == nil && f.Complete && f.Kind == NotJSON
}

// isHTTPErrorFor reports whether the frame is the HTTP error that answers the request with this id. Such an error need
// not be JSON-RPC, nor repeat the id.
func (f *Frame) isHTTPErrorFor(id json.RawMessage) bool {
	return f.RoundTrip != nil && f.Side != FromClient && !f.RoundTrip.stream && f.RoundTrip.hasErrorStatus() &&
		f.RoundTrip.isAnswerTo(id)
}

// isAnswer reports whether the frame answers something: it is a response, an array, or an HTTP response without a
// message.
func (f *Frame) isAnswer() bool {
	return f.Side == StatusOnly || f.Side == FromServer && (f.Kind == Array || f.IsResponse())
}

// isUnsolicited reports whether the server sent the frame without need: it is neither a response nor a request.
func (f *Frame) isUnsolicited() bool {
	return f.Side == FromServer && f.Kind != Array && !f.IsResponse() && !f.IsRequest()
}

// IsNotification reports whether the frame has a method and no id.
func (f *Frame) IsNotification() bool { return f.Kind == Object && f.HasMethod && f.ID == nil }

// OpensStream reports whether the frame was sent with OpenStream, so that its answer is an open stream.
func (f *Frame) OpensStream() bool { return f.opensStream }

// JSON returns the decoded frame, or nil if it is not a JSON object. Callers share the value and must not change it.
func (f *Frame) JSON() M {
	if f.Kind != Object {
		return nil
	}
	return recentValues.object(f.Raw)
}

// Messages returns the messages of a frame: itself, or the members of an array.
func (f *Frame) Messages() (members []*Frame) {
	if f.Kind != Array {
		return []*Frame{f}
	}
	var all []json.RawMessage
	json.Unmarshal(f.TextToMaxDepth(), &all)
	for _, raw := range all {
		m := &Frame{At: f.At, Position: f.Position, Side: f.Side, Raw: Text(raw)}
		m.AfterInvalidInput, m.Complete, m.AfterShutdown = f.AfterInvalidInput, f.Complete, f.AfterShutdown
		m.User, m.PreviousUser = f.User, f.PreviousUser
		m.parse()
		m.TooDeep, m.requestIDs, m.InBatch = f.TooDeep, f.requestIDs, true
		members = append(members, m)
	}
	return members
}

func (f *Frame) requests() []*Frame {
	return slices.DeleteFunc(f.Messages(), func(m *Frame) bool { return !m.IsRequest() })
}

// Decode returns the value of a JSON text down to MaxDepth, with numbers as json.Number. It returns nil if the text is
// not JSON.
func Decode(raw []byte) (v any) {
	text, _ := textToMaxDepth(raw)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// SameID reports whether two ids are the same JSON value: equal as numbers, or equal as strings after decoding. A
// number never equals a string.
func SameID(a, b json.RawMessage) bool {
	return a != nil && b != nil && (bytes.Equal(a, b) || IDKey(a) == IDKey(b))
}

// IDKey returns a text that is the same for two ids if and only if they are the same JSON value.
func IDKey(id json.RawMessage) string {
	var text string
	switch {
	case isPositiveDigits(id), isPlainString(id): // the most frequent cases
		return string(id)
	case len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &text) == nil:
		return strconv.Quote(text)
	}
	if n, ok := parseNumber(string(id)); ok {
		return n.RatString()
	}
	return string(id)
}

// isPositiveDigits reports whether an id consists of digits and does not begin with zero.
func isPositiveDigits(id json.RawMessage) bool {
	for _, c := range id {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(id) > 0 && id[0] != '0'
}

// isPlainString reports whether an id is a string of printable ASCII without escapes, which strconv.Quote would not
// change.
func isPlainString(id json.RawMessage) bool {
	if len(id) < 2 || id[0] != '"' || id[len(id)-1] != '"' {
		return false
	}
	for _, c := range id[1 : len(id)-1] {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
