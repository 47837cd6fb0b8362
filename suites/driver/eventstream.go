package driver

import (
	"bytes"
	"io"
	"strings"
)

// StreamEvent is one block of an event stream, up to its blank line, as the HTML standard defines it (section 9.2,
// server-sent events). A block without data is not an event for a client, but its id and its retry time count, so it is
// kept.
type StreamEvent struct {
	Type     string // of the field event; empty means message
	Data     string // lines of data fields, joined by newlines
	HasData  bool   // there was a data field, be it empty
	ID       string
	HasID    bool
	Retry    string // digits only, milliseconds; empty when absent
	Comments int    // lines that begin with a colon
}

// isMessage reports whether the event is of the type that messages have.
func (e StreamEvent) isMessage() bool { return e.Type == "" || e.Type == "message" }

// Dispatched reports whether a client sees the event.
func (e StreamEvent) Dispatched() bool { return e.Data != "" }

// eventReader takes an event stream apart. Lines may end with CR, LF or CRLF; a block that the stream ends in the
// middle of is not an event.
type eventReader struct {
	limit int                 // bytes of one block
	turn  func() (end func()) // waits until a long block may be read
	each  func(StreamEvent)

	end func() // ends the turn; nil: there is none

	begun   bool // the byte order mark, if any, has been passed
	afterCR bool // the last line ended with CR, which LF may follow
	line    []byte
	held    int // bytes of the block so far
	block   StreamEvent
	data    []byte // of the block
	any     bool   // the block has a field
}

// errOverlong says that a block of the stream exceeds the limit.
type errOverlong struct{ limit int }

func (e errOverlong) Error() string { return "an event of more than " + size(e.limit) }

// Write takes the next bytes of the stream, in pieces of any size.
func (r *eventReader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if r.afterCR {
			r.afterCR = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			i = len(p)
		}
		if r.held += i; r.held > r.limit {
			return n, errOverlong{r.limit}
		}
		if r.held > longLine && r.end == nil {
			r.end = r.turn()
		}
		r.line = append(r.line, p[:i]...)
		if i == len(p) {
			break
		}
		r.afterCR = p[i] == '\r'
		p = p[i+1:]
		r.endLine()
	}
	return n, nil
}

func (r *eventReader) endLine() {
	line := r.line
	r.line = r.line[:0]
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	if len(line) == 0 {
		r.endBlock()
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	r.field(string(name), string(bytes.TrimPrefix(value, []byte(" "))))
}

func (r *eventReader) field(name, value string) {
	r.any = true
	b := &r.block
	switch name {
	case "":
		b.Comments++
	case "event":
		b.Type = value
	case "data":
		if b.HasData {
			r.data = append(r.data, '\n')
		}
		b.HasData = true
		r.data = append(r.data, value...)
	case "id":
		if !strings.Contains(value, "\x00") {
			b.ID, b.HasID = value, true
		}
	case "retry":
		if value != "" && strings.Trim(value, "0123456789") == "" {
			b.Retry = value
		}
	}
}

func (r *eventReader) endBlock() {
	if r.any {
		r.block.Data = string(r.data)
		r.each(r.block)
	}
	r.block, r.data, r.any, r.held = StreamEvent{}, r.data[:0], false, 0
	r.endTurn()
}

// endTurn lets others read long blocks, and drops the space that this one took.
func (r *eventReader) endTurn() {
	if r.end != nil {
		r.end()
		r.end, r.line, r.data = nil, nil, nil
	}
}

// readEvents visits the events of a stream until it ends; cut reports whether that was in the middle of one.
func readEvents(stream io.Reader, limit int, turn func() (end func()), each func(StreamEvent)) (cut bool, err error) {
	r := &eventReader{limit: limit, turn: turn, each: each}
	defer r.endTurn()
	_, err = io.Copy(r, stream)
	return r.any || len(r.line) > 0, err
}
