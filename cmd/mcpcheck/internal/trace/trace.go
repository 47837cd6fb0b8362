// Package trace reads and writes traces: the messages of sessions, as JSON Lines.
//
// Each session has a Header, followed by its Lines in order; sessions may be interleaved. mcpcheck run --trace writes a
// trace with Write, mcpcheck record writes it line by line, and mcpcheck judge reads both. Everything written has
// passed a Redactor. A trace that was cut off is read up to that place, and its sessions say so.
package trace

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Version is the version of the trace format. Members are added to it, and none is removed within a version.
const Version = 1

// Header is the first line of a session.
type Header struct {
	// Trace is the Version.
	Trace   int                   `json:"trace"`
	Session string                `json:"session"`
	Tool    catalogue.ProgramInfo `json:"tool"`
	Target  report.TargetInfo     `json:"target"`
	Opened  time.Time             `json:"opened"`
	// Truncated says that the beginning of the session is missing.
	Truncated bool `json:"lost,omitempty"`
}

// Line is a message of a session, or an event in it.
type Line struct {
	Session string `json:"session"`
	// Seconds is the time since the session was opened.
	Seconds float64 `json:"at"`
	// Direction is sent, received, event or status.
	Direction string `json:"direction"`
	// HTTP describes the HTTP message that the line is a part of, as driver.HTTPInfo has it.
	HTTP string `json:"http,omitempty"`
	// Exchange is the number of the HTTP round trip in the session.
	Exchange int `json:"exchange,omitempty"`
	// Text is the message as it was, without the newline.
	Text string `json:"text"`
	// Base64 replaces Text for bytes that are not UTF-8.
	Base64 string `json:"base64,omitempty"`
	// Flags are names of lineFlags.
	Flags []string `json:"flags,omitempty"`
}

// directions are the values of Line.Direction.
var directions = map[string]driver.Side{
	"sent": driver.FromClient, "received": driver.FromServer, "event": driver.SessionEvent, "status": driver.StatusOnly,
}

// DirectionOf returns the Direction of a side.
func DirectionOf(side driver.Side) string {
	for word, s := range directions {
		if s == side {
			return word
		}
	}
	return "event"
}

// lineFlag is a flag of a line in a trace.
type lineFlag struct {
	name string
	// oldName is its name in traces of earlier builds; it may be empty.
	oldName string
	value   *bool
}

// lineFlags returns the flags of a line, by their names.
func lineFlags(s *driver.TraceLine) []lineFlag {
	return []lineFlag{
		{"after-eof", "", &s.AfterShutdown},
		{"after-invalid-input", "hostile", &s.AfterInvalidInput},
		{"for-other-session", "strayed", &s.ForOtherSession},
		{"gap", "", &s.AfterGap},
		{"incomplete", "unended", &s.Incomplete},
		{"internal", "aside", &s.Internal},
		{"manual", "apart", &s.Manual},
		{"truncated", "cut", &s.Truncated},
	}
}

// NewLine returns a line of a trace, without secrets.
func NewLine(session string, said driver.TraceLine, hide redact.Redactor) Line {
	line := Line{
		Session: session, Seconds: said.At.Seconds(), Direction: DirectionOf(said.Side),
		HTTP: hide.Text(said.HTTPInfo), Exchange: said.RoundTrip,
	}
	content := hide.Text(string(said.Text))
	if utf8.ValidString(content) {
		line.Text = content
	} else {
		line.Base64 = base64.StdEncoding.EncodeToString([]byte(content))
	}
	for _, flag := range lineFlags(&said) {
		if *flag.value {
			line.Flags = append(line.Flags, flag.name)
		}
	}
	return line
}

// decode returns the content of a line.
func (l Line) decode() (said driver.TraceLine, err error) {
	side, known := directions[l.Direction]
	if !known {
		return said, fmt.Errorf("unknown direction %q", l.Direction)
	}
	said = driver.TraceLine{At: time.Duration(l.Seconds * float64(time.Second)), Side: side, Text: []byte(l.Text)}
	said.RoundTrip, said.HTTPInfo = l.Exchange, l.HTTP
	if l.Base64 != "" {
		if said.Text, err = base64.StdEncoding.DecodeString(l.Base64); err != nil {
			return said, err
		}
	}
	for _, flag := range lineFlags(&said) {
		*flag.value = slices.Contains(l.Flags, flag.name) ||
			flag.oldName != "" && slices.Contains(l.Flags, flag.oldName)
	}
	return said, nil
}

