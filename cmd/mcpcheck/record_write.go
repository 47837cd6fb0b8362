package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// Bounds of what a record keeps. What goes beyond is passed on as it is, and the record says that it is left out.
const (
	longestNoted = 16 << 20 // bytes of a line
	mostQueued   = 32 << 20 // bytes that are not written yet
	noteCost     = 200      // bytes that a line takes in the queue beside its text
)

// scribe writes sessions down beside those who talk, who never wait for it.
type scribe struct {
	enc    *json.Encoder
	redact redactor // of the one that writes
	target harness.TargetInfo
	done   chan error
	opened atomic.Int64 // sessions

	mu     sync.Mutex
	more   *sync.Cond
	queue  []noted
	queued int               // bytes of the queue, and of what is being written
	owing  map[*minutes]bool // that have left something out, and not said so
	closed bool
}

// minutes are what is written down of one session.
type minutes struct {
	scribe  *scribe
	session string
	opened  time.Time
	missed  int  // lines that were left out since the last one that was not
	ended   bool // the client has ended its stream
}

// noted is a line that is to be written, the head of a session, or secrets that are redacted from then on.
type noted struct {
	of     *minutes
	head   *traceHead
	hidden *secrets
	said   driver.Saying
}

func newScribe(w io.Writer, target harness.TargetInfo, redact redactor) *scribe {
	s := &scribe{
		enc: json.NewEncoder(w), redact: redact, target: target, done: make(chan error, 1),
		owing: map[*minutes]bool{},
	}
	s.more = sync.NewCond(&s.mu)
	s.enc.SetEscapeHTML(false)
	go func() { s.done <- s.write() }()
	return s
}

// open begins a session over a transport.
func (s *scribe) open(transport string) *minutes {
	now := time.Now()
	name := fmt.Sprintf("%d-%d-%d", now.UnixNano(), os.Getpid(), s.opened.Add(1))
	m := &minutes{scribe: s, session: name, opened: now}
	head := &traceHead{
		Trace: traceVersion, Session: m.session, Tool: harness.Tool{Name: "mcpcheck", Version: toolVersion()},
		Target: s.target, Opened: now.UTC(),
	}
	head.Target.Transport = transport
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(noted{of: m, head: head})
	return m
}

// hide has secrets redacted in all that is noted from now on.
func (s *scribe) hide(hidden secrets) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(noted{hidden: &hidden})
}

// put queues a line. The caller holds mu.
func (s *scribe) put(n noted) {
	s.queue = append(s.queue, n)
	s.queued += n.cost()
	s.more.Signal()
}

func (n noted) cost() int { return len(n.said.Text) + noteCost }

// note keeps a line to be written.
func (m *minutes) note(said driver.Saying) {
	s := m.scribe
	s.mu.Lock()
	defer s.mu.Unlock()
	said.At, said.AfterEOF = time.Since(m.opened), m.ended
	n := noted{of: m, said: said}
	if s.queued+n.cost() > mostQueued {
		m.missed++
		s.owing[m] = true
		return
	}
	m.own()
	s.put(n)
}

// own says how many lines are left out here, if any are. The caller holds the scribe's mu.
func (m *minutes) own() {
	if m.missed == 0 {
		return
	}
	text := fmt.Sprintf("%d lines are left out here: they came faster than they could be written down", m.missed)
	m.missed = 0
	delete(m.scribe.owing, m)
	m.scribe.put(noted{of: m, said: driver.Saying{
		At: time.Since(m.opened), Side: driver.Event, Text: []byte(text), AfterEOF: m.ended, Gap: true,
	}})
}

// end notes that the client has ended its stream.
func (m *minutes) end() {
	m.scribe.mu.Lock()
	m.ended = true
	m.scribe.mu.Unlock()
}

// write writes what is queued as it comes, until all is written after flush. After an error it only takes it.
func (s *scribe) write() (failed error) {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.more.Wait()
		}
		lines, over := s.queue, s.closed && len(s.queue) == 0
		s.queue = nil
		s.mu.Unlock()
		if over {
			return failed
		}
		for _, n := range lines {
			switch {
			case n.hidden != nil:
				s.redact = n.hidden.redactor()
			case failed != nil:
			case n.head != nil:
				failed = s.enc.Encode(n.head)
			default:
				failed = s.enc.Encode(lineOf(n.of.session, n.said, s.redact))
			}
			s.mu.Lock()
			s.queued -= n.cost()
			s.mu.Unlock()
		}
	}
}

// flush waits until all is written.
func (s *scribe) flush() error {
	s.mu.Lock()
	for m := range s.owing {
		m.own()
	}
	s.closed = true
	s.mu.Unlock()
	s.more.Signal()
	return <-s.done
}

// finish waits until all is written, and says when not all is.
func (s *scribe) finish(stderr io.Writer) {
	if err := s.flush(); err != nil {
		fmt.Fprintln(stderr, "mcpcheck: not all was recorded:", err)
	}
}

// copy passes on what comes, byte for byte and at once, and notes the lines in it.
func (m *minutes) copy(side driver.Side, to io.Writer, from io.Reader) {
	chunk := make([]byte, 64<<10)
	l := cutter{note: func(text []byte, unended bool, left int) { m.line(side, text, unended, left) }}
	for {
		n, err := from.Read(chunk)
		l.take(chunk[:n]) // before it is passed on: so what it brings comes after it
		if n > 0 {
			if _, failed := to.Write(chunk[:n]); failed != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	l.end()
}

// line notes a line of a stream, of which so many bytes are left out.
func (m *minutes) line(side driver.Side, text []byte, unended bool, left int) {
	if left == 0 {
		m.note(driver.Saying{Side: side, Text: text, Unended: unended})
		return
	}
	m.note(driver.Saying{Side: side, Text: append(text, "…"...), Unended: unended, Cut: true})
	said := fmt.Sprintf("%d bytes of the line before are left out: a record keeps %s", left, driver.Size(longestNoted))
	m.note(driver.Saying{Side: driver.Event, Text: []byte(said)})
}
