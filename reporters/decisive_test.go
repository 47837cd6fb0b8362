package reporters

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// parseWire returns evidence. Each line begins with its direction and session.
func parseWire(lines ...string) (all []report.Line) {
	for _, l := range lines {
		arrow, rest := string([]rune(l)[0]), string([]rune(l)[1:])
		line := report.Line{Arrow: arrow, Direction: directions[arrow], Session: rest[:1], Text: rest[1:]}
		all = append(all, line)
	}
	return all
}

// markDecisive marks lines as decisive.
func markDecisive(wire []report.Line, places ...int) []report.Line {
	for _, i := range places {
		wire[i].Decisive = true
	}
	return wire
}

func TestSentText(t *testing.T) {
	said := []string{
		`→1{"id":1,"jsonrpc":"2.0","method":"ping"}`, `←1{"id":1,"jsonrpc":"2.0","result":{}}`,
		`→2{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"a":1},"name":"x"}}`,
		`←2{"id":1,"jsonrpc":"2.0","error":{"code":-32603,"message":"no <b>"}}`,
		`→2{"mcpcheck" !!}`, `→2{"id":3,"jsonrpc":"2.0","method":"ping"}`,
	}
	for _, tt := range []struct {
		name     string
		area     string
		decisive []int
		want     string
	}{
		{"a request and its response", "tools", []int{2, 3}, `tools/call {"name":"x"}`},
		{"two of them", "tools", []int{2, 3, 0, 1}, "ping"},
		{"what is no request", "jsonrpc", []int{4}, `{"mcpcheck" !!}`},
		{"a response alone", "tools", []int{3}, ""},
		{"about HTTP", "http", []int{2}, `POST /mcp tools/call {"name":"x"}`},
		{"nothing", "tools", nil, ""},
	} {
		r := report.Result{ID: tt.area + "/a", Evidence: markDecisive(parseWire(said...), tt.decisive...)}
		r.Evidence[2].HTTP = "POST /mcp"
		if sent := sentText(r); sent != tt.want {
			t.Errorf("%s came to %q, want %q", tt.name, sent, tt.want)
		}
	}
}

func TestSentTextForStatus(t *testing.T) {
	r := httpReport().Results[1]
	r.Evidence = append(r.Evidence, report.Line{Direction: report.Sent, HTTP: "DELETE /mcp"})
	for got, want := range map[string]string{
		"status 200":  "POST /mcp; origin: https://evil.example ping",
		"HTTP 200 OK": "POST /mcp; origin: https://evil.example ping",
		"status 404":  "",
	} {
		r.Findings[0].Got = got
		if sent := sentText(r); sent != want {
			t.Errorf("%q came to %q, want %q", got, sent, want)
		}
	}
}

// TestCrashesOf checks that a server which was asked to end, or which ended with status 0, has not crashed.
func TestCrashesOf(t *testing.T) {
	input := `→1{"id":1,"jsonrpc":"2.0","method":"ping"}`
	for name, c := range map[string]struct {
		wire []string
		want int
	}{
		"a crash":            {[]string{input, "·1the server exited with status 1"}, 1},
		"killed":             {[]string{input, "·1the server was killed by signal 9"}, 1},
		"it ended well":      {[]string{input, "·1the server exited with status 0"}, 0},
		"it was ended":       {[]string{input, "·1stdin closed", "·1the server exited with status 1"}, 0},
		"it was sent SIGINT": {[]string{"·1SIGTERM sent", "·1the server was ended by a signal (terminated)"}, 0},
		"another was ended":  {[]string{"·1stdin closed", "→2{}", "·2the server exited with status 1"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := report.Result{Verdict: catalogue.Fail, Evidence: parseWire(c.wire...)}
			if got := len(crashesOf(r)); got != c.want {
				t.Errorf("%d crashes, want %d", got, c.want)
			}
			r.Verdict = catalogue.Pass
			if got := len(crashesOf(r)); got != 0 {
				t.Errorf("%d crashes of a pass", got)
			}
		})
	}
}

// TestDistinctCrashes checks that crashes with one cause are one, whatever differs in each of them, and that those by
// tool calls come first.
func TestDistinctCrashes(t *testing.T) {
	const call = `→1{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`
	dead := func(id, input string, stderr ...string) report.Result {
		r := report.Result{ID: id, Verdict: catalogue.Fail,
			Evidence: parseWire(input, "·1the server exited with status 1")}
		r.Evidence[1].Stderr = stderr
		return r
	}
	stranger := func(n int) string { return fmt.Sprintf(call, n, "mcpcheck_no_such_tool_"+fmt.Sprint(n)) }
	tool := fmt.Sprintf(call, 1, "weather")
	malformed, deep := `→1{"mcpcheck" !!}`, `→1{"jsonrpc":"2.0","id":"deep","method":"ping"}`
	for name, c := range map[string]struct {
		results []report.Result
		// want are the checks that observed each crash.
		want []string
		odd  int
	}{
		"other times": {[]report.Result{
			dead("a/1", malformed, "2026/11/28 12:51:59 bad"), dead("a/2", malformed, "2026/11/29 13:00:00 bad"),
		}, []string{"a/1 a/2"}, 1},
		"other names": {
			[]report.Result{dead("a/1", stranger(1)), dead("a/2", stranger(2))},
			[]string{"a/1 a/2"}, 0,
		},
		"other words": {
			[]report.Result{dead("a/1", tool, "no key"), dead("a/2", tool, "no disk")},
			[]string{"a/1", "a/2"}, 0,
		},
		"without words": {
			[]report.Result{dead("a/1", tool), dead("a/2", tool, "no key")},
			[]string{"a/2 a/1"}, 0,
		},
		"tools first": {[]report.Result{
			dead("a/1", malformed, "x"), dead("a/2", stranger(1), "y"), dead("a/3", tool, "z"),
		}, []string{"a/3", "a/2", "a/1"}, 1},
		"what only robust sends": {
			[]report.Result{dead("robust/1", deep), dead("a/1", tool)},
			[]string{"a/1", "robust/1"}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := distinctCrashes(c.results)
			got := mapEach(all, func(c crash) string { return strings.Join(c.checks, " ") })
			if odd := len(filter(all, func(c crash) bool { return c.invalid })); !slices.Equal(got,
				c.want) || odd != c.odd {
				t.Errorf("got %q and %d odd, want %q and %d", got, odd, c.want, c.odd)
			}
		})
	}
}

