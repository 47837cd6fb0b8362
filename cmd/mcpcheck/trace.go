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
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// traceVersion is that of the format of traces: JSON Lines. Each session has a head, then its lines in their order;
// several sessions may be mixed. Members are added, and none is removed within a version.
const traceVersion = 1

// traceHead begins a session.
type traceHead struct {
	Trace   int                `json:"trace"` // traceVersion
	Session string             `json:"session"`
	Tool    harness.Tool       `json:"tool"`
	Target  harness.TargetInfo `json:"target"`
	Opened  time.Time          `json:"opened"`
	Lost    bool               `json:"lost,omitempty"` // its beginning is not kept
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

// sides are the directions of a trace.
var sides = map[string]driver.Side{
	"sent": driver.FromClient, "received": driver.FromServer, "event": driver.Event, "status": driver.Status,
}

// directionOf is the word for a side.
func directionOf(side driver.Side) string {
	for word, s := range sides {
		if s == side {
			return word
		}
	}
	return "event"
}

// marksOf are what a line is beside its text, each with where a saying has it.
func marksOf(s *driver.Saying) map[string]*bool {
	return map[string]*bool{
		"unended": &s.Unended, "after-eof": &s.AfterEOF, "hostile": &s.Hostile, "apart": &s.Apart,
		"strayed": &s.Strayed, "aside": &s.Aside, "cut": &s.Cut, "gap": &s.Gap,
	}
}

// lineOf is a line of a trace, without secrets.
func lineOf(session string, said driver.Saying, redact redactor) traceLine {
	line := traceLine{
		Session: session, Seconds: said.At.Seconds(), Direction: directionOf(said.Side),
		HTTP: redact.text(said.Carriage), Exchange: said.Exchange,
	}
	text := redact.text(string(said.Text))
	if utf8.ValidString(text) {
		line.Text = text
	} else {
		line.Base64 = base64.StdEncoding.EncodeToString([]byte(text))
	}
	flags := marksOf(&said)
	for _, name := range sortedKeys(flags) {
		if *flags[name] {
			line.Flags = append(line.Flags, name)
		}
	}
	return line
}

// saying is what a line of a trace says.
func (l traceLine) saying() (said driver.Saying, err error) {
	side, known := sides[l.Direction]
	if !known {
		return said, fmt.Errorf("unknown direction %q", l.Direction)
	}
	said = driver.Saying{At: time.Duration(l.Seconds * float64(time.Second)), Side: side, Text: []byte(l.Text)}
	said.Exchange, said.Carriage = l.Exchange, l.HTTP
	if l.Base64 != "" {
		if said.Text, err = base64.StdEncoding.DecodeString(l.Base64); err != nil {
			return said, err
		}
	}
	for name, flag := range marksOf(&said) {
		*flag = slices.Contains(l.Flags, name)
	}
	return said, nil
}

// writeTrace writes all that was said in sessions.
func writeTrace(w io.Writer, report harness.Report, sessions []*driver.Session, redact redactor) error {
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	enc.SetEscapeHTML(false)
	for _, s := range sessions {
		head := traceHead{
			Trace: traceVersion, Session: fmt.Sprint(s.Number()), Tool: report.Tool, Target: report.Target,
			Opened: s.Moment(&driver.Frame{}).UTC(), Lost: !s.Whole(),
		}
		if err := enc.Encode(head); err != nil {
			return err
		}
		numbers := map[*driver.Exchange]int{}
		for _, f := range s.Record(0) {
			said := driver.Saying{
				At: f.At, Side: f.Side, Text: f.Raw.Bytes(), Unended: !f.Ended, AfterEOF: f.AfterEOF,
				Hostile: f.Hostile, Apart: f.Apart, Strayed: f.Strayed, Aside: f.Aside,
			}
			carried(f, &said, numbers)
			for _, text := range messages(f, said.Text) {
				said.Text = text
				if err := enc.Encode(lineOf(head.Session, said, redact)); err != nil {
					return err
				}
			}
		}
	}
	return buffered.Flush()
}

// messages are the lines in what a frame says: over stdio several may be written at once.
func messages(f *driver.Frame, text []byte) [][]byte {
	if f.Side == driver.FromClient && f.HTTP == nil {
		return bytes.Split(text, []byte{'\n'})
	}
	return [][]byte{text}
}

// carried adds to what a frame says what carried it over HTTP. Of a status, the body is what was said.
func carried(f *driver.Frame, said *driver.Saying, numbers map[*driver.Exchange]int) {
	if f.HTTP == nil {
		return
	}
	if numbers[f.HTTP] == 0 {
		numbers[f.HTTP] = len(numbers) + 1
	}
	said.Exchange, said.Carriage = numbers[f.HTTP], f.Carriage().String()
	if f.Side == driver.Status {
		said.Text = f.HTTP.Answer().Body.Bytes()
	}
}

// recorded is a session of a trace.
type recorded struct {
	head traceHead
	said []driver.Saying
}

// longestTraceLine bounds a line of a trace, which holds one message: the longest that is read by default, each byte
// written as six, takes a third of it.
const longestTraceLine = 256 << 20

// readTrace reads the sessions of a trace.
func readTrace(r io.Reader) (sessions []*recorded, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestTraceLine+1)
	latest := map[string]*recorded{}
	n := 1
	for ; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var head traceHead
		var line traceLine
		if err := cmp.Or(json.Unmarshal(lines.Bytes(), &head), json.Unmarshal(lines.Bytes(), &line)); err != nil {
			if !lines.Scan() && len(sessions) > 0 {
				cutOff(sessions)
				break
			}
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case head.Trace == traceVersion:
			latest[head.Session] = &recorded{head: head}
			sessions = append(sessions, latest[head.Session])
			continue
		case head.Trace != 0:
			return nil, fmt.Errorf("line %d: version %d of the format is not known", n, head.Trace)
		case latest[line.Session] == nil:
			return nil, fmt.Errorf("line %d: session %q has no head", n, line.Session)
		}
		said, err := line.saying()
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		latest[line.Session].said = append(latest[line.Session].said, said)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: it is longer than the %s that are read", n, driver.Size(longestTraceLine))
	} else if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, errors.New("there is no session in it")
	}
	return sessions, nil
}

