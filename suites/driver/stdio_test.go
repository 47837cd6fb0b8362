package driver

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// recordedLines returns the lines of the client in the record of a session.
func recordedLines(s *Session) (lines []string) {
	for _, f := range s.FramesSince(0) {
		if f.Side == FromClient {
			lines = append(lines, f.Raw.String())
		}
	}
	return lines
}

// TestLateReaderGetsEverything checks that everything that is recorded as sent reaches the server, even if it begins to
// read late.
func TestLateReaderGetsEverything(t *testing.T) {
	const many = 1000
	begin, got := make(chan struct{}), make(chan []string, 1)
	serve := func(_ context.Context, in io.Reader, _, _ io.Writer, _ <-chan struct{}) int {
		<-begin
		var lines []string
		for text := bufio.NewScanner(in); text.Scan(); {
			lines = append(lines, text.Text())
		}
		got <- lines
		return 0
	}
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		for range many {
			s.Request("ping", nil)
		}
		close(begin)
		s.Stdio().CloseStdin()
		if lines := <-got; len(lines) != many || !slices.Equal(lines, recordedLines(s)) {
			t.Errorf("received %d lines of %d, and %d are recorded", len(lines), many, len(recordedLines(s)))
		}
	})
}

// TestUnreadMessagesAreBounded checks that the number of messages that a server leaves unread is limited, and that
// messages above the limit are not recorded as sent.
func TestUnreadMessagesAreBounded(t *testing.T) {
	const many = maxQueued + 1000
	serve := func(ctx context.Context, _ io.Reader, _, _ io.Writer, _ <-chan struct{}) int {
		<-ctx.Done()
		return 0
	}
	runSession(t, Limits{}, serve, func(t *testing.T, s *Session) {
		for range many {
			s.Request("ping", nil)
		}
		if sent := recordedLines(s); len(sent) < maxQueued || len(sent) > maxQueued+2 {
			t.Errorf("%d messages are recorded as sent", len(sent))
		}
		if s.LimitErr(0) == nil {
			t.Error("there is no limit error")
		}
		events := 0
		for _, f := range s.FramesSince(0) {
			if f.Side == SessionEvent && strings.Contains(f.Raw.String(), "leaves more than 1024 messages unread") {
				events++
			}
		}
		if events != 1 {
			t.Errorf("%d events say that messages were not sent, want 1", events)
		}
	})
}

// TestWriterEndsWithTheProcess checks that the writer ends with the process even if something else holds its stdin.
func TestWriterEndsWithTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, stdin := io.Pipe()
		proc := &process{stdin: stdin, exited: make(chan struct{})}
		p := &Stdio{proc: proc, queue: make(chan [][]byte, 1), readDone: make(chan struct{}), stop: func() {}}
		close(p.readDone)
		p.queue <- [][]byte{[]byte("unread\n")}
		written := make(chan struct{})
		go func() {
			defer close(written)
			p.write()
		}()
		synctest.Wait() // until it writes
		go p.closeAfterExit()
		close(proc.exited)
		<-written
	})
}
