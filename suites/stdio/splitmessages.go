package stdio

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// splitJSON is JSON that spans several lines.
type splitJSON struct {
	lines int
	// text is the JSON on one line.
	text []byte
	// isMessage reports whether it is meant as a message; otherwise it may be a log.
	isMessage bool
}

// splitMessageLines returns the lines of a run that are parts of JSON, together with adjacent lines.
func splitMessageLines(w check.Wire) map[*driver.Frame]*splitJSON {
	parts := map[*driver.Frame]*splitJSON{}
	for _, s := range w.Sessions {
		markSplitLines(parts, s.ReceivedSince(0))
	}
	return parts
}

// markSplitLines adds the lines that are parts of messages to parts.
func markSplitLines(parts map[*driver.Frame]*splitJSON, lines []*driver.Frame) {
	for len(lines) > 0 {
		n, whole := joinLines(lines)
		for _, part := range lines[:n] {
			if whole != nil {
				parts[part] = whole
			}
		}
		lines = lines[n:]
	}
}

// maxJoinedLines is the number of lines in which the parts of one message are sought.
const maxJoinedLines = 2000

// joinLines returns the JSON that begins with the first line and spans several lines, and how many. If there is none, n
// is the number of lines that need no second look, so that the work grows only linearly with the record.
func joinLines(lines []*driver.Frame) (n int, whole *splitJSON) {
	if !lines[0].IsMalformed() {
		return 1, nil
	}
	text := &lineReader{lines: lines[:min(len(lines), maxJoinedLines)]}
	d := json.NewDecoder(text)
	var value json.RawMessage
	switch err := d.Decode(&value); {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return text.linesRead, nil // all lines may be the beginning of a message
	case err != nil:
		return max(text.linesRead-1, 1), nil // the last line may begin another message
	}
	rest, _ := io.ReadAll(io.MultiReader(d.Buffered(), bytes.NewReader(text.rest)))
	if len(bytes.TrimSpace(rest)) > 0 {
		return text.linesRead, nil
	}
	var one bytes.Buffer
	json.Compact(&one, value)
	return text.linesRead, &splitJSON{text.linesRead, one.Bytes(), isMeantAsMessage(value)}
}

// isMeantAsMessage reports whether JSON has the members of a message.
func isMeantAsMessage(value json.RawMessage) bool {
	var m check.M
	if json.Unmarshal(value, &m) != nil {
		return true
	}
	kind := check.HasMember(m, "method") || check.HasMember(m, "result") || check.HasMember(m, "error")
	return check.HasMember(m, "jsonrpc") || kind && check.HasMember(m, "id")
}

// hasSeveralMessages reports whether a line consists of several messages.
func hasSeveralMessages(f *driver.Frame) bool {
	if !f.IsMalformed() {
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

// lineReader reads lines as one text. A line break within a string was not escaped by the server, and is escaped here.
type lineReader struct {
	lines []*driver.Frame
	// linesRead counts the lines that were begun.
	linesRead int
	// rest is the unread part of the current line.
	rest []byte
	// quoted reports that the text read so far ends within a JSON string.
	quoted bool
}

func (j *lineReader) Read(p []byte) (n int, err error) {
	for len(j.rest) == 0 {
		if j.linesRead == len(j.lines) {
			return 0, io.EOF
		}
		line := j.lines[j.linesRead].Raw.Bytes()
		j.linesRead++
		j.rest = append(line[:len(line):len(line)], j.lineEnd(line)...)
	}
	n = copy(p, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}

// lineEnd returns the text for the end of a line.
func (j *lineReader) lineEnd(line []byte) string {
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
