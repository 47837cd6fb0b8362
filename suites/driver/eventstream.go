package driver

import (
	"bytes"
	"io"
)

// StreamEvent is one block of an event stream, up to its blank line, as the HTML standard defines it (section 9.2,
// server-sent events). A block without data is not an event for a client. It is kept because its id and its retry time
// count.
type StreamEvent struct {
	// Type is the value of the field event; empty means message.
	Type string
	// Data holds the values of the data fields, joined by newlines.
	Data Text
	// HasData reports whether there was a data field, which may be empty.
	HasData bool
	// ID is the value of the field id.
	ID string
	// HasID reports whether there was an id field.
	HasID bool
	// Retry is the value of the field retry in milliseconds, digits only; empty if absent.
	Retry string
	// Comments counts the lines that begin with a colon.
	Comments int
	// Unended reports whether the stream ended before the empty line that ends an event, so that clients do not see it.
	Unended bool
}

func (e StreamEvent) hasMessageType() bool { return e.Type == "" || e.Type == "message" }

func (e StreamEvent) cost() int { return len(e.Type) + e.Data.Len() + len(e.ID) + frameOverhead }

// IsDispatched reports whether a client sees the event.
func (e StreamEvent) IsDispatched() bool { return e.Data.Len() > 0 }

// eventReader parses an event stream. Lines may end with CR, LF or CRLF. A block that is incomplete at the end of the
// stream is not an event.
type eventReader struct {
	// quota counts the bytes of one block after the other.
	quota *readQuota
	each  func(StreamEvent)
	// comment is called for each comment at once, although its block may never be completed.
	comment func()

	// isPastBOM reports whether the byte order mark, if any, has been skipped.
	isPastBOM bool
	// afterCR reports whether the last line ended with CR, so that LF may follow.
	afterCR       bool
	line          bytes.Buffer
	block         StreamEvent
	data          bytes.Buffer
	blockHasField bool
}

// Write parses the next bytes of the stream, in pieces of any size.
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
		if !r.quota.grow(i) {
			return n, r.quota.record.limits.tooLong("an event has")
		}
		r.line.Write(p[:i])
		if i == len(p) {
			break
		}
		r.afterCR = p[i] == '\r'
		p = p[i+1:]
		r.endLine()
	}
	r.quota.notePartial(r.partialLen())
	return n, nil
}

// partialLen returns how many bytes of the data of an incomplete event were received.
func (r *eventReader) partialLen() (n int) {
	if bytes.HasPrefix(r.line.Bytes(), []byte("data:")) {
		n = r.line.Len() - len("data:")
	}
	return n + r.data.Len()
}

func (r *eventReader) endLine() {
	defer r.line.Reset()
	line := r.line.Bytes()
	if !r.isPastBOM {
		r.isPastBOM = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	if len(line) == 0 {
		r.endBlock()
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	r.field(string(name), bytes.TrimPrefix(value, []byte(" ")))
}

func (r *eventReader) field(name string, value []byte) {
	r.blockHasField = true
	b := &r.block
	switch name {
	case "":
		b.Comments++
		r.comment()
	case "event":
		b.Type = string(value)
	case "data":
		if b.HasData {
			r.data.WriteByte('\n')
		}
		b.HasData = true
		r.data.Write(value)
	case "id":
		if !bytes.Contains(value, []byte{0}) {
			b.ID, b.HasID = string(value), true
		}
	case "retry":
		if len(value) > 0 && len(bytes.Trim(value, "0123456789")) == 0 {
			b.Retry = string(value)
		}
	}
}

func (r *eventReader) endBlock() {
	if r.blockHasField {
		r.block.Data = drain(&r.data)
		r.each(r.block)
	}
	r.block, r.blockHasField = StreamEvent{}, false
	r.quota.release()
}

// unendedEvent returns the event in the middle of which the stream ended, if its data is whole: only the empty line
// after it is missing.
func (r *eventReader) unendedEvent() (e StreamEvent, ok bool) {
	if r.line.Len() > 0 {
		r.endLine()
	}
	e = r.block
	e.Data, e.Unended = drain(&r.data), true
	return e, e.IsDispatched() && IsJSON(e.Data.Bytes())
}

// readEvents calls each for the events of a stream until it ends, and comment for each comment. cut reports whether the
// stream ended in the middle of an event. An event that lacks only its end is among the events, since one check reports
// that, and the others judge what is in it.
func readEvents(stream io.Reader, taken *readQuota, each func(StreamEvent), comment func()) (cut bool, err error) {
	r := &eventReader{quota: taken, each: each, comment: comment}
	defer taken.release()
	_, err = io.Copy(r, stream)
	if cut = r.blockHasField || r.line.Len() > 0; cut && err == nil {
		if e, ok := r.unendedEvent(); ok {
			each(e)
		}
	}
	return cut, err
}
