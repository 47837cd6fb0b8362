package driver

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// Side is where a frame came from.
type Side int

// The sides. An event is something that happened beside the messages: the server's exit, a closed stream. A status is
// an RoundTrip answer that carries no message.
const (
	FromClient Side = iota
	FromServer
	SessionEvent
	StatusOnly
)

// Frame is one line of the wire, as it was seen; over RoundTrip, one body or one event of a stream.
type Frame struct {
	At       time.Duration // since the session opened
	Position Position
	Side     Side
	Raw      Text // without the newline
	Kind     JSONKind
	TooDeep  bool // it is nested more than MaxDepth deep: nothing is known of what is below, which JSON leaves out

	// standing says that the frame opens the way for what the server says by itself: its answer is not waited for.
	opensStream bool

	// Of RoundTrip, nil over stdio.
	RoundTrip *RoundTrip // that carried the frame
	Event     *StreamEvent
	Manual    bool // it belongs to a request that a check made by hand, with RoundTrip.Do, or to one of another era

	InBatch bool     // it is a member of an array, not a line by itself
	Stderr  []string // of an event that is the end of a process: its last lines there

	ForOtherSession bool // a response to a request of another session
	Internal        bool // a response to a request that the session made for itself

	// Who used the session, as SetUser was told, and who did before; empty: nobody in particular.
	User, PreviousUser string

	// requestIDs are the ids of the requests that are answered under other ids, by those; nil: none is.
	requestIDs map[string]json.RawMessage

	// Of a JSON object, nil or empty where the member is absent.
	ID         json.RawMessage
	Method     string // empty also when the member is not a string
	HasMethod  bool
	HasResult  bool
	HasError   bool
	HasJSONRPC bool // it has jsonrpc, whatever that says
	isJSONRPC  bool // it is JSON-RPC: it has jsonrpc, or an error with one of the codes of JSON-RPC

	// Hostile frames were sent to a server that had been given input which a conforming client never sends, or came
	// from one.
	AfterInvalidInput bool
	// Complete reports whether the line was ended by a newline.
	Complete bool
	// AfterShutdown reports whether the frame came after the server was asked to end: its stdin was closed, or it was
	// sent SIGTERM.
	AfterShutdown bool

	decodeMu    sync.Mutex // of object
	object      M          // what JSON has returned, where it keeps that
	keepDecoded bool       // JSON keeps what it has decoded, whatever the length
}

// Shape is what a line is as JSON.
type JSONKind int

// The shapes of a line.
const (
	NotJSON JSONKind = iota
	Object
	Array
	Scalar
	Echo // the greeting of the client, which the server sends back
)

// cost is about how many bytes the frame takes. With one that stands for an RoundTrip answer, or is the message in it,
// the body counts, which may be longer.
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

// Text is what mcpcheck reads of the frame: all of it, unless it is TooDeep.
func (f *Frame) TextToMaxDepth() []byte {
	text, _ := textToMaxDepth(f.Raw)
	return text
}

// parse fills in what the line is. Member names are matched exactly.
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

// Messages are those of a JSON object as they are written, of several with one name the last; nil when a text is not
// one.
func Members(text []byte) (members map[string]json.RawMessage) {
	if json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}

// isReservedCode reports whether an error has a code that JSON-RPC keeps for itself.
func isReservedCode(err json.RawMessage) bool {
	e, _ := Decode(err).(M)
	code, _ := e["code"].(json.Number)
	n, ok := Integer(code)
	return ok && -32768 <= n && n <= -32000
}

// IsResponse reports whether the frame looks like an answer: it has no method, but two of what JSON-RPC has in one, the
// mark, an id, and a result or an error. An object with nothing but an id is some other JSON, such as a line of a log.
func (f *Frame) IsResponse() bool {
	if f.Kind != Object || f.HasMethod {
		return false
	}
	outcome := f.HasResult || f.HasError
	return f.ID != nil && (f.isJSONRPC || outcome) || f.isJSONRPC && outcome
}

// MayBeResponseTo reports whether the frame looks like an answer to what has that id or, with nil, none that could be
// read: where nothing marks it as JSON-RPC, an id of its own makes it some other JSON.
func (f *Frame) MayBeResponseTo(id json.RawMessage) bool {
	return f.IsResponse() && (f.isJSONRPC || string(f.ID) == "null" || SameID(f.RequestID(), id))
}

// IsRequest reports whether the frame has a method and an id, which may be null.
func (f *Frame) IsRequest() bool { return f.Kind == Object && f.HasMethod && f.ID != nil }