// Write writes all messages of sessions.
func Write(w io.Writer, rep report.Report, sessions []*driver.Session, hide redact.Redactor) error {
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	for _, s := range sessions {
		head := Header{
			Trace: Version, Session: fmt.Sprint(s.Number()), Tool: rep.Program, Target: rep.Target,
			Opened: s.TimeOf(&driver.Frame{}).UTC(), Truncated: !s.HasBeginning(),
		}
		if err := enc.Encode(head); err != nil {
			return err
		}
		numbers := map[*driver.RoundTrip]int{}
		for _, f := range s.FramesSince(0) {
			said := driver.TraceLine{
				At: f.At, Side: f.Side, Text: f.Raw.Bytes(), Incomplete: !f.Complete, AfterShutdown: f.AfterShutdown,
				AfterInvalidInput: f.AfterInvalidInput, Manual: f.Manual, ForOtherSession: f.ForOtherSession,
				Internal: f.Internal,
			}
			addHTTPInfo(f, &said, numbers)
			for _, content := range splitMessages(f, said.Text) {
				said.Text = content
				if err := enc.Encode(NewLine(head.Session, said, hide)); err != nil {
					return err
				}
			}
		}
	}
	return buffered.Flush()
}

// splitMessages returns the lines in the text of a frame: over stdio one write may contain several.
func splitMessages(f *driver.Frame, content []byte) [][]byte {
	if f.Side == driver.FromClient && f.RoundTrip == nil {
		return bytes.Split(content, []byte{'\n'})
	}
	return [][]byte{content}
}

// addHTTPInfo adds the HTTP message that carried a frame. The text of a status line is its body.
func addHTTPInfo(f *driver.Frame, said *driver.TraceLine, numbers map[*driver.RoundTrip]int) {
	if f.RoundTrip == nil {
		return
	}
	if numbers[f.RoundTrip] == 0 {
		numbers[f.RoundTrip] = len(numbers) + 1
	}
	said.RoundTrip, said.HTTPInfo = numbers[f.RoundTrip], f.HTTPInfo().String()
	if f.Side == driver.StatusOnly {
		said.Text = f.RoundTrip.Response().Body.Bytes()
	}
}

// Session is a session of a trace.
type Session struct {
	Header Header
	Lines  []driver.TraceLine
}

// maxLineBytes is the size limit of a line, which holds one message. It is three times the longest message that is read
// by default with each byte escaped as six.
const maxLineBytes = 256 << 20

// Read reads the sessions of a trace. A trace that is cut off is not an error.
func Read(r io.Reader) (sessions []*Session, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes+1)
	latest := map[string]*Session{}
	n := 1
	for ; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var head Header
		var line Line
		if err := cmp.Or(json.Unmarshal(lines.Bytes(), &head), json.Unmarshal(lines.Bytes(), &line)); err != nil {
			if !lines.Scan() && len(sessions) > 0 {
				markTruncated(sessions)
				break
			}
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case head.Trace == Version:
			latest[head.Session] = &Session{Header: head}
			sessions = append(sessions, latest[head.Session])
			continue
		case head.Trace != 0:
			return nil, fmt.Errorf("line %d: version %d of the format is not known", n, head.Trace)
		case latest[line.Session] == nil:
			return nil, fmt.Errorf("line %d: session %q has no head", n, line.Session)
		}
		said, err := line.decode()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		latest[line.Session].Lines = append(latest[line.Session].Lines, said)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: it is longer than the %s that are read", n,
			text.Size(maxLineBytes))
	} else if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, errors.New("there is no session in it")
	}
	return sessions, nil
}

// markTruncated marks the sessions that have not ended as possibly incomplete. The last line of the trace is cut off,
// as when the disk was full or the recorder was killed.
func markTruncated(sessions []*Session) {
	for _, r := range sessions {
		gap := driver.TraceLine{Side: driver.SessionEvent, Text: []byte("the trace is cut off here"), AfterGap: true}
		if n := len(r.Lines); n > 0 {
			gap.At = r.Lines[n-1].At
			if r.Lines[n-1].AfterShutdown {
				continue
			}
		}
		r.Lines = append(r.Lines, gap)
	}
}
