package reporters

import (
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// everything is a report that holds every verdict, every reason to gate that
// the profile release knows, and text that no terminal and no parser wants.
func everything() harness.Report {
	r := harness.Report{
		SchemaVersion: 1,
		Tool:          harness.Tool{Name: "mcpcheck", Version: "0.1.0"},
		Target:        harness.TargetInfo{Transport: "stdio", Command: []string{"node", "dist/index.js", "--root", "my files"}},
		Server:        harness.ServerInfo{Name: "server-everything", Version: "2.0.0", Capabilities: []string{"logging", "tools"}, Tools: 11},
		Revisions:     []harness.RevisionInfo{{Requested: "2025-11-25", Revision: "2025-11-25"}},
		Profile:       harness.Release,
		Started:       time.Date(2026, 9, 1, 12, 30, 0, 0, time.FixedZone("CEST", 2*60*60)),
		Seconds:       1.2345,
		ExitCode:      harness.ExitBroken,
		Results: []harness.Result{
			passed("jsonrpc/id-echoed", "echoes the id of a request in its answer"),
			passed("jsonrpc/version-member", "writes jsonrpc 2.0 in every message"),
			lesserDeviation(),
			checklistOnly(),
			passed("lifecycle/initialize-works", "answers initialize"),
			skipped("lifecycle/old-revision", "negotiates 2024-11-05 or another revision", "the server was asked for its newest revision only"),
			gatingMust(),
			nonGatingShould(),
			{
				ID: "tools/input-schema-valid", Title: "gives every tool a valid input schema", Level: harness.Must,
				Verdict: harness.Fail, Spec: spec("server/tools#tool"), Seconds: 0.001,
				Subjects: []string{"add", "echo", "get-weather", "list-files", "make-coffee", "print-env", "zip"},
				Message: "add:\n  want inputSchema valid by draft 2020-12\n  got at /properties/a/type: \"int\" is no type\n" +
					"echo:\n  want inputSchema valid by draft 2020-12\n  got at /required: want an array",
			},
			untried("tools/call-result-schema", "returns schema-valid results of calls"),
			untried("tools/structured-content", "returns structured content by its output schema"),
			skipped("tools/icons", "gives icons as URLs", "no tool has icons"),
			hostile(),
			died(),
			{
				ID: "robust/deep-nesting", Title: "survives deeply nested input", Level: harness.Must,
				Verdict: harness.Error, Message: "panic: runtime error: index out of range [3] with length 3", Seconds: 0.002,
			},
		},
	}
	return judged(r)
}

// judged fills in what the harness derives: revision, gates, counts.
func judged(r harness.Report) harness.Report {
	for i := range r.Results {
		x := &r.Results[i]
		if x.Revision == "" {
			x.Revision = r.Revisions[0].Revision
		}
		entry := x.Level
		if x.ID == "jsonrpc/error-message" {
			entry = harness.Must
		}
		x.Entry = entry
		x.GatedBy = r.Profile.Gate(x.Verdict, x.Level, entry, x.ID == "lifecycle/requests-gated")
		x.Gates = x.GatedBy != harness.NoGate
	}
	r.Counts = harness.Count(r.Results)
	return r
}

func passed(id, title string) harness.Result {
	return harness.Result{
		ID: id, Title: title, Level: harness.Must, Verdict: harness.Pass, Spec: spec("basic"), Seconds: 0.0042,
		Wire: []harness.Line{
			{Seconds: 0.2, Arrow: "→", Text: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
			{Seconds: 0.204, Arrow: "←", Text: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		},
	}
}

func skipped(id, title, reason string) harness.Result {
	return harness.Result{ID: id, Title: title, Level: harness.Must, Verdict: harness.Skip, Message: reason}
}

func untried(id, title string) harness.Result {
	return harness.Result{
		ID: id, Title: title, Level: harness.Must, Verdict: harness.Inconclusive,
		Message: "no tool is marked read-only, so none was called with valid arguments: give examples in mcpcheck.yaml, or --calls all",
	}
}

func died() harness.Result {
	return harness.Result{
		ID: "robust/huge-message", Title: "survives a message of 10 MiB", Level: harness.Should, Verdict: harness.Inconclusive,
		Message: "the server was killed by signal 9; its last lines on stderr:\n  <--- Last few GCs --->\n  FATAL ERROR: Reached heap limit Allocation failed",
		Wire:    []harness.Line{{Seconds: 4.25, Arrow: "·", Text: "killed by signal 9"}},
	}
}

func gatingMust() harness.Result {
	return harness.Result{
		ID: "tools/unknown-tool-code", Title: "answers a call of an unknown tool with error -32602", Level: harness.Must, Verdict: harness.Fail,
		Message: "want error -32602\ngot result {\"content\":[{\"type\":\"text\",\"text\":\"MCP error -32602: Tool mcpcheck-no-such-tool not found\"}],\"isError\":true}",
		Spec:    spec("server/tools#error-handling"),
		Fix:     "Answer tools/call of a name that tools/list does not have with a JSON-RPC error of code -32602, not with a result. SDKs that do it for you have a switch for it or a newer version.",
		Seconds: 0.0061,
		Wire: []harness.Line{
			{Seconds: 0.41, Arrow: "→", Text: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"mcpcheck-no-such-tool","arguments":{}}}`},
			{Seconds: 0.416, Arrow: "←", Text: `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"MCP error -32602: Tool mcpcheck-no-such-tool not found"}],"isError":true}}`},
		},
	}
}

func checklistOnly() harness.Result {
	r := harness.Result{
		ID: "lifecycle/requests-gated", Title: "refuses requests before initialize", Level: harness.Should, Verdict: harness.Fail,
		Message: "want an error\ngot result {\"tools\":[]}",
		Spec:    spec("basic/lifecycle#initialization"),
		Fix:     "Refuse requests other than ping until initialize was answered.",
		Seconds: 0.225,
	}
	for i := range 9 { // more than is shown, over two sessions
		session := []string{"1", "2"}[i/5]
		r.Wire = append(r.Wire,
			harness.Line{Session: session, Seconds: float64(i) / 100, Arrow: "→", Text: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
			harness.Line{Session: session, Seconds: float64(i)/100 + 0.001, Arrow: "←", Text: `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`})
	}
	return r
}

func nonGatingShould() harness.Result {
	return harness.Result{
		ID: "tools/name-characters", Title: "names tools with letters, digits, _ - and . only", Level: harness.Should, Verdict: harness.Fail,
		Message:  "get weather:\n  want only A-Z a-z 0-9 _ - .\n  got a space at 3",
		Subjects: []string{"get weather"},
		Spec:     spec("server/tools#tool-names"), Seconds: 0.0001,
		Wire: []harness.Line{{Seconds: 0.3, Arrow: "←", Text: `{"name":"get weather","inputSchema":{"type":"object"}}`}},
	}
}

func lesserDeviation() harness.Result {
	return harness.Result{
		ID: "jsonrpc/error-message", Title: "gives errors a message that says something", Level: harness.Advice, Verdict: harness.Fail,
		Message: "want a message that says what was wrong\ngot \"\"", Spec: spec("basic#responses"), Seconds: 0.003,
	}
}

// hostile is a fail with what a server might send against terminals, parsers
// and readers.
func hostile() harness.Result {
	return harness.Result{
		ID: "stdio/stdout-only-messages", Title: "writes nothing but messages to stdout", Level: harness.Must, Verdict: harness.Fail,
		Message:  "want only JSON-RPC messages\ngot \x1b]0;pwned\a\x1b[2J ]]> <b>& \xff\xfe \u009b31m \u202egnp.exe\u2066 \x00\ufffe",
		Subjects: []string{"line 1\x1b[31m", "line 2"},
		Spec:     spec("basic/transports#stdio"), Seconds: 0.01,
		Fix: "Write logs to stderr.",
		Wire: []harness.Line{
			{Seconds: 0.1, Arrow: "←", Text: "\x1b[1;31mStarting\x1b[0m…\r 50 %\ttab\b\x7f \xc3\x28 \u2028 日本語 🚀"},
			{Seconds: 0.2, Arrow: "←", Text: `{"jsonrpc":"2.0","method":"` + strings.Repeat("abcdefghij", 60) + `","params":{}}`},
			{Seconds: 0.3, Arrow: "·", Text: "exit status 0"},
		},
	}
}

func spec(page string) string {
	return "https://modelcontextprotocol.io/specification/2025-11-25/" + page
}

// untestable is the report of a server that did not start.
func untestable() harness.Report {
	return harness.Report{
		SchemaVersion: 1,
		Tool:          harness.Tool{Name: "mcpcheck", Version: "0.1.0"},
		Target:        harness.TargetInfo{Transport: "stdio", Command: []string{"node", "dist/index.js"}},
		Profile:       harness.Release,
		Started:       time.Date(2026, 9, 1, 10, 30, 0, 0, time.UTC),
		Seconds:       0.183,
		ExitCode:      harness.ExitUntestable,
		Problem: "the server exited with status 3 before it answered initialize; its last lines on stderr:\n" +
			"  Error: \x1b[31mAPI_KEY is not set\x1b[0m\n      at main (dist/index.js:12:9)\r\n",
	}
}

// conforming is the report of a server that passes.
func conforming() harness.Report {
	r := everything()
	r.ExitCode = harness.ExitConforms
	r.Revisions[0].Requested, r.Revisions[0].Revision = "2025-11-25", "2025-06-18"
	r.Results = only(r.Results, func(x harness.Result) bool { return !x.Gates && x.Verdict != harness.Error })
	for i := range r.Results {
		r.Results[i].Revision = "2025-06-18"
	}
	return judged(r)
}

// strict is a report in the profile strict, where more gates.
func strict() harness.Report {
	r := everything()
	r.Profile, r.ExitCode = harness.Strict, harness.ExitFails
	r.Results = only(r.Results, func(x harness.Result) bool { return x.Verdict != harness.Error && x.ID != "stdio/stdout-only-messages" })
	return judged(r)
}

// twice is a report of two revisions, interrupted in the second.
func twice() harness.Report {
	r := everything()
	r.ExitCode, r.Problem = harness.ExitInterrupted, "interrupted"
	r.Revisions = []harness.RevisionInfo{
		{Requested: "2025-06-18", Revision: "2025-06-18"},
		{Requested: "2025-11-25", Revision: "2025-11-25"},
	}
	r.Results = nil
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		results := []harness.Result{passed("jsonrpc/id-echoed", "echoes the id"), gatingMust(), nonGatingShould(),
			untried("tools/call-result-schema", "returns schema-valid results of calls")}
		if revision == "2025-11-25" {
			results = results[:2]
		}
		for _, x := range results {
			x.Revision = revision
			x.Spec = strings.Replace(x.Spec, "2025-11-25", revision, 1)
			r.Results = append(r.Results, x)
		}
	}
	return judged(r)
}
