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

// These limits bound what a record keeps. Everything beyond them is forwarded too, and the record says that it is
// omitted.
const (
	maxLineBytes   = 16 << 20 // bytes of a line
	maxQueuedBytes = 32 << 20 // bytes that are not written yet
	lineOverhead   = 200      // bytes that a queued line uses in addition to its text
)

// traceWriter writes sessions in its own goroutine, so that client and server never wait for it.
type traceWriter struct {
	enc *json.Encoder
	// redactor is used by writeQueue alone.
	redactor redact.Redactor
	target   report.TargetInfo
	done     chan error
	// sessionCount is the number of sessions so far.
	sessionCount atomic.Int64

	mu           sync.Mutex
	queueChanged *sync.Cond
	queue        []queueItem
	// queuedBytes counts the bytes in the queue, and those being written.
	queuedBytes int
	// truncated are the sessions with omitted lines that no line mentions yet.
	truncated map[*sessionLog]bool
	closed    bool
}

// sessionLog records one session.
type sessionLog struct {
	writer  *traceWriter
	session string
	opened  time.Time
	// omittedLines is the number of lines that were omitted since the last recorded one.
	omittedLines int
	// inputEnded says that the client has closed its stream.
	inputEnded bool
}

// queueItem is a line to write, the header of a session, or secrets that are redacted in everything after it.
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

// setSecrets replaces the secrets that are redacted in everything recorded from now on.
func (s *traceWriter) setSecrets(hidden redact.Secrets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enqueue(queueItem{secrets: &hidden})
}

// enqueue queues an item. The caller holds mu.
func (s *traceWriter) enqueue(n queueItem) {
	s.queue = append(s.queue, n)
	s.queuedBytes += n.size()
	s.queueChanged.Signal()
}

func (n queueItem) size() int { return len(n.line.Text) + lineOverhead }

// add queues a line, or counts it as omitted when the queue is full.
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

// addOmittedLines records how many lines are missing at this place, if any. The caller holds the writer's mu.
func (m *sessionLog) addOmittedLines() {
	if m.omittedLines == 0 {
		return
	}
	content := fmt.Sprintf("%d lines are left out here: they came faster than they could be written",
		m.omittedLines)
	m.omittedLines = 0
	delete(m.writer.truncated, m)
	m.writer.enqueue(queueItem{log: m, line: driver.TraceLine{
		At: time.Since(m.opened), Side: driver.SessionEvent, Text: []byte(content), AfterShutdown: m.inputEnded,
		AfterGap: true,
	}})
}

// endInput records that the client has closed its stream.
func (m *sessionLog) endInput() {
	m.writer.mu.Lock()
	m.inputEnded = true
	m.writer.mu.Unlock()
}

// writeQueue writes queued items until the writer is closed and the queue is empty. After an error it discards them.
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

// flush closes the queue and waits until everything is written.
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

// finish does the same, and reports an error on stderr.
func (s *traceWriter) finish(stderr io.Writer) {
	if err := s.flush(); err != nil {
		fmt.Fprintln(stderr, "mcpcheck: not all was recorded:", err)
	}
}

// copyStream forwards a stream unchanged and without delay, and records its lines.
func (m *sessionLog) copyStream(side driver.Side, to io.Writer, from io.Reader) {
	chunk := make([]byte, 64<<10)
	l := lineSplitter{onLine: func(content []byte, unended bool, left int) { m.addLine(side, content, unended, left) }}
	for {
		n, err := from.Read(chunk)
		l.write(chunk[:n]) // before forwarding, so that its response is recorded later
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

// addLine records a line of a stream. left counts its omitted bytes; unended says that its newline is missing.
func (m *sessionLog) addLine(side driver.Side, content []byte, unended bool, left int) {
	if left == 0 {
		m.add(driver.TraceLine{Side: side, Text: content, Incomplete: unended})
		return
	}
	m.add(driver.TraceLine{Side: side, Text: append(content, "…"...), Incomplete: unended, Truncated: true})
	said := fmt.Sprintf("%d bytes of the line before are left out: a trace has at most %s of a line", left,
		text.Size(maxLineBytes))
	m.add(driver.TraceLine{Side: driver.SessionEvent, Text: []byte(said)})
}