// cutOff says in each session that is not over that more of it may be missing: the last line of the trace is half a
// line, as where the disk was full or the recorder was killed.
func cutOff(sessions []*recorded) {
	for _, r := range sessions {
		gap := driver.Saying{Side: driver.Event, Text: []byte("the trace is cut off here"), Gap: true}
		if n := len(r.said); n > 0 {
			gap.At = r.said[n-1].At
			if r.said[n-1].AfterEOF {
				continue
			}
		}
		r.said = append(r.said, gap)
	}
}

// tracer writes the trace of a judgement, as a reporter of it.
type tracer struct{ *judgement }

// trace has a trace written, if one is wanted. A file that cannot be written is found before anything is started.
func (j *judgement) trace() error {
	if j.flags.trace == "" {
		return nil
	}
	if err := reporters.Writable(j.flags.trace); err != nil {
		return usage("--trace %s: %w; name a file that can be written", j.flags.trace, reporters.Bare(err))
	}
	j.told.reporters = append(j.told.reporters, tracer{j})
	return nil
}

func (tracer) Result(harness.Result) {}

func (t tracer) Done(report harness.Report) error {
	err := reporters.ReplaceFileBy(t.flags.trace, 0o600, func(w io.Writer) error {
		return writeTrace(w, report, t.sessions, t.target.redact)
	})
	if err != nil {
		return fmt.Errorf("trace %s: %w", t.flags.trace, reporters.Bare(err))
	}
	return nil
}