// TestCrashesByInvalidMessages checks that crashes by messages that no client sends are one line if nothing blocks, and
// otherwise one entry, the last one.
func TestCrashesByInvalidMessages(t *testing.T) {
	r := report.Report{}
	for i, input := range []string{`{"mcpcheck" !!}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `[]`, `5`, `"x"`} {
		r.Results = append(r.Results, report.Result{
			ID: "robust/survives", Verdict: catalogue.Fail, Level: catalogue.Advice,
			Evidence: parseWire("→1"+input, "·1the server exited with status 1"),
		})
		r.Results[i].Evidence[1].Stderr = []string{fmt.Sprintf("12:00:0%d cannot read %s", i, input)}
	}
	const folded = "crashes     5 malformed messages end the server (robust/survives): -v\n"
	if out := runConsole(t, ConsoleOptions{}, r); !strings.Contains(out, folded) || strings.Contains(out, "stderr") {
		t.Errorf("want %q in\n%s", folded, out)
	}
	r.ExitCode = report.ExitFails
	const entry = "! 5 malformed messages end the server\n    sent "
	if out := runConsole(t, ConsoleOptions{}, r); strings.Count(out, entry) != 1 {
		t.Errorf("want one entry in\n%s", out)
	}
	if out := runConsole(t, ConsoleOptions{Verbosity: Verbose}, r); strings.Count(out, "! the server crashed") != 5 {
		t.Errorf("want an entry for each in\n%s", out)
	}
}

// TestCrashOfGo checks that the tabs in a Go stack trace are not shown as control characters.
func TestCrashOfGo(t *testing.T) {
	r := report.Report{ExitCode: report.ExitFails, Results: []report.Result{{
		ID: "a/b", Verdict: catalogue.Fail,
		Evidence: parseWire(`→1{"jsonrpc":"2.0","id":1,"method":"ping"}`, "·1the server exited with status 2"),
	}}}
	r.Results[0].Evidence[1].Stderr = []string{
		"panic: assignment to entry in nil map", "", "goroutine 7 [running]:", "main.main.func1(...)",
		"\t/root/go/pkg/mod/example.com/sdk@v1.0.0/server.go:1 +0x1", "\t/src/main.go:24 +0x59",
	}
	const want = "    stderr      panic: assignment to entry in nil map\n                /src/main.go:24 +0x59\n"
	if out := runConsole(t, ConsoleOptions{}, r); !strings.Contains(out, want) {
		t.Errorf("want %q in\n%s", want, out)
	}
}

func TestUntruncated(t *testing.T) {
	const result = `{"isError":true,"content":[{"type":"text","text":"<no> such tool"}]}`
	said := markDecisive(parseWire(`←1{"id":1,"result":`+result+`}`), 0)
	const whole = `result {"content":[{"text":"<no> such tool","type":"text"}],"isError":true}`
	for got, want := range map[string]string{
		`result {"content":[{"te…],"isError":true}`: whole,
		`result {"contents":[…],"isError":true}`:    `result {"contents":[…],"isError":true}`,
		"error -32602: no …tool":                    "error -32602: no …tool",
		whole:                                       whole,
	} {
		if full := untruncated(got, said); full != want {
			t.Errorf("%s came to %s, want %s", got, full, want)
		}
	}
}

func TestCauseKey(t *testing.T) {
	fail := func(id, name, got string) report.Result {
		said := parseWire(
			`→1{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"name":"`+name+`"}}`,
			`←1{"id":1,"jsonrpc":"2.0","error":{"code":-32000,"message":"no `+name+`"}}`,
		)
		findings := []report.Finding{{Got: got}}
		return report.Result{ID: id, Verdict: catalogue.Fail, Findings: findings, Evidence: markDecisive(said, 0, 1)}
	}
	one := fail("a/one", "mcpcheck_no_such_1", "error -32000: no mcpcheck_no_such_1")
	for name, c := range map[string]struct {
		other report.Result
		same  bool
	}{
		"the same answer":   {fail("a/two", "mcpcheck_no_such_2", "error -32000: no mcpcheck_no_such_2"), true},
		"another answer":    {fail("a/two", "echo", "error -32000: no echo"), false},
		"an unknown answer": {fail("a/two", "mcpcheck_no_such_2", "a description"), false},
	} {
		if got := causeKey(one) == causeKey(c.other); got != c.same {
			t.Errorf("%s: one cause is %v, want %v", name, got, c.same)
		}
	}
}
