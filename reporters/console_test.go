package reporters

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// compareGolden compares with a file in testdata.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("differs from %s (-want +got); -update writes it anew:\n%s", path, diff)
	}
}

// runConsole passes a run to a console as the runner does.
func runConsole(t *testing.T, o ConsoleOptions, r report.Report) string {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	o.RepeatCommand = func(x report.Result) string {
		return "mcpcheck run --only " + x.ID + " -- " + targetText(r.Target)
	}
	o.NextCommands = func(r report.Report) []string {
		if r.ExitCode != report.ExitFails {
			return nil
		}
		return []string{"mcpcheck explain an/id", "mcpcheck run --last-failed -- " + targetText(r.Target)}
	}
	c := NewConsole(o)
	if len(r.Revisions) > 0 {
		begun := r
		begun.ExitCode = report.ExitConforms // It is not known at that time.
		c.Begin(begun)
	}
	for _, info := range r.Revisions {
		c.Areas(info.Revision, areasIn(r, info.Revision))
	}
	for _, x := range r.Results {
		c.Result(x)
	}
	if err := c.Done(r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// areasIn counts cases by area. An interrupted run would have had more.
func areasIn(r report.Report, revision string) (areas []Area) {
	results := filter(r.Results, func(x report.Result) bool { return x.Revision == revision })
	for _, g := range groupBy(results, report.Result.Area) {
		cases := len(g)
		if r.ExitCode == report.ExitInterrupted && revision == "2025-11-25" && g[0].Area() == "tools" {
			cases += 2
		}
		areas = append(areas, Area{g[0].Area(), cases})
	}
	return areas
}

func TestConsoleGolden(t *testing.T) {
	screen := ConsoleOptions{Width: 80}
	for _, c := range []struct {
		file    string
		options ConsoleOptions
		report  report.Report
		// lines is the maximal number of lines; 0 for no limit.
		lines int
	}{
		{"report.txt", screen, fullReport(), 0},
		{"report-color.txt", ConsoleOptions{Color: true, Width: 100}, fullReport(), 0},
		{"report-quiet.txt", ConsoleOptions{Verbosity: Quiet}, fullReport(), 7},
		{"report-brief.txt", ConsoleOptions{Verbosity: Brief}, fullReport(), 0},
		{"report-verbose.txt", ConsoleOptions{Verbosity: Verbose}, fullReport(), 0},
		{"report-wire.txt", ConsoleOptions{Verbosity: Wire}, fullReport(), 0},
		{"problem.txt", screen, untestableReport(), 10},
		{"problem-quiet.txt", ConsoleOptions{Verbosity: Quiet}, untestableReport(), 2},
		{"conforming.txt", screen, conformingReport(), 0},
		{"typical.txt", screen, typicalReport(), 15},
		{"crashing.txt", screen, crashingReport(), 60},
		{"strict.txt", screen, strictReport(), 0},
		{"revisions.txt", screen, interruptedReport(), 0},
		{"revisions-quiet.txt", ConsoleOptions{Verbosity: Quiet}, interruptedReport(), 0},
		{"baseline.txt", screen, baselineReport(), 0},
		{"baseline-quiet.txt", ConsoleOptions{Verbosity: Quiet}, baselineReport(), 4},
		{"baseline-verbose.txt", ConsoleOptions{Verbosity: Verbose}, baselineReport(), 0},
		{"accepted.txt", screen, acceptedReport(), 0},
		{"excused.txt", screen, excusedReport(), 0},
		{"excused-verbose.txt", ConsoleOptions{Verbosity: Verbose}, excusedReport(), 0},
		{"recorded.txt", screen, recordedReport(), 0},
		{"http.txt", screen, httpReport(), 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			out := runConsole(t, c.options, c.report)
			compareGolden(t, c.file, []byte(out))
			if n := strings.Count(out, "\n"); c.lines > 0 && n > c.lines {
				t.Errorf("%d lines, want at most %d", n, c.lines)
			}
		})
	}
}

// TestConsoleEscapesServerText checks that text from a server controls neither the terminal nor a workflow whose log
// shows it, wherever the text is.
func TestConsoleEscapesServerText(t *testing.T) {
	r := maliciousReport()
	ours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, verbosity := range []Verbosity{Quiet, Brief, Normal, Verbose, Wire} {
		for _, color := range []bool{false, true} {
			t.Run(fmt.Sprint(verbosity, color), func(t *testing.T) {
				out := runConsole(t, ConsoleOptions{Verbosity: verbosity, Color: color}, r)
				if color {
					if strings.Contains(out, "\x1b[31m\\x9b") {
						t.Error("a colour of the server reached the terminal")
					}
					out = ours.ReplaceAllString(out, "")
				}
				for i, c := range out {
					if c != '\n' && !unicode.IsPrint(c) {
						t.Fatalf("%q reached the terminal: %q", c, out[max(0, i-40):min(len(out), i+40)])
					}
				}
				checkNoCommands(t, out)
			})
		}
	}
}

func TestConsoleColor(t *testing.T) {
	t.Setenv("NO_COLOR", "1") // The caller has to look at it.
	plain := runConsole(t, ConsoleOptions{Width: 100}, fullReport())
	coloured := runConsole(t, ConsoleOptions{Width: 100, Color: true}, fullReport())
	if strings.Contains(plain, "\x1b") {
		t.Error("colours although there should be none")
	}
	if diff := cmp.Diff(plain, regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured, "")); diff != "" {
		t.Errorf("without colours the text differs (-plain +coloured):\n%s", diff)
	}
}

