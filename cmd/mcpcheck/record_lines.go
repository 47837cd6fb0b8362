package main

import "bytes"

// cutter takes lines out of a stream, of each as much as a record keeps.
type cutter struct {
	note func(text []byte, unended bool, left int) // left: how many bytes of it are left out

	line []byte
	left int
}

// take takes what comes next of the stream.
func (c *cutter) take(chunk []byte) {
	for len(chunk) > 0 {
		head, tail, ended := bytes.Cut(chunk, []byte{'\n'})
		room := min(len(head), longestNoted-len(c.line))
		c.line, c.left = append(c.line, head[:room]...), c.left+len(head)-room
		if ended {
			c.note(c.line, false, c.left)
			c.line, c.left = nil, 0
		}
		chunk = tail
	}
}

// end is the end of the stream, be it within a line.
func (c *cutter) end() {
	if len(c.line) > 0 {
		c.note(c.line, true, c.left)
	}
}
