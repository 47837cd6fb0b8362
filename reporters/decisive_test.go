package reporters

import (
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// wire is evidence: each line begins with the way it went and the session.
func wire(lines ...string) (all []harness.Line) {
	for _, l := range lines {
		arrow, rest := string([]rune(l)[0]), string([]rune(l)[1:])
		line := harness.Line{Arrow: arrow, Direction: directions[arrow], Session: rest[:1], Text: rest[1:]}
		all = append(all, line)
	}
	return all
}

// deciding marks lines as decisive.
func deciding(wire []harness.Line, places ...int) []harness.Line {
	for _, i := range places {
		wire[i].Decisive = true
	}
	return wire
}

func TestSentFor(t *testing.T) {
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
		r := harness.Result{ID: tt.area + "/a", Wire: deciding(wire(said...), tt.decisive...)}
		r.Wire[2].HTTP = "POST /mcp"
		if sent := sentFor(r); sent != tt.want {
			t.Errorf("%s came to %q, want %q", tt.name, sent, tt.want)
		}
	}
}

func TestSentForStatus(t *testing.T) {
	r := overHTTP().Results[1]
	r.Wire = append(r.Wire, harness.Line{Direction: harness.Sent, HTTP: "DELETE /mcp"})
	for got, want := range map[string]string{
		"status 200":  "POST /mcp; origin: https://evil.example ping",
		"HTTP 200 OK": "POST /mcp; origin: https://evil.example ping",
		"status 404":  "",
	} {
		r.Findings[0].Got = got
		if sent := sentFor(r); sent != want {
			t.Errorf("%q came to %q, want %q", got, sent, want)
		}
	}
}

// A server that was asked to end has not crashed, and neither has one that ended well.
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
			r := harness.Result{Verdict: harness.Fail, Wire: wire(c.wire...)}
			if got := len(crashesOf(r)); got != c.want {
				t.Errorf("%d crashes, want %d", got, c.want)
			}
			r.Verdict = harness.Pass
			if got := len(crashesOf(r)); got != 0 {
				t.Errorf("%d crashes of a pass", got)
			}
		})
	}
}

func TestCauseOf(t *testing.T) {
	fail := func(id, name, got string) harness.Result {
		said := wire(
			`→1{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"name":"`+name+`"}}`,
			`←1{"id":1,"jsonrpc":"2.0","error":{"code":-32000,"message":"no `+name+`"}}`,
		)
		findings := []harness.Finding{{Got: got}}
		return harness.Result{ID: id, Verdict: harness.Fail, Findings: findings, Wire: deciding(said, 0, 1)}
	}
	one := fail("a/one", "mcpcheck_no_such_1", "error -32000: no mcpcheck_no_such_1")
	for name, c := range map[string]struct {
		other harness.Result
		same  bool
	}{
		"the same answer":   {fail("a/two", "mcpcheck_no_such_2", "error -32000: no mcpcheck_no_such_2"), true},
		"another answer":    {fail("a/two", "echo", "error -32000: no echo"), false},
		"an unknown answer": {fail("a/two", "mcpcheck_no_such_2", "a description"), false},
	} {
		if got := causeOf(one) == causeOf(c.other); got != c.same {
			t.Errorf("%s: one cause is %v, want %v", name, got, c.same)
		}
	}
}
