package reporters

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// fullReport is a report that holds every verdict, every reason to gate that the profile release knows, and text that
// no terminal and no parser wants.
func fullReport() harness.Report {
	r := harness.Report{
		SchemaVersion: 1,
		Program:       harness.ProgramInfo{Name: "mcpcheck", Version: "0.1.0"},
		Target: harness.TargetInfo{
			Transport: "stdio", Command: []string{"node", "dist/index.js", "--root", "my files"},
		},
		Server: harness.ServerInfo{
			Name: "server-everything", Version: "2.0.0", Capabilities: []string{"logging", "tools"}, Tools: 11,
		},
		Revisions: []harness.RevisionInfo{{Requested: "2025-11-25", Revision: "2025-11-25"}},
		Profile:   harness.Release,
		Options: &harness.OptionsInfo{
			Configuration: "mcpcheck.yaml", Protocol: "auto", Calls: harness.CallsSafe, Only: []string{"must"},
			Skip:    []harness.Exclusion{{Check: "robust", Reason: "the gateway refuses it"}, {Check: "ping"}},
			Timeout: 5, StartTimeout: 15, Budget: 300, MaxMessage: 16 << 20, Jobs: 8, Isolate: true, Seed: 3,
		},
		Coverage: []harness.Coverage{{
			Revision: "2025-11-25", Requirements: 60,
			Tried: 9, NotApplicable: 20, NotTried: 3, Excluded: 8, NotChecked: 20,
			Unexercised: []string{"logging"},
			UncalledTools: []harness.UncalledTool{
				{Name: "ask", Reason: harness.NotMarkedSafe, Forbidden: true},
				{Name: "drop", Reason: harness.MarkedDestructive, Forbidden: true},
				{Name: "grow", Reason: harness.NotMarkedSafe, Forbidden: true},
			},
			InvalidCalls: &harness.InvalidCallCounts{Tried: 4, Unmarked: 2, Destructive: 1},
			CalledTools: []harness.ToolUse{
				{Name: "add", Answered: true, Failed: true, Message: "a is not a number"}, {Name: "echo"},
			},
		}},
		Started:  time.Date(2026, 9, 1, 12, 30, 0, 0, time.FixedZone("CEST", 2*60*60)),
		Seconds:  1.2345,
		ExitCode: harness.ExitInternal,
		Results: []harness.Result{
			passed("jsonrpc/id-echoed", "echoes the id of a request in its answer"),
			passed("jsonrpc/version-member", "writes jsonrpc 2.0 in every message"),
			lesserDeviation(),
			checklistOnly(),
			passed("lifecycle/initialize-works", "answers initialize"),
			skipped("lifecycle/old-revision", "negotiates 2024-11-05 or another revision",
				"the server was asked for its newest revision only"),
			gatingMust(),
			nonGatingShould(),
			{
				ID: "tools/input-schema-valid", Title: "gives every tool a valid input schema", Level: harness.Must,
				Verdict: harness.Fail, Spec: specURL("server/tools#tool"), Seconds: 0.001,
				Subjects: []string{"add", "echo", "get-weather", "list-files", "make-coffee", "print-env", "zip"},
				Message: "add:\n" +
					"  want inputSchema valid by draft 2020-12\n  got at /properties/a/type: \"int\" is no type\n" +
					"echo:\n" +
					"  expected inputSchema valid by draft 2020-12\n  got at /required: expected an array",
				Findings: []harness.Finding{
					{Subject: "add", Want: validSchema, Got: `at /properties/a/type: "int" is no type`},
					{Subject: "echo", Want: validSchema, Got: "at /required: expected an array"},
				},
				Truncated: true,
			},
			partiallyPassed("tools/inputs-validated-type", "refuses arguments of a wrong type"),
			undecided("tools/call-result-schema", "returns schema-valid results of calls"),
			undecided("tools/structured-content", "returns structured content by its output schema"),
			skipped("tools/icons", "gives icons as URLs", "no tool has icons"),
			maliciousResult(),
			serverCrashed(),
			{
				ID: "robust/deep-nesting", Title: "survives deeply nested input", Level: harness.Must,
				Verdict: harness.Error, Seconds: 0.002,
				Message: "panic: runtime error: index out of range [3] with length 3",
			},
		},
	}
	return withDerivedFields(r)
}