// IsMalformed reports whether the server wrote a line that begins like a message and is no JSON: a part of a message,
// or one that cannot be read.
func (f *Frame) IsMalformed() bool {
	return f.Side == FromServer && f.RoundTrip == nil && f.Complete && f.Kind == NotJSON &&
		bytes.HasPrefix(bytes.TrimLeft(f.Raw, " \t\r"), []byte("{"))
}

// isHTTPErrorFor reports whether the frame is the RoundTrip error that answers the request of that id: such an answer
// need not be JSON-RPC, nor repeat the id.
func (f *Frame) isHTTPErrorFor(id json.RawMessage) bool {
	return f.RoundTrip != nil && f.Side != FromClient && !f.RoundTrip.stream && f.RoundTrip.hasErrorStatus() &&
		f.RoundTrip.isAnswerTo(id)
}

// answers reports whether the frame is an answer to something: a response, an array, an RoundTrip answer without a
// message.
func (f *Frame) isAnswer() bool {
	return f.Side == StatusOnly || f.Side == FromServer && (f.Kind == Array || f.IsResponse())
}

// isUnsolicited reports whether the server sent the frame without having to: neither an answer nor a request, which
// wants one.
func (f *Frame) isUnsolicited() bool {
	return f.Side == FromServer && f.Kind != Array && !f.IsResponse() && !f.IsRequest()
}

// IsNotification reports whether the frame has a method and no id.
func (f *Frame) IsNotification() bool { return f.Kind == Object && f.HasMethod && f.ID == nil }

// OpensStream reports whether the frame was sent with OpenStream: its answer is that a stream stays open.
func (f *Frame) OpensStream() bool { return f.opensStream }

// JSON decodes the frame; nil when it is no JSON object. The value is for reading: others have the same one.
func (f *Frame) JSON() M {
	if f.Kind != Object {
		return nil
	}
	f.decodeMu.Lock()
	defer f.decodeMu.Unlock()
	if f.object != nil {
		return f.object
	}
	const short = 1 << 10 // takes little room once it is decoded
	if len(f.Raw) <= short {
		f.object, _ = Decode(f.Raw).(M)
		return f.object
	}
	object := M{}
	for name, member := range Members(f.TextToMaxDepth()) {
		object[name] = recentValues.decode(member)
	}
	if f.keepDecoded {
		f.object = object
	}
	return object
}

// Messages are the messages of a frame: itself, or the members of an array.
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

// ValidUTF8 reports whether the line is UTF-8 text.
func (f *Frame) ValidUTF8() bool { return utf8.Valid(f.Raw) }

// Decode reads a JSON text, with numbers as json.Number, down to MaxDepth; nil when it is not JSON.
func Decode(raw []byte) (v any) {
	text, _ := textToMaxDepth(raw)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// recentValues are the members of messages that were decoded last: a server repeats its lists, which many checks read.
var recentValues valueCache

// valueCache are JSON values by the hashes of their texts: short ones, and the last long one.
type valueCache struct {
	mu      sync.Mutex
	byHash  map[uint64]any
	size    int // bytes of the texts of those
	long    any
	longKey uint64
}

// decode is Decode for one at a time: several long texts would fill the memory. The value is for reading.
func (d *valueCache) decode(text []byte) any {
	const most = 1 << 20
	d.mu.Lock()
	defer d.mu.Unlock()
	key := maphash.Bytes(hashSeed, text)
	if len(text) > most {
		if d.longKey != key {
			d.long = nil // makes room
			d.long, d.longKey = interned(Decode(text), map[uint64]any{}), key
		}
		return d.long
	}
	if value, known := d.byHash[key]; known {
		return value
	}
	if d.size += len(text); d.size > most || d.byHash == nil {
		d.byHash, d.size = map[uint64]any{}, len(text)
	}
	d.byHash[key] = Decode(text)
	return d.byHash[key]
}

// SameID reports whether two ids are the same JSON value: equal as numbers, or equal as strings after decoding. A
// number never equals a string.
func SameID(a, b json.RawMessage) bool {
	return a != nil && b != nil && (bytes.Equal(a, b) || IDKey(a) == IDKey(b))
}

// IDKey is a text that two ids share if and only if they are the same value.
func IDKey(id json.RawMessage) string {
	var text string
	switch {
	case isPositiveDigits(id): // as nearly all are
		digits := bytes.TrimRight(id, "0")
		return string(digits) + "e" + strconv.Itoa(len(id)-len(digits))
	case len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &text) == nil:
		return strconv.Quote(text)
	}
	if n, ok := parseNumber(string(id)); ok {
		return n.key()
	}
	return string(id)
}

// isPositiveDigits reports whether an id is written in digits alone, and not zero.
func isPositiveDigits(id json.RawMessage) bool {
	for _, c := range id {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(id) > 0 && id[0] != '0'
}
