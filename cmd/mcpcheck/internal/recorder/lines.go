package recorder

import "bytes"

// lineSplitter splits a stream into lines, each up to the limit of a record.
type lineSplitter struct {
	// onLine gets each line without its newline. unended says that the newline is missing; left counts the omitted
	// bytes.
	onLine func(content []byte, unended bool, left int)

	line    []byte
	omitted int
}

// write takes the next part of the stream.
func (c *lineSplitter) write(chunk []byte) {
	for len(chunk) > 0 {
		head, tail, ended := bytes.Cut(chunk, []byte{'\n'})
		room := min(len(head), maxLineBytes-len(c.line))
		c.line, c.omitted = append(c.line, head[:room]...), c.omitted+len(head)-room
		if ended {
			c.onLine(c.line, false, c.omitted)
			c.line, c.omitted = nil, 0
		}
		chunk = tail
	}
}

// close reports the last line if its newline is missing.
func (c *lineSplitter) close() {
	if len(c.line) > 0 {
		c.onLine(c.line, true, c.omitted)
	}
}