// withDerivedFields fills in what the harness derives: revision, gates, counts.
func withDerivedFields(r harness.Report) harness.Report {
	for i := range r.Results {
		x := &r.Results[i]
		if x.Revision == "" {
			x.Revision = r.Revisions[0].Revision
		}
		entry := x.Level
		if x.ID == "jsonrpc/error-message" {
			entry = harness.Must
		}
		x.EntryLevel = entry
		x.GatedBy = r.Profile.Gate(x.Verdict, x.Level, entry, x.ID == "lifecycle/requests-gated", false)
		if x.Known != nil || x.SDK != nil {
			x.GatedBy = harness.NoGate
		}
		x.Gates = x.GatedBy != harness.NoGate
		for i, line := range x.Evidence {
			x.Evidence[i].Direction = directions[line.Arrow]
		}
	}
	r.Counts = harness.Count(r.Results)
	r.Counts.Stale = len(staleBaseline(r))
	return r
}

var directions = map[string]harness.Direction{"→": harness.Sent, "←": harness.Received, "·": harness.Event}

const validSchema = "inputSchema valid by draft 2020-12"

func passed(id, title string) harness.Result {
	return harness.Result{
		ID: id, Title: title, Level: harness.Must, Verdict: harness.Pass, Spec: specURL("basic"), Seconds: 0.0042,
		Evidence: []harness.Line{
			{Seconds: 0.2, Arrow: "→", Text: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
			{Seconds: 0.204, Arrow: "←", Text: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		},
	}
}

// partiallyPassed is a pass that leaves something out.
func partiallyPassed(id, title string) harness.Result {
	r := passed(id, title)
	r.Message = "2 of 9 could not be tested (sum: its schema cannot be read: (?<!a)b; fail: it fails anyway)"
	return r
}

func skipped(id, title, reason string) harness.Result {
	return harness.Result{
		ID: id, Title: title, Level: harness.Must, Verdict: harness.Skip, Reason: harness.NotOffered, Message: reason,
	}
}

func undecided(id, title string) harness.Result {
	return harness.Result{
		ID: id, Title: title, Level: harness.Must, Verdict: harness.Inconclusive, Reason: harness.CallsOff,
		Message: "no tool is marked read-only, so none was called with valid arguments: " +
			"give examples in mcpcheck.yaml, or --calls all",
	}
}

func serverCrashed() harness.Result {
	return harness.Result{
		ID: "robust/huge-message", Title: "survives a message of 10 MiB",
		Level: harness.Should, Verdict: harness.Inconclusive, Reason: harness.Died,
		Message: "the server was killed by signal 9; its last lines on stderr:\n" +
			"  <--- Last few GCs --->\n  FATAL ERROR: Reached heap limit Allocation failed",
		Evidence: []harness.Line{{Seconds: 4.25, Arrow: "·", Text: "killed by signal 9", Truncated: true}},
	}
}

func gatingMust() harness.Result {
	const result = `{"content":[{"type":"text","text":"MCP error -32602: Tool mcpcheck-no-such-tool not found"}],` +
		`"isError":true}`
	return harness.Result{
		ID: "tools/unknown-tool-code", Title: "answers a call of an unknown tool with error -32602",
		Level: harness.Must, Verdict: harness.Fail,
		Message:  "expected error -32602\ngot result " + result,
		Findings: []harness.Finding{{Want: "error -32602", Got: "result " + result}},
		Spec:     specURL("server/tools#error-handling"),
		Fix: "Answer tools/call of a name that tools/list does not have with a JSON-RPC error of code -32602, " +
			"not with a result. SDKs that do it for you have a switch for it or a newer version.",
		Seconds: 0.0061,
		Evidence: []harness.Line{
			{Seconds: 0.41, Arrow: "→", Decisive: true, Text: `{"jsonrpc":"2.0","id":7,"method":"tools/call",` +
				`"params":{"name":"mcpcheck-no-such-tool","arguments":{}}}`},
			{Seconds: 0.416, Arrow: "←", Decisive: true, Text: `{"jsonrpc":"2.0","id":7,"result":` + result + `}`},
		},
	}
}

func checklistOnly() harness.Result {
	r := harness.Result{
		ID: "lifecycle/requests-gated", Title: "refuses requests before initialize",
		Level: harness.Should, Verdict: harness.Fail,
		Message:  "expected an error\ngot result {\"tools\":[]}",
		Findings: []harness.Finding{{Want: "an error", Got: `result {"tools":[]}`}},
		Spec:     specURL("basic/lifecycle#initialization"),
		Fix:      "Refuse requests other than ping until initialize was answered.",
		Seconds:  0.225,
	}
	for i := range 9 { // more than is shown, over two sessions
		session := []string{"1", "2"}[i/5]
		r.Evidence = append(r.Evidence,
			harness.Line{
				Session: session, Seconds: float64(i) / 100, Arrow: "→", Decisive: i == 8,
				Text: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			},
			harness.Line{
				Session: session, Seconds: float64(i)/100 + 0.001, Arrow: "←", Decisive: i == 8,
				Text: `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`,
			})
	}
	return r
}

func nonGatingShould() harness.Result {
	return harness.Result{
		ID: "tools/name-characters", Title: "names tools with letters, digits, _ - and . only",
		Level: harness.Should, Verdict: harness.Fail,
		Message:  "get weather:\n  expected only A-Z a-z 0-9 _ - .\n  got a space at 3",
		Findings: []harness.Finding{{Subject: "get weather", Want: "only A-Z a-z 0-9 _ - .", Got: "a space at 3"}},
		Subjects: []string{"get weather"},
		Spec:     specURL("server/tools#tool-names"), Seconds: 0.0001,
		Evidence: []harness.Line{
			{Seconds: 0.3, Arrow: "←", Text: `{"name":"get weather","inputSchema":{"type":"object"}}`},
		},
	}
}

func lesserDeviation() harness.Result {
	return harness.Result{
		ID: "jsonrpc/error-message", Title: "gives errors a message that says something",
		Level: harness.Advice, Verdict: harness.Fail,
		Message: "expected a message that says what was wrong\ngot \"\"", Spec: specURL("basic#responses"),
		Seconds:  0.003,
		Findings: []harness.Finding{{Want: "a message that says what was wrong", Got: `""`}},
	}
}

// maliciousResult is a fail with what a server might send against terminals, parsers and readers.
func maliciousResult() harness.Result {
	const said = "\x1b]0;pwned\a\x1b[2J ]]> <b>& \xff\xfe \u009b31m \u202egnp.exe\u2066 \x00\ufffe"
	return harness.Result{
		ID: "stdio/stdout-only-messages", Title: "writes nothing but messages to stdout",
		Level: harness.Must, Verdict: harness.Fail,
		Message:  "expected only JSON-RPC messages\ngot " + said,
		Findings: []harness.Finding{{Want: "only JSON-RPC messages", Got: said}},
		Subjects: []string{"line 1\x1b[31m", "line 2"},
		Spec:     specURL("basic/transports#stdio"), Seconds: 0.01,
		Fix: "Write logs to stderr.",
		Evidence: []harness.Line{
			{Seconds: 0.1, Arrow: "←", Text: "\x1b[1;31mStarting\x1b[0m…\r 50 %\ttab\b\x7f \xc3\x28 \u2028 日本語 🚀"},
			{Seconds: 0.2, Arrow: "←",
				Text: `{"jsonrpc":"2.0","method":"` + strings.Repeat("abcdefghij", 60) + `","params":{}}`},
			{Seconds: 0.3, Arrow: "·", Text: "exit status 0"},
		},
	}
}

func specURL(page string) string {
	return "https://modelcontextprotocol.io/specification/2025-11-25/" + page
}

// untestableReport is the report of a server that did not start.
func untestableReport() harness.Report {
	return harness.Report{
		SchemaVersion: 1,
		Program:       harness.ProgramInfo{Name: "mcpcheck", Version: "0.1.0"},
		Target:        harness.TargetInfo{Transport: "stdio", Command: []string{"node", "dist/index.js"}},
		Profile:       harness.Release,
		Started:       time.Date(2026, 9, 1, 10, 30, 0, 0, time.UTC),
		Seconds:       0.183,
		ExitCode:      harness.ExitUntestable,
		Problem: "the server exited with status 3 before it answered initialize; its last lines on stderr:\n" +
			"  Error: \x1b[31mAPI_KEY is not set\x1b[0m\n      at main (dist/index.js:12:9)\r\n",
	}
}

// conformingReport is the report of a server that passes.
func conformingReport() harness.Report {
	r := fullReport()
	r.ExitCode = harness.ExitConforms
	r.Revisions[0].Requested, r.Revisions[0].Revision = "2025-11-25", "2025-06-18"
	r.Results = filter(r.Results, func(x harness.Result) bool { return !x.Gates && x.Verdict != harness.Error })
	for i := range r.Results {
		r.Results[i].Revision = "2025-06-18"
	}
	return withDerivedFields(r)
}

// strictReport is a report in the profile strict, where more gates.
func strictReport() harness.Report {
	r := fullReport()
	r.Profile, r.ExitCode = harness.Strict, harness.ExitFails
	r.Results = filter(r.Results, func(x harness.Result) bool {
		return x.Verdict != harness.Error && x.ID != "stdio/stdout-only-messages"
	})
	return withDerivedFields(r)
}

// interruptedReport is a report of two revisions, interrupted in the second.
func interruptedReport() harness.Report {
	r := fullReport()
	r.ExitCode, r.Problem = harness.ExitInterrupted, "interrupted"
	r.Revisions = []harness.RevisionInfo{
		{Requested: "2025-06-18", Revision: "2025-06-18"},
		{Requested: "2025-11-25", Revision: "2025-11-25"},
	}
	r.Results = nil
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		results := []harness.Result{passed("jsonrpc/id-echoed", "echoes the id"), gatingMust(), nonGatingShould(),
			undecided("tools/call-result-schema", "returns schema-valid results of calls")}
		if revision == "2025-11-25" {
			results = results[:2]
		}
		for _, x := range results {
			x.Revision = revision
			x.Spec = strings.Replace(x.Spec, "2025-11-25", revision, 1)
			r.Results = append(r.Results, x)
		}
	}
	return withDerivedFields(r)
}

// baselineReport is a report with fails that the baseline lists, one of them flaky, and with entries of it that are
// stale.
func baselineReport() harness.Report {
	r := conformingReport()
	accepted, flaky := gatingMust(), checklistOnly()
	accepted.Known = &harness.KnownInfo{Reason: "waits for the SDK:\nissue @someone/sdk#12", Expires: "2026-12-31",
		Line: 4}
	flaky.Known = &harness.KnownInfo{Reason: "depends on the load of the machine", Flaky: true, Line: 9}
	r.Results = append(r.Results, accepted, flaky)
	r.Baseline = &harness.Baseline{File: "ci/mcpcheck-baseline.yaml", Stale: []harness.StaleEntry{
		{Entry: "tools/icons-*", Line: 14, Reason: "matches no requirement"},
		{Entry: "jsonrpc/id-echoed", Line: 17, Reason: "the check passes now"},
		{Entry: "jsonrpc/id-echoed", Line: 21, Reason: "expired on 2026-08-31"},
	}}
	r.ExitCode = harness.ExitFails
	return withDerivedFields(r)
}

// acceptedReport is a report of which all that would gate is in the baseline.
func acceptedReport() harness.Report {
	r := baselineReport()
	r.Baseline.Stale = nil
	r.ExitCode = harness.ExitConforms
	return withDerivedFields(r)
}

// excusedReport is a report of which all that would gate comes from two SDKs.
func excusedReport() harness.Report {
	r := conformingReport()
	one, other := gatingMust(), checklistOnly()
	one.SDK = &harness.SDKInfo{
		ID: "typescript-1", Name: "TypeScript SDK 1.x", Versions: "1.32",
		Issue: "https://github.com/modelcontextprotocol/typescript-sdk/issues/1510",
	}
	one.Fix = "Nothing in your code. Version 2 of the SDK answers with an error."
	other.SDK = &harness.SDKInfo{ID: "tmcp", Name: "tmcp", Versions: "1.20"}
	r.Results = append(r.Results, one, other)
	return withDerivedFields(r)
}

// recordedReport is a report of a record.
func recordedReport() harness.Report {
	r := conformingReport()
	r.Recorded = true
	return r
}

// crashingReport is a report of a server that dies, of tools that never work, and of failures that have one cause.
func crashingReport() harness.Report {
	r := conformingReport()
	r.ExitCode = harness.ExitFails
	r.Server.Tools = 5
	r.Coverage[0].UncalledTools = []harness.UncalledTool{{Name: "drop", Reason: harness.MarkedDestructive,
		Forbidden: true}}
	r.Coverage[0].CalledTools = []harness.ToolUse{
		{Name: "add", Answered: true, Works: true, Crashed: true}, {Name: "drop", Answered: true},
		{Name: "keys", Answered: true, Failed: true, Faulty: true, Message: "KeyError: 'API_KEY'\n  at line 3"},
		{Name: "read", Answered: true, Failed: true, Message: "no such file"},
		{Name: "wait", Silent: true},
	}
	traceback := []string{
		"Traceback (most recent call last):",
		`  File "py/server.py", line 21, in <module>`, "    m = json.loads(line)",
		`  File "/usr/lib/python3.11/json/decoder.py", line 353, in raw_decode`, "    obj, end = scan_once(s, idx)",
		"json.decoder.JSONDecodeError: Expecting ':' delimiter: line 1 column 13 (char 12)",
	}
	dead := func(id, title, session string, level harness.Level) harness.Result {
		return harness.Result{
			ID: id, Title: title, Level: level, Verdict: harness.Fail,
			Fix:      "Answer what is not JSON with error -32700.",
			Message:  "expected the following request answered\ngot the server exited with status 1",
			Findings: []harness.Finding{{Want: "the following request answered", Got: serverCrashed().Message}},
			Evidence: []harness.Line{
				{Session: session, Seconds: 0.1, Arrow: "→", Text: `{"mcpcheck" !!}`},
				{Session: session, Seconds: 0.1, Arrow: "→", Text: `{"jsonrpc":"2.0","id":3,"method":"ping"}`},
				{
					Session: session, Seconds: 0.2, Arrow: "·", Text: "the server exited with status 1",
					Stderr: traceback,
				},
			},
		}
	}
	unnamed := gatingMust()
	unnamed.ID, unnamed.Title = "tools/call-missing-name", "refuses a call without a name"
	unnamed.Evidence = slices.Clone(unnamed.Evidence)
	unnamed.Evidence[0].Text = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{}}}`
	r.Results = append(r.Results, checklistOnly(), gatingMust(), unnamed,
		dead("robust/survives-malformed-json", "survives input that is not a valid message", "1", harness.Must),
		dead("jsonrpc/parse-error-reported", "reports unparsable input", "2", harness.Should))
	return withDerivedFields(r)
}

// typicalReport is a report of a server that passes but for deviations of its SDK, as most do.
func typicalReport() harness.Report {
	r := excusedReport()
	r.Options = &harness.OptionsInfo{Protocol: "auto", Calls: harness.CallsSafe}
	r.Revisions[0].Requested = r.Revisions[0].Revision
	r.Coverage = []harness.Coverage{{
		Revision: "2025-06-18",
		UncalledTools: []harness.UncalledTool{
			{Name: "create_directory", Reason: harness.NotMarkedSafe, Forbidden: true},
			{Name: "edit_file", Reason: harness.MarkedDestructive, Forbidden: true},
			{Name: "move_file", Reason: harness.MarkedDestructive, Forbidden: true},
			{Name: "write_file", Reason: harness.MarkedDestructive, Forbidden: true},
		},
		InvalidCalls: &harness.InvalidCallCounts{Tried: 10, Destructive: 3},
		CalledTools: []harness.ToolUse{{Name: "read_file", Answered: true},
			{Name: "create_directory", Answered: true}},
	}}
	r.Results = append(r.Results, harness.Result{
		ID: "advice/tool-title-present", Title: "gives each tool a title", Level: harness.Advice, Verdict: harness.Fail,
		Message: "expected a title\ngot none", Findings: []harness.Finding{{Want: "a title", Got: "none"}},
	})
	return withDerivedFields(r)
}

// httpReport is a report with what carried the messages.
func httpReport() harness.Report {
	r := conformingReport()
	r.Target = harness.TargetInfo{Transport: "http", URL: "http://127.0.0.1:3001/mcp"}
	r.ExitCode = harness.ExitFails
	r.Results = append(r.Results[:1:1], harness.Result{
		ID: "http/origin-refused", Title: "refuses a foreign Origin", Level: harness.Must, Verdict: harness.Fail,
		Message: "expected status 403\ngot status 200", Spec: specURL("basic/transports#security-warning"),
		Seconds:  0.002,
		Findings: []harness.Finding{{Want: "status 403", Got: "status 200"}},
		Fix:      "Refuse requests whose Origin is not one that you expect with status 403.",
		Evidence: []harness.Line{
			{Seconds: 0.01, Arrow: "→", HTTP: "POST /mcp; origin: https://evil.example",
				Text: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
			{Seconds: 0.011, Arrow: "←", HTTP: "200 OK; content-type: text/event-stream"},
			{Seconds: 0.012, Arrow: "←", HTTP: "event; id: 7", Text: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		},
	})
	return withDerivedFields(r)
}

// largeReport is a report of more failures, with more evidence, than any page holds.
func largeReport() harness.Report {
	r := conformingReport()
	r.ExitCode = harness.ExitFails
	r.Baseline = &harness.Baseline{File: "baseline.yaml"}
	for i := range 240 {
		x := gatingMust()
		x.ID = fmt.Sprintf("tools/check-%d", i)
		if i%3 == 1 {
			x.Level = harness.Should
		}
		if i%3 == 2 {
			x.Known = &harness.KnownInfo{Reason: strings.Repeat("日本語 ", 100), Line: i}
		}
		x.Message += strings.Repeat("\nand 日本語 more", 50)
		for range 25 {
			x.Evidence = append(x.Evidence, harness.Line{Arrow: "←", Text: strings.Repeat("日本語 `|<", 30)})
		}
		r.Results = append(r.Results, x)
		r.Baseline.Stale = append(r.Baseline.Stale,
			harness.StaleEntry{Entry: x.ID, Line: i, Reason: "the check passes now"})
	}
	return withDerivedFields(r)
}

