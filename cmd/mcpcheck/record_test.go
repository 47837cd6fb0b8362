package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// linesIn are the lines of the only session in a trace, each as it is shown, with its marks.
func linesIn(t *testing.T, trace io.Reader, shown func(driver.Saying) string) (lines []string) {
	t.Helper()
	sessions, err := readTrace(trace)
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	for _, said := range sessions[0].said {
		line := directionOf(said.Side) + " " + shown(said)
		for _, mark := range []struct {
			set  bool
			name string
		}{{said.Cut, "cut"}, {said.Gap, "gap"}, {said.Unended, "unended"}} {
			if mark.set {
				line += " " + mark.name
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// shortened is a line of which the beginning says what it is.
func shortened(said driver.Saying) string {
	return fmt.Sprintf("%.40s (%d)", said.Text, len(said.Text))
}

// TestRecordsAreBounded: of a line as much is kept as a record keeps, and the record says so; what is passed on is
// what came.
func TestRecordsAreBounded(t *testing.T) {
	dots := func(n int) string { return strings.Repeat(".", n) }
	for name, test := range map[string]struct {
		stream string
		want   []string
	}{
		"lines":          {"one\ntwo\n", []string{"sent one (3)", "sent two (3)"}},
		"an empty one":   {"\n", []string{"sent  (0)"}},
		"an unended one": {"one\ntwo", []string{"sent one (3)", "sent two (3) unended"}},
		"the longest":    {dots(longestNoted) + "\n", []string{"sent " + dots(40) + " (16777216)"}},
		"a longer one": {dots(longestNoted+5) + "\nnext\n", []string{
			"sent " + dots(40) + " (16777219) cut", "event 5 bytes of the line before are left out: (62)",
			"sent next (4)",
		}},
		"a longer one without an end": {dots(longestNoted + 5), []string{
			"sent " + dots(40) + " (16777219) cut unended", "event 5 bytes of the line before are left out: (62)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var trace, passed bytes.Buffer
			s := newScribe(&trace, harness.TargetInfo{}, (&secrets{}).redactor())
			s.open("stdio").copy(driver.FromClient, &passed, strings.NewReader(test.stream))
			if err := s.flush(); err != nil {
				t.Fatal(err)
			}
			if passed.String() != test.stream {
				t.Errorf("%d bytes are passed on of %d", passed.Len(), len(test.stream))
			}
			if got := linesIn(t, &trace, shortened); !slices.Equal(got, test.want) {
				t.Errorf("the record has %q, want %q", got, test.want)
			}
		})
	}
}

// TestRecordsDoNotGrow: what comes faster than it can be written is left out, and the record says how many lines.
func TestRecordsDoNotGrow(t *testing.T) {
	const size = 1 << 20
	line := strings.Repeat(".", size-1) + "\n"
	reader, writer := io.Pipe() // nothing is written while nobody reads
	s := newScribe(writer, harness.TargetInfo{}, (&secrets{}).redactor())
	session := s.open("stdio")
	session.copy(driver.FromServer, io.Discard, strings.NewReader(strings.Repeat(line, 2*mostQueued/size)))
	if s.queued > mostQueued {
		t.Errorf("%d bytes wait to be written", s.queued)
	}
	flushed := make(chan error, 1)
	go func() {
		flushed <- s.flush()
		writer.Close()
	}()
	said := linesIn(t, reader, shortened)
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	kept := mostQueued / (size + noteCost)
	left := fmt.Sprintf("event %d lines are left out here: they came fa (76) gap", 2*mostQueued/size-kept)
	if last := said[len(said)-1]; len(said) != kept+1 || last != left {
		t.Errorf("%d lines, at last %q; want %d, at last %q", len(said), last, kept+1, left)
	}
}
