package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// colorPattern matches escape sequences for colours.
var colorPattern = regexp.MustCompile("\x1b\\[[0-9;]*m")

// screenText returns what a terminal shows after a text was written to it: \r moves to the beginning of the line.
func screenText(written string) string {
	var lines []string
	for line := range strings.SplitSeq(colorPattern.ReplaceAllString(written, ""), "\n") {
		var shown []rune
		column := 0
		for _, r := range line {
			switch {
			case r == '\r':
				column = 0
				continue
			case column == len(shown):
				shown = append(shown, r)
			default:
				shown[column] = r
			}
			column++
		}
		lines = append(lines, strings.TrimRight(string(shown), " "))
	}
	return strings.Join(lines, "\n")
}

// syncBuffer is a buffer that may be read while it is written.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// toolProgress is the progress of a run that waits for a tool.
type toolProgress struct{}

func (toolProgress) Completed() int  { return 7 }
func (toolProgress) Area() string    { return "tools" }
func (toolProgress) Waiting() string { return "tools/call slow" }

// TestShowProgress proves that a waiting run shows its progress: on a terminal every second in the same line, in a pipe
// every ten seconds, and with -q never. In the end the line is cleared.
func TestShowProgress(t *testing.T) {
	asked := func(what string) func(a *Sinks) (end func()) {
		return func(a *Sinks) (end func()) { return a.ShowWaiting("the answer to "+what, time.Minute) }
	}
	old := asked("initialize")
	server := report.ServerInfo{Name: "weather"}
	run := func(a *Sinks) (end func()) {
		return a.showProgress(time.Now(), "", 233, server, &engine.RunProgress{})
	}
	second := func(a *Sinks) (end func()) {
		return a.showProgress(time.Now(), "2025-06-18", 90, server, &engine.RunProgress{})
	}
	slow := func(a *Sinks) (end func()) { return a.showProgress(time.Now(), "", 233, server, toolProgress{}) }
	onTerminal, pipe := reporters.ConsoleOptions{Terminal: true}, reporters.ConsoleOptions{}
	quiet, brief := reporters.ConsoleOptions{Verbosity: reporters.Quiet}, reporters.ConsoleOptions{Terminal: true}
	brief.Verbosity = reporters.Brief
	narrow, bright := reporters.ConsoleOptions{Terminal: true, Width: 40}, reporters.ConsoleOptions{Terminal: true}
	bright.Color = true
	for name, tt := range map[string]struct {
		options reporters.ConsoleOptions
		shows   func(*Sinks) (end func())
		// screen is what the terminal shows after 14.5 seconds.
		screen string
		// stderr is the whole output after 25 seconds.
		stderr string
	}{
		"a run on a terminal": {onTerminal, run, "0/233 · 14 s", ""},
		"what it waits for": {
			onTerminal, slow, "7/233 · 14 s · tools · waiting for tools/call slow of weather", "",
		},
		"one of several":          {onTerminal, second, "2025-06-18 · 0/90 · 14 s", ""},
		"with colours":            {bright, run, "0/233 · 14 s", ""},
		"with --brief":            {brief, run, "0/233 · 14 s", ""},
		"with -q":                 {quiet, run, "", ""},
		"a run in a pipe":         {pipe, run, "", "mcpcheck: 0/233 · 10 s\nmcpcheck: 0/233 · 20 s\n"},
		"the start on a terminal": {onTerminal, old, "14 s · waiting for the answer to initialize, up to 1m0s", ""},
		"without a handshake": {
			onTerminal, asked("server/discover"), "14 s · waiting for the answer to server/discover, up to 1m0s", "",
		},
		"asked both ways": {
			onTerminal, asked("server/discover or initialize"),
			"14 s · waiting for the answer to server/discover or initialize, up to 1m0s", "",
		},
		"on a narrow one": {narrow, old, "14 s · waiting for the answer…p to 1m0s", ""},
		"the start in a pipe": {pipe, old, "",
			"mcpcheck: 10 s · waiting for the answer to initialize, up to 1m0s\n" +
				"mcpcheck: 20 s · waiting for the answer to initialize, up to 1m0s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var screen, stderr syncBuffer
				tt.options.Out = &screen
				a := &Sinks{
					stderr: &stderr, isTerminal: tt.options.Terminal, quiet: tt.options.Verbosity == reporters.Quiet,
					console: reporters.NewConsole(tt.options), redactor: (&redact.Secrets{}).Redactor(),
				}
				end := tt.shows(a)
				time.Sleep(14*time.Second + 500*time.Millisecond)
				synctest.Wait()
				if diff := cmp.Diff(tt.screen, screenText(screen.String())); diff != "" {
					t.Errorf("the screen differs (-want +got):\n%s", diff)
				}
				time.Sleep(10 * time.Second)
				end()
				if left := screenText(screen.String()); left != "" {
					t.Errorf("%q is left on the screen", left)
				}
				if diff := cmp.Diff(tt.stderr, stderr.String()); diff != "" {
					t.Errorf("stderr differs (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestWithProgramPath proves that suggested commands name the program as it was called, unless its name is enough.
func TestWithProgramPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a program has another name on this system")
	}
	before := os.Args[0]
	t.Cleanup(func() { os.Args[0] = before })
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "mcpcheck"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, called, want string }{
		{"", "./mcpcheck", "./mcpcheck run"},
		{"", "mcpcheck", "mcpcheck run"},
		{bin, "./mcpcheck", "mcpcheck run"},
	} {
		t.Setenv("PATH", c.path)
		os.Args[0] = c.called
		if got := withProgramPath("mcpcheck run"); got != c.want {
			t.Errorf("%s with PATH %q: got %q, want %q", c.called, c.path, got, c.want)
		}
	}
}