// maliciousText is a text that commands terminals, parsers, pages and workflows.
const maliciousText = "a\x1b]0;pwned\x07\x1b[31m\x9b2J\u009b2J\r\b\x00\x7f\u202e\xff\n" +
	"::set-output name=a::b\n  ::stop-commands::c\n##[add-mask]d %0A::error::e ]]> --> " +
	"<b>&amp; </details> <script> | \\| ` ``` ~~~ @someone #12 [x](http://evil.example) www.evil.example $x$\n" +
	"````\n~~~~\n\n# heading\n"

// maliciousReport is a report with evil texts wherever they can be.
func maliciousReport() harness.Report {
	result := func(v harness.Verdict, known *harness.KnownInfo) harness.Result {
		return harness.Result{
			ID: "tools/" + maliciousText, Title: maliciousText, Revision: maliciousText, Level: harness.Must,
			EntryLevel: harness.Must, Verdict: v,
			Gates: v == harness.Fail && known == nil, GatedBy: harness.GateMust, Known: known,
			Message:  maliciousText + "\nwant " + maliciousText + "\ngot " + maliciousText,
			Subjects: []string{maliciousText, "b"}, Spec: maliciousText, Fix: maliciousText,
			Findings: []harness.Finding{{Subject: maliciousText, Want: maliciousText, Got: maliciousText}},
			Evidence: []harness.Line{
				{Session: maliciousText, Arrow: maliciousText, HTTP: maliciousText, Text: maliciousText},
				{Arrow: "←", Text: maliciousText + "\n" + maliciousText},
			},
		}
	}
	r := harness.Report{
		Program: harness.ProgramInfo{Name: "mcpcheck", Version: maliciousText},
		Target:  harness.TargetInfo{Transport: "http", URL: maliciousText, Command: []string{maliciousText}},
		Server:  harness.ServerInfo{Name: maliciousText, Version: maliciousText, DiscoverError: maliciousText},
		Revisions: []harness.RevisionInfo{{Requested: maliciousText, Revision: maliciousText},
			{Requested: "x", Revision: "x"}},
		Profile:  harness.Release,
		Problem:  maliciousText + "\n" + maliciousText,
		ExitCode: harness.ExitUntestable,
		Baseline: &harness.Baseline{File: maliciousText,
			Stale: []harness.StaleEntry{{Entry: maliciousText, Line: 1, Reason: maliciousText}}},
	}
	for _, v := range harness.Verdicts {
		r.Results = append(r.Results, result(v, nil))
	}
	r.Results = append(r.Results,
		result(harness.Fail, &harness.KnownInfo{Reason: maliciousText, Expires: maliciousText, Line: 1}))
	excused := result(harness.Fail, nil)
	excused.Gates, excused.GatedBy = false, harness.NoGate
	excused.SDK = &harness.SDKInfo{ID: maliciousText, Name: maliciousText, Versions: maliciousText,
		Issue: maliciousText}
	r.Results = append(r.Results, excused)
	return r
}
