package main

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

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// traceVersion is that of the format of traces: JSON Lines. Each session has a head, then its lines in their order;
// several sessions may be mixed. Members are added, and none is removed within a version.
const traceVersion = 1

// traceHeader begins a session.
type traceHeader struct {
	Trace     int                   `json:"trace"` // traceVersion
	Session   string                `json:"session"`
	Tool      catalogue.ProgramInfo `json:"tool"`
	Target    report.TargetInfo     `json:"target"`
	Opened    time.Time             `json:"opened"`
	Truncated bool                  `json:"lost,omitempty"` // its beginning is not kept
}

// traceLine is a line of the wire.
type traceLine struct {
	Session   string   `json:"session"`
	Seconds   float64  `json:"at"`                 // since the session was opened
	Direction string   `json:"direction"`          // sent, received, event, status
	HTTP      string   `json:"http,omitempty"`     // what carried it, as driver.Carriage has it
	Exchange  int      `json:"exchange,omitempty"` // the HTTP request that it is, or answers: a number in the session
	Text      string   `json:"text"`               // as it was, without the newline
	Base64    string   `json:"base64,omitempty"`   // in place of text, of bytes that are not UTF-8
	Flags     []string `json:"flags,omitempty"`
}

// directions are the directions of a trace.
var directions = map[string]driver.Side{
	"sent": driver.FromClient, "received": driver.FromServer, "event": driver.SessionEvent, "status": driver.StatusOnly,
}

// directionOf is the word for a side.
func directionOf(side driver.Side) string {
	for word, s := range directions {
		if s == side {
			return word
		}
	}
	return "event"
}

// lineFlags are what a line is beside its text, each with where a saying has it.
func lineFlags(s *driver.TraceLine) map[string]*bool {
	return map[string]*bool{
		"unended": &s.Incomplete, "after-eof": &s.AfterShutdown, "hostile": &s.AfterInvalidInput, "apart": &s.Manual,
		"strayed": &s.ForOtherSession, "aside": &s.Internal, "cut": &s.Truncated, "gap": &s.AfterGap,
	}
}

// newTraceLine is a line of a trace, without secrets.
func newTraceLine(session string, said driver.TraceLine, redact redactor) traceLine {
	line := traceLine{
		Session: session, Seconds: said.At.Seconds(), Direction: directionOf(said.Side),
		HTTP: redact.text(said.HTTPInfo), Exchange: said.RoundTrip,
	}
	text := redact.text(string(said.Text))
	if utf8.ValidString(text) {
		line.Text = text
	} else {
		line.Base64 = base64.StdEncoding.EncodeToString([]byte(text))
	}
	flags := lineFlags(&said)
	for _, name := range sortedKeys(flags) {
		if *flags[name] {
			line.Flags = append(line.Flags, name)
		}
	}
	return line
}

// saying is what a line of a trace says.
func (l traceLine) decode() (said driver.TraceLine, err error) {
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
	for name, flag := range lineFlags(&said) {
		*flag = slices.Contains(l.Flags, name)
	}
	return said, nil
}

// writeTrace writes all that was said in sessions.
func writeTrace(w io.Writer, rep report.Report, sessions []*driver.Session, redact redactor) error {
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	for _, s := range sessions {
		head := traceHeader{
			Trace: traceVersion, Session: fmt.Sprint(s.Number()), Tool: rep.Program, Target: rep.Target,
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
			for _, text := range splitMessages(f, said.Text) {
				said.Text = text
				if err := enc.Encode(newTraceLine(head.Session, said, redact)); err != nil {
					return err
				}
			}
		}
	}
	return buffered.Flush()
}

// splitMessages are the lines in what a frame says: over stdio several may be written at once.
func splitMessages(f *driver.Frame, text []byte) [][]byte {
	if f.Side == driver.FromClient && f.RoundTrip == nil {
		return bytes.Split(text, []byte{'\n'})
	}
	return [][]byte{text}
}

// addHTTPInfo adds to what a frame says what carried it over HTTP. Of a status, the body is what was said.
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

// recordedSession is a session of a trace.
type recordedSession struct {
	header traceHeader
	lines  []driver.TraceLine
}

// maxTraceLineBytes bounds a line of a trace, which holds one message: the longest that is read by default, each byte
// written as six, takes a third of it.
const maxTraceLineBytes = 256 << 20

// readTrace reads the sessions of a trace.
func readTrace(r io.Reader) (sessions []*recordedSession, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxTraceLineBytes+1)
	latest := map[string]*recordedSession{}
	n := 1
	for ; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var head traceHeader
		var line traceLine
		if err := cmp.Or(json.Unmarshal(lines.Bytes(), &head), json.Unmarshal(lines.Bytes(), &line)); err != nil {
			if !lines.Scan() && len(sessions) > 0 {
				markTruncated(sessions)
				break
			}
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case head.Trace == traceVersion:
			latest[head.Session] = &recordedSession{header: head}
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
		latest[line.Session].lines = append(latest[line.Session].lines, said)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: it is longer than the %s that are read", n,
			driver.FormatSize(maxTraceLineBytes))
	} else if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, errors.New("there is no session in it")
	}
	return sessions, nil
}

// markTruncated says in each session that is not over that more of it may be missing: the last line of the trace is
// half a line, as where the disk was full or the recorder was killed.
func markTruncated(sessions []*recordedSession) {
	for _, r := range sessions {
		gap := driver.TraceLine{Side: driver.SessionEvent, Text: []byte("the trace is cut off here"), AfterGap: true}
		if n := len(r.lines); n > 0 {
			gap.At = r.lines[n-1].At
			if r.lines[n-1].AfterShutdown {
				continue
			}
		}
		r.lines = append(r.lines, gap)
	}
}

// traceReporter writes the trace of a judgement, as a reporter of it.
type traceReporter struct{ *serverRun }

// addTraceReporter has a trace written, if one is wanted. A file that cannot be written is found before anything is
// started.
func (j *serverRun) addTraceReporter() error {
	if j.flags.trace == "" {
		return nil
	}
	if err := reporters.CheckWritable(j.flags.trace); err != nil {
		return usageErrorf("--trace %s: %w; name a file that can be written", j.flags.trace, reporters.WithoutPath(err))
	}
	j.sinks.reporters = append(j.sinks.reporters, traceReporter{j})
	return nil
}

func (traceReporter) Result(report.Result) {}

func (t traceReporter) Done(rep report.Report) error {
	err := reporters.ReplaceFileFunc(t.flags.trace, 0o600, func(w io.Writer) error {
		return writeTrace(w, rep, t.sessions, t.target.redactor)
	})
	if err != nil {
		return fmt.Errorf("trace %s: %w", t.flags.trace, reporters.WithoutPath(err))
	}
	return nil
}