// TestConsoleWidth checks that every line fits the width of the terminal, except words that are longer.
func TestConsoleWidth(t *testing.T) {
	for _, verbosity := range []Verbosity{Quiet, Brief, Normal} {
		for _, width := range []int{40, 80, 120} {
			for _, r := range []report.Report{fullReport(), interruptedReport(), baselineReport(), crashingReport(),
				strictReport()} {
				for line := range strings.Lines(runConsole(t, ConsoleOptions{Width: width, Verbosity: verbosity}, r)) {
					line = strings.TrimRight(line, "\n")
					long := func(w string) bool { return len([]rune(w)) > width/2 }
					if n := len([]rune(line)); n > width && !slices.ContainsFunc(strings.Fields(line), long) {
						t.Errorf("wider than %d columns: %q", width, line)
					}
				}
			}
		}
	}
}

// TestConsoleOfUnreachableServers checks that the verdict alone says why a server could not be reached.
func TestConsoleOfUnreachableServers(t *testing.T) {
	r := untestableReport()
	r.Results = append(r.Results, report.Result{
		ID: "ping/answers", Verdict: catalogue.Inconclusive, Reason: report.HandshakeFailed,
		Message: "it was not tried",
	})
	if out := runConsole(t, ConsoleOptions{}, r); strings.Contains(out, "it was not tried") {
		t.Errorf("the reason is shown for each check:\n%s", out)
	}
	r.Results[0].Reason, r.Revisions = report.Silent, []report.RevisionInfo{{Revision: "2025-11-25"}}
	if out := runConsole(t, ConsoleOptions{}, r); !strings.Contains(out, "1 check not decided") {
		t.Errorf("what was tried is not told:\n%s", out)
	}
}

// TestConsoleOfBrokenTools checks that a few kinds of broken tools are shown. A tool that may have refused its
// arguments does not count, unless all tools failed.
func TestConsoleOfBrokenTools(t *testing.T) {
	const broken = ": every call with valid arguments failed"
	r := report.Report{Coverage: []report.Coverage{{Revision: "x"}}}
	for i := range 9 {
		r.Coverage[0].CalledTools = append(r.Coverage[0].CalledTools,
			report.ToolUse{Name: fmt.Sprint("tool", i), Answered: true, Failed: true, Message: fmt.Sprint("no ", i)})
	}
	tools := r.Coverage[0].CalledTools
	if out := runConsole(t, ConsoleOptions{}, r); strings.Count(out, broken) != maxCrashes {
		t.Errorf("want %d kinds, got\n%s", maxCrashes, out)
	}
	tools[3].Failed = false
	if out := runConsole(t, ConsoleOptions{}, r); strings.Contains(out, broken) {
		t.Errorf("not every tool fails, and none by a fault:\n%s", out)
	}
	tools[2].Faulty, tools[2].Crashed, tools[2].Message = true, true, "the server exited with status 2"
	if out := runConsole(t, ConsoleOptions{}, r); !strings.Contains(out, "! tool2"+broken) {
		t.Errorf("a tool with a fault is not named:\n%s", out)
	}
	r.Results = []report.Result{{ID: "a/b", Verdict: catalogue.Fail, Evidence: parseWire(
		`→1{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool2"}}`,
		"·1the server exited with status 2",
	)}}
	if out := runConsole(t, ConsoleOptions{}, r); strings.Contains(out, broken) {
		t.Errorf("a tool that is among the crashes is named twice:\n%s", out)
	}
}

