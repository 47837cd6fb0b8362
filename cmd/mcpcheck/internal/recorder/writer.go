package recorder

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/trace"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Bounds of what a record keeps. What goes beyond is passed on as it is, and the record says that it is left out.
const (
	maxLineBytes   = 16 << 20 // bytes of a line
	maxQueuedBytes = 32 << 20 // bytes that are not written yet
	lineOverhead   = 200      // bytes that a line takes in the queue beside its text
)

// traceWriter writes sessions down beside those who talk, who never wait for it.
type traceWriter struct {
	enc          *json.Encoder
	redactor     redact.Redactor // of the one that writes
	target       report.TargetInfo
	done         chan error
	sessionCount atomic.Int64 // sessions

	mu           sync.Mutex
	queueChanged *sync.Cond
	queue        []queueItem
	queuedBytes  int                  // bytes of the queue, and of what is being written
	truncated    map[*sessionLog]bool // that have left something out, and not said so
	closed       bool
}

// sessionLog are what is written down of one session.
type sessionLog struct {
	writer       *traceWriter
	session      string
	opened       time.Time
	omittedLines int  // lines that were left out since the last one that was not
	inputEnded   bool // the client has ended its stream
}

// queueItem is a line that is to be written, the head of a session, or secrets that are redacted from then on.
type queueItem struct {
	log     *sessionLog
	head    *trace.Header
	secrets *redact.Secrets
	line    driver.TraceLine
}

func newTraceWriter(w io.Writer, server report.TargetInfo, hide redact.Redactor) *traceWriter {
	s := &traceWriter{
		enc: json.NewEncoder(w), redactor: hide, target: server, done: make(chan error, 1),
		truncated: map[*sessionLog]bool{},
	}
	s.queueChanged = sync.NewCond(&s.mu)
	s.enc.SetEscapeHTML(false)
	go func() { s.done <- s.writeQueue() }()
	return s
}

// openSession begins a session over a transport.
func (s *traceWriter) openSession(transport string) *sessionLog {
	now := time.Now()
	name := fmt.Sprintf("%d-%d-%d", now.UnixNano(), os.Getpid(), s.sessionCount.Add(1))
	m := &sessionLog{writer: s, session: name, opened: now}
	head := &trace.Header{
		Trace: trace.Version, Session: m.session,
		Tool:   catalogue.ProgramInfo{Name: "mcpcheck", Version: build.Version()},
		Target: s.target, Opened: now.UTC(),
	}
	head.Target.Transport = transport
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(queueItem{log: m, head: head})
	return m
}

// setSecrets has secrets redacted in all that is noted from now on.
func (s *traceWriter) setSecrets(hidden redact.Secrets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(queueItem{secrets: &hidden})
}

// enqueue queues a line. The caller holds mu.
func (s *traceWriter) enqueue(n queueItem) {
	s.queue = append(s.queue, n)
	s.queuedBytes += n.size()
	s.queueChanged.Signal()
}

func (n queueItem) size() int { return len(n.line.Text) + lineOverhead }

// add keeps a line to be written.
func (m *sessionLog) add(said driver.TraceLine) {
	s := m.writer
	s.mu.Lock()
	defer s.mu.Unlock()
	said.At, said.AfterShutdown = time.Since(m.opened), m.inputEnded
	n := queueItem{log: m, line: said}
	if s.queuedBytes+n.size() > maxQueuedBytes {
		m.omittedLines++
		s.truncated[m] = true
		return
	}
	m.addOmittedLines()
	s.enqueue(n)
}

// addOmittedLines says how many lines are left out here, if any are. The caller holds the writer's mu.
func (m *sessionLog) addOmittedLines() {
	if m.omittedLines == 0 {
		return
	}
	content := fmt.Sprintf("%d lines are left out here: they came faster than they could be written down",
		m.omittedLines)
	m.omittedLines = 0
	delete(m.writer.truncated, m)
	m.writer.enqueue(queueItem{log: m, line: driver.TraceLine{
		At: time.Since(m.opened), Side: driver.SessionEvent, Text: []byte(content), AfterShutdown: m.inputEnded,
		AfterGap: true,
	}})
}

// endInput notes that the client has ended its stream.
func (m *sessionLog) endInput() {
	m.writer.mu.Lock()
	m.inputEnded = true
	m.writer.mu.Unlock()
}

// writeQueue writes what is queued as it comes, until all is written after flush. After an error it only takes it.
func (s *traceWriter) writeQueue() (failed error) {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.queueChanged.Wait()
		}
		lines, over := s.queue, s.closed && len(s.queue) == 0
		s.queue = nil
		s.mu.Unlock()
		if over {
			return failed
		}
		for _, n := range lines {
			switch {
			case n.secrets != nil:
				s.redactor = n.secrets.Redactor()
			case failed != nil:
			case n.head != nil:
				failed = s.enc.Encode(n.head)
			default:
				failed = s.enc.Encode(trace.NewLine(n.log.session, n.line, s.redactor))
			}
			s.mu.Lock()
			s.queuedBytes -= n.size()
			s.mu.Unlock()
		}
	}
}

// flush waits until all is written.
func (s *traceWriter) flush() error {
	s.mu.Lock()
	for m := range s.truncated {
		m.addOmittedLines()
	}
	s.closed = true
	s.mu.Unlock()
	s.queueChanged.Signal()
	return <-s.done
}

// finish waits until all is written, and says when not all is.
func (s *traceWriter) finish(stderr io.Writer) {
	if err := s.flush(); err != nil {
		fmt.Fprintln(stderr, "mcpcheck: not all was recorded:", err)
	}
}

// copyStream passes on what comes, byte for byte and at once, and notes the lines in it.
func (m *sessionLog) copyStream(side driver.Side, to io.Writer, from io.Reader) {
	chunk := make([]byte, 64<<10)
	l := lineSplitter{onLine: func(content []byte, unended bool, left int) { m.addLine(side, content, unended, left) }}
	for {
		n, err := from.Read(chunk)
		l.write(chunk[:n]) // before it is passed on: so what it brings comes after it
		if n > 0 {
			if _, failed := to.Write(chunk[:n]); failed != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	l.close()
}

// addLine notes a line of a stream, of which so many bytes are left out.
func (m *sessionLog) addLine(side driver.Side, content []byte, unended bool, left int) {
	if left == 0 {
		m.add(driver.TraceLine{Side: side, Text: content, Incomplete: unended})
		return
	}
	m.add(driver.TraceLine{Side: side, Text: append(content, "…"...), Incomplete: unended, Truncated: true})
	said := fmt.Sprintf("%d bytes of the line before are left out: a record keeps %s", left,
		text.Size(maxLineBytes))
	m.add(driver.TraceLine{Side: driver.SessionEvent, Text: []byte(said)})
}
