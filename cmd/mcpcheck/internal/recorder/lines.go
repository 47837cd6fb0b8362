package recorder

import "bytes"

// lineSplitter takes lines out of a stream, of each as much as a record keeps.
type lineSplitter struct {
	onLine func(content []byte, unended bool, left int) // left: how many bytes of it are left out

	line    []byte
	omitted int
}

// write takes what comes next of the stream.
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

// close is the end of the stream, be it within a line.
func (c *lineSplitter) close() {
	if len(c.line) > 0 {
		c.onLine(c.line, true, c.omitted)
	}
}