// TestConsoleOfManyFailures checks that failures beyond the first ones are only named, and that the reasons of
// undecided results are shown.
func TestConsoleOfManyFailures(t *testing.T) {
	r := report.Report{ExitCode: report.ExitFails}
	for i := range 9 {
		r.Results = append(r.Results, report.Result{
			ID: fmt.Sprint("a/", i), Level: catalogue.Must, Verdict: catalogue.Fail, Gates: true,
			GatedBy: catalogue.GateMust,
			Message: fmt.Sprint("got ", i),
		}, report.Result{
			ID: fmt.Sprint("b/", i), Level: catalogue.Must, Verdict: catalogue.Inconclusive, Gates: true,
			GatedBy: catalogue.GateInconclusive, Message: "no tool was called",
		})
	}
	out := runConsole(t, ConsoleOptions{Width: 80}, r)
	for _, want := range []string{
		"✗ and 5 more                                                     in full with -v\n✗ a/4   ",
		"✗ b/0 and 8 more  MUST, not decided: no tool was called\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	r.Results = filter(r.Results, func(x report.Result) bool { return x.Verdict == catalogue.Inconclusive })
	if out := runConsole(t, ConsoleOptions{}, r); !strings.Contains(out, "    why         no tool was called\n") {
		t.Errorf("it is not said why nothing is decided:\n%s", out)
	}
}

// TestConsoleCountsAgree checks that the short and the long screen have the same counts of undecided results and of
// those that a quick run has not tried, without advice.
func TestConsoleCountsAgree(t *testing.T) {
	r := report.Report{Options: &report.OptionsInfo{Quick: true}}
	for _, area := range []string{"tools", "advice"} {
		r.Results = append(r.Results,
			report.Result{ID: area + "/a", Verdict: catalogue.Inconclusive, Message: "why"},
			report.Result{ID: area + "/b", Verdict: catalogue.Inconclusive, Reason: report.CallsOff, Message: "off"},
			report.Result{ID: area + "/c", Verdict: catalogue.Pass, Message: "in part"},
			report.Result{ID: area + "/d", Verdict: catalogue.Skip, Reason: report.NotTried, Message: "later"})
	}
	for verbosity, wants := range map[Verbosity][]string{
		Normal: {"2 checks not decided (1 needs such calls), 1 passed partly, 1 not tried"},
		Verbose: {
			"✓ 1 passed partly", "? 1 check not decided", "1 check needs such calls", "1 not tried by a quick run",
		},
	} {
		out := runConsole(t, ConsoleOptions{Verbosity: verbosity}, r)
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("want %q in\n%s", want, out)
			}
		}
	}
}

func TestConsoleLimitsMessages(t *testing.T) {
	r := fullReport()
	r.Results = r.Results[3:4]
	r.Results[0].Message = strings.Repeat("a line\n", 19) + "the last"
	for verbosity, want := range map[Verbosity]string{Verbose: "    … 4 lines more (-vv)\n", Wire: "    the last\n"} {
		if out := runConsole(t, ConsoleOptions{Verbosity: verbosity}, r); !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

func TestConsoleProgress(t *testing.T) {
	for _, c := range []struct {
		name    string
		options ConsoleOptions
		want    string
	}{
		{"no terminal", ConsoleOptions{Width: 40, Verbosity: Verbose}, "TABLE"},
		{"quiet", ConsoleOptions{Width: 40, Terminal: true, Verbosity: Quiet}, ""},
		{"terminal", ConsoleOptions{Width: 40, Terminal: true, Verbosity: Verbose},
			"waiting\r       \ra text that is longer than th…columns\\n\r" + strings.Repeat(" ", 39) + "\rTABLE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			c.options.Out = &out
			console := NewConsole(c.options)
			console.Areas("x", []Area{{"ping", 1}})
			console.Progress("waiting")
			console.Progress("a text that is longer than the terminal has columns\n")
			console.Result(report.Result{ID: "ping/answers", Revision: "x", Verdict: catalogue.Pass})
			want := strings.ReplaceAll(c.want, "TABLE", "\n✓ ping    1 passed\n")
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConsoleFromManyGoroutines(t *testing.T) {
	c := NewConsole(ConsoleOptions{Out: new(bytes.Buffer), Terminal: true})
	r := fullReport()
	c.Begin(r)
	var wg sync.WaitGroup
	for _, x := range r.Results {
		wg.Go(func() { c.Result(x) })
		wg.Go(func() { c.Progress(x.ID) })
	}
	wg.Wait()
	if err := c.Done(r); err != nil {
		t.Error(err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestConsoleReportsWriteErrors(t *testing.T) {
	c := NewConsole(ConsoleOptions{Out: failingWriter{}})
	c.Begin(report.Report{})
	if err := c.Done(report.Report{}); err == nil {
		t.Error("want the error of the writer, got none")
	}
}

// TestConsoleOfUnreachableServerIsShort checks that for a server that could not be reached each verbosity shows only
// the reason, each line once.
func TestConsoleOfUnreachableServerIsShort(t *testing.T) {
	r := fullReport()
	r.ExitCode = report.ExitUntestable
	r.Problem = "the server refuses\nits last lines on stderr:\n  starting\n  Error: no"
	r.Revisions[0].Assumed = true
	for _, v := range []Verbosity{Quiet, Brief, Normal, Verbose} {
		got := runConsole(t, ConsoleOptions{Verbosity: v}, r)
		want := "NOT TESTED  the server refuses\n  Error: no\n"
		if v >= Normal {
			head := "mcpcheck 0.1.0 · server-everything 2.0.0 · stdio\n" + optionsText(r.Options) + "\n\n"
			want = head + want + "  │ starting\n"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("verbosity %d (-want +got):\n%s", v, diff)
		}
	}
	r.ExitCode = report.ExitFails // what it answers is tested all the same
	if got := runConsole(t, ConsoleOptions{}, r); !strings.Contains(got, "(requested; no handshake took place)\n") {
		t.Errorf("got %s", got)
	}
}
