package recorder

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/trace"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// traceLines returns the lines of the only session in a trace, each as shown formats it, with its flags.
func traceLines(t *testing.T, recording io.Reader, shown func(driver.TraceLine) string) (lines []string) {
	t.Helper()
	sessions, err := trace.Read(recording)
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	for _, said := range sessions[0].Lines {
		line := trace.DirectionOf(said.Side) + " " + shown(said)
		for _, mark := range []struct {
			set  bool
			name string
		}{{said.Truncated, "cut"}, {said.AfterGap, "gap"}, {said.Incomplete, "unended"}} {
			if mark.set {
				line += " " + mark.name
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// shortenLine returns the beginning of a line, which is enough to identify it.
func shortenLine(said driver.TraceLine) string {
	return fmt.Sprintf("%.40s (%d)", said.Text, len(said.Text))
}

// TestRecordLineLimit proves that a record keeps a line up to a limit and says so, and that the whole line is
// forwarded.
func TestRecordLineLimit(t *testing.T) {
	dots := func(n int) string { return strings.Repeat(".", n) }
	for name, test := range map[string]struct {
		stream string
		want   []string
	}{
		"lines":          {"one\ntwo\n", []string{"sent one (3)", "sent two (3)"}},
		"an empty one":   {"\n", []string{"sent  (0)"}},
		"an unended one": {"one\ntwo", []string{"sent one (3)", "sent two (3) unended"}},
		"the longest":    {dots(maxLineBytes) + "\n", []string{"sent " + dots(40) + " (16777216)"}},
		"a longer one": {dots(maxLineBytes+5) + "\nnext\n", []string{
			"sent " + dots(40) + " (16777219) cut", "event 5 bytes of the line before are left out: (77)",
			"sent next (4)",
		}},
		"a longer one without an end": {dots(maxLineBytes + 5), []string{
			"sent " + dots(40) + " (16777219) cut unended", "event 5 bytes of the line before are left out: (77)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var recording, passed bytes.Buffer
			s := newTraceWriter(&recording, report.TargetInfo{}, (&redact.Secrets{}).Redactor())
			s.openSession("stdio").copyStream(driver.FromClient, &passed, strings.NewReader(test.stream))
			if err := s.flush(); err != nil {
				t.Fatal(err)
			}
			if passed.String() != test.stream {
				t.Errorf("%d bytes are passed on of %d", passed.Len(), len(test.stream))
			}
			if got := traceLines(t, &recording, shortenLine); !slices.Equal(got, test.want) {
				t.Errorf("the record has %q, want %q", got, test.want)
			}
		})
	}
}

// TestRecordQueueLimit proves that lines that arrive faster than they can be written are omitted, and that the record
// says how many.
func TestRecordQueueLimit(t *testing.T) {
	const size = 1 << 20
	line := strings.Repeat(".", size-1) + "\n"
	reader, writer := io.Pipe() // nothing is written until someone reads
	s := newTraceWriter(writer, report.TargetInfo{}, (&redact.Secrets{}).Redactor())
	session := s.openSession("stdio")
	session.copyStream(driver.FromServer, io.Discard, strings.NewReader(strings.Repeat(line, 2*maxQueuedBytes/size)))
	if s.queuedBytes > maxQueuedBytes {
		t.Errorf("%d bytes wait to be written", s.queuedBytes)
	}
	flushed := make(chan error, 1)
	go func() {
		flushed <- s.flush()
		writer.Close()
	}()
	said := traceLines(t, reader, shortenLine)
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	kept := maxQueuedBytes / (size + lineOverhead)
	left := fmt.Sprintf("event %d lines are left out here: they came fa (71) gap", 2*maxQueuedBytes/size-kept)
	if last := said[len(said)-1]; len(said) != kept+1 || last != left {
		t.Errorf("%d lines, at last %q; want %d, at last %q", len(said), last, kept+1, left)
	}
}
