package stdio

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// spread are the lines of a run that are parts of messages: together with lines next to it, each is one.
func spread(w Wire) map[*driver.Frame]bool {
	parts := map[*driver.Frame]bool{}
	for _, s := range w.Sessions {
		mark(parts, s.Since(0))
	}
	return parts
}

func mark(parts map[*driver.Frame]bool, lines []*driver.Frame) {
	for len(lines) > 0 {
		n, whole := joined(lines)
		for _, part := range lines[:n] {
			if whole {
				parts[part] = true
			}
		}
		lines = lines[n:]
	}
}

// mostJoined is how many lines are looked at for the parts of one message.
const mostJoined = 2000

// joined reports whether the first of the lines begins a message that spans several, and how many it spans. If it does
// not, n is how many lines need not be looked at again: work over a record grows with its length only.
func joined(lines []*driver.Frame) (n int, whole bool) {
	if !lines[0].IsGarbled() {
		return 1, false
	}
	text := &joiner{lines: lines[:min(len(lines), mostJoined)]}
	d := json.NewDecoder(text)
	switch err := d.Decode(new(json.RawMessage)); {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return text.read, false // all of it may be the beginning of one
	case err != nil:
		return max(text.read-1, 1), false // the last line may begin another one
	}
	rest, _ := io.ReadAll(io.MultiReader(d.Buffered(), bytes.NewReader(text.rest)))
	return text.read, len(bytes.TrimSpace(rest)) == 0
}

// runOn reports whether a line is several messages, one right after the other.
func runOn(f *driver.Frame) bool {
	if !f.IsGarbled() {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(f.Raw.Bytes()))
	for n := 0; ; n++ {
		var message struct{ JSONRPC string }
		switch err := d.Decode(&message); {
		case err == io.EOF:
			return n > 1
		case err != nil || message.JSONRPC == "":
			return false
		}
	}
}

// joiner reads lines as one text, line by line. A newline inside of a string, which was not escaped, is.
type joiner struct {
	lines  []*driver.Frame
	read   int // lines that were begun
	rest   []byte
	quoted bool
}

func (j *joiner) Read(p []byte) (n int, err error) {
	for len(j.rest) == 0 {
		if j.read == len(j.lines) {
			return 0, io.EOF
		}
		line := j.lines[j.read].Raw.Bytes()
		j.read++
		j.rest = append(line[:len(line):len(line)], j.newline(line)...)
	}
	n = copy(p, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}

// newline is what stands for the end of a line.
func (j *joiner) newline(line []byte) string {
	escaped := false
	for _, c := range line {
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = j.quoted
		case c == '"':
			j.quoted = !j.quoted
		}
	}
	if j.quoted {
		return `\n`
	}
	return "\n"
}
