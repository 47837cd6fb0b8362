package reporters

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// fullReport returns a report with every verdict, every reason to block under the profile release, and text with
// special characters.
func fullReport() report.Report {
	r := report.Report{
		SchemaVersion: 1,
		Program:       catalogue.ProgramInfo{Name: "mcpcheck", Version: "0.1.0"},
		Target: report.TargetInfo{
			Transport: "stdio", Command: []string{"node", "dist/index.js", "--root", "my files"},
		},
		Server: report.ServerInfo{
			Name: "server-everything", Version: "2.0.0", Capabilities: []string{"logging", "tools"}, Tools: 11,
		},
		Revisions: []report.RevisionInfo{{Requested: "2025-11-25", Revision: "2025-11-25"}},
		Profile:   catalogue.Release,
		Options: &report.OptionsInfo{
			Configuration: "mcpcheck.yaml", Protocol: "auto", Calls: report.CallsSafe, Only: []string{"must"},
			Skip:    []report.Exclusion{{Check: "robust", Reason: "the gateway refuses it"}, {Check: "ping"}},
			Timeout: 5, StartTimeout: 15, Budget: 300, MaxMessage: 16 << 20, Jobs: 8, Isolate: true, Seed: 3,
		},
		Coverage: []report.Coverage{{
			Revision: "2025-11-25", Requirements: 60,
			Tried: 9, NotApplicable: 20, NotTried: 3, Excluded: 8, NotChecked: 20,
			Unexercised: []string{"logging"},
			UncalledTools: []report.UncalledTool{
				{Name: "ask", Reason: report.NotMarkedSafe, Forbidden: true},
				{Name: "drop", Reason: report.MarkedDestructive, Forbidden: true},
				{Name: "grow", Reason: report.NotMarkedSafe, Forbidden: true},
			},
			InvalidCalls: &report.InvalidCallCounts{Tried: 4, Unmarked: 2, Destructive: 1},
			CalledTools: []report.ToolUse{
				{Name: "add", Answered: true, Failed: true, Message: "a is not a number"}, {Name: "echo"},
			},
		}},
		Started:  time.Date(2026, 9, 1, 12, 30, 0, 0, time.FixedZone("CEST", 2*60*60)),
		Seconds:  1.2345,
		ExitCode: report.ExitInternal,
		Results: []report.Result{
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
				ID: "tools/input-schema-valid", Title: "gives every tool a valid input schema", Level: catalogue.Must,
				Verdict: catalogue.Fail, Spec: specURL("server/tools#tool"), Seconds: 0.001,
				Subjects: []string{"add", "echo", "get-weather", "list-files", "make-coffee", "print-env", "zip"},
				Message: "add:\n" +
					"  want inputSchema valid by draft 2020-12\n  got at /properties/a/type: \"int\" is no type\n" +
					"echo:\n" +
					"  expected inputSchema valid by draft 2020-12\n  got at /required: expected an array",
				Findings: []report.Finding{
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
				ID: "robust/deep-nesting", Title: "survives deeply nested input", Level: catalogue.Must,
				Verdict: catalogue.Error, Seconds: 0.002,
				Message: "panic: runtime error: index out of range [3] with length 3",
			},
		},
	}
	return withDerivedFields(r)
}

// withDerivedFields sets what the harness derives: revision, blocking results, counts.
func withDerivedFields(r report.Report) report.Report {
	for i := range r.Results {
		x := &r.Results[i]
		if x.Revision == "" {
			x.Revision = r.Revisions[0].Revision
		}
		entry := x.Level
		if x.ID == "jsonrpc/error-message" {
			entry = catalogue.Must
		}
		x.EntryLevel = entry
		x.GatedBy = r.Profile.Gate(x.Verdict, x.Level, entry, x.ID == "lifecycle/requests-gated", nil)
		if x.Known != nil || x.SDK != nil {
			x.GatedBy = catalogue.NoGate
		}
		x.Gates = x.GatedBy != catalogue.NoGate
		for i, line := range x.Evidence {
			x.Evidence[i].Direction = directions[line.Arrow]
		}
	}
	r.Counts = report.Count(r.Results)
	r.Counts.Stale = len(staleBaseline(r))
	return r
}

var directions = map[string]report.Direction{"→": report.Sent, "←": report.Received, "·": report.Event}

const validSchema = "inputSchema valid by draft 2020-12"

func passed(id, title string) report.Result {
	return report.Result{
		ID: id, Title: title, Level: catalogue.Must, Verdict: catalogue.Pass, Spec: specURL("basic"), Seconds: 0.0042,
		Evidence: []report.Line{
			{Seconds: 0.2, Arrow: "→", Text: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
			{Seconds: 0.204, Arrow: "←", Text: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		},
	}
}

// partiallyPassed returns a partial pass.
func partiallyPassed(id, title string) report.Result {
	r := passed(id, title)
	r.Message = "2 of 9 could not be tested (sum: its schema cannot be read: (?<!a)b; fail: it fails anyway)"
	return r
}

func skipped(id, title, reason string) report.Result {
	return report.Result{
		ID: id, Title: title, Level: catalogue.Must, Verdict: catalogue.Skip, Reason: report.NotOffered,
		Message: reason,
	}
}

func undecided(id, title string) report.Result {
	return report.Result{
		ID: id, Title: title, Level: catalogue.Must, Verdict: catalogue.Inconclusive, Reason: report.CallsOff,
		Message: "no tool is marked read-only, so none was called with valid arguments: " +
			"give examples in mcpcheck.yaml, or --calls all",
	}
}

func serverCrashed() report.Result {
	return report.Result{
		ID: "robust/huge-message", Title: "survives a message of 10 MiB",
		Level: catalogue.Should, Verdict: catalogue.Inconclusive, Reason: report.Died,
		Message: "the server was killed by signal 9; its last lines on stderr:\n" +
			"  <--- Last few GCs --->\n  FATAL ERROR: Reached heap limit Allocation failed",
		Evidence: []report.Line{{Seconds: 4.25, Arrow: "·", Text: "killed by signal 9", Truncated: true}},
	}
}

func gatingMust() report.Result {
	const result = `{"content":[{"type":"text","text":"MCP error -32602: Tool mcpcheck-no-such-tool not found"}],` +
		`"isError":true}`
	return report.Result{
		ID: "tools/unknown-tool-code", Title: "answers a call of an unknown tool with error -32602",
		Level: catalogue.Must, Verdict: catalogue.Fail,
		Message:  "expected error -32602\ngot result " + result,
		Findings: []report.Finding{{Want: "error -32602", Got: "result " + result}},
		Spec:     specURL("server/tools#error-handling"),
		Fix: "Answer tools/call of a name that tools/list does not have with a JSON-RPC error of code -32602, " +
			"not with a result. SDKs that do it for you have a switch for it or a newer version.",
		Seconds: 0.0061,
		Evidence: []report.Line{
			{Seconds: 0.41, Arrow: "→", Decisive: true, Text: `{"jsonrpc":"2.0","id":7,"method":"tools/call",` +
				`"params":{"name":"mcpcheck-no-such-tool","arguments":{}}}`},
			{Seconds: 0.416, Arrow: "←", Decisive: true, Text: `{"jsonrpc":"2.0","id":7,"result":` + result + `}`},
		},
	}
}

func checklistOnly() report.Result {
	r := report.Result{
		ID: "lifecycle/requests-gated", Title: "refuses requests before initialize",
		Level: catalogue.Should, Verdict: catalogue.Fail,
		Message:  "expected an error\ngot result {\"tools\":[]}",
		Findings: []report.Finding{{Want: "an error", Got: `result {"tools":[]}`}},
		Spec:     specURL("basic/lifecycle#initialization"),
		Fix:      "Refuse requests other than ping until initialize was answered.",
		Seconds:  0.225,
	}
	for i := range 9 { // more than is shown, in two sessions
		session := []string{"1", "2"}[i/5]
		r.Evidence = append(r.Evidence,
			report.Line{
				Session: session, Seconds: float64(i) / 100, Arrow: "→", Decisive: i == 8,
				Text: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			},
			report.Line{
				Session: session, Seconds: float64(i)/100 + 0.001, Arrow: "←", Decisive: i == 8,
				Text: `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`,
			})
	}
	return r
}

func nonGatingShould() report.Result {
	return report.Result{
		ID: "tools/name-characters", Title: "names tools with letters, digits, _ - and . only",
		Level: catalogue.Should, Verdict: catalogue.Fail,
		Message:  "get weather:\n  expected only A-Z a-z 0-9 _ - .\n  got a space at 3",
		Findings: []report.Finding{{Subject: "get weather", Want: "only A-Z a-z 0-9 _ - .", Got: "a space at 3"}},
		Subjects: []string{"get weather"},
		Spec:     specURL("server/tools#tool-names"), Seconds: 0.0001,
		Evidence: []report.Line{
			{Seconds: 0.3, Arrow: "←", Text: `{"name":"get weather","inputSchema":{"type":"object"}}`},
		},
	}
}

func lesserDeviation() report.Result {
	return report.Result{
		ID: "jsonrpc/error-message", Title: "gives errors a message that says something",
		Level: catalogue.Advice, Verdict: catalogue.Fail,
		Message: "expected a message that says what was wrong\ngot \"\"", Spec: specURL("basic#responses"),
		Seconds:  0.003,
		Findings: []report.Finding{{Want: "a message that says what was wrong", Got: `""`}},
	}
}

// maliciousResult returns a failure with text that attacks terminals, parsers and readers.
func maliciousResult() report.Result {
	const said = "\x1b]0;pwned\a\x1b[2J ]]> <b>& \xff\xfe \u009b31m \u202egnp.exe\u2066 \x00\ufffe"
	return report.Result{
		ID: "stdio/stdout-only-messages", Title: "writes nothing but messages to stdout",
		Level: catalogue.Must, Verdict: catalogue.Fail,
		Message:  "expected only JSON-RPC messages\ngot " + said,
		Findings: []report.Finding{{Want: "only JSON-RPC messages", Got: said}},
		Subjects: []string{"line 1\x1b[31m", "line 2"},
		Spec:     specURL("basic/transports#stdio"), Seconds: 0.01,
		Fix: "Write logs to stderr.",
		Evidence: []report.Line{
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

// untestableReport returns the report of a server that did not start.
func untestableReport() report.Report {
	return report.Report{
		SchemaVersion: 1,
		Program:       catalogue.ProgramInfo{Name: "mcpcheck", Version: "0.1.0"},
		Target:        report.TargetInfo{Transport: "stdio", Command: []string{"node", "dist/index.js"}},
		Profile:       catalogue.Release,
		Started:       time.Date(2026, 9, 1, 10, 30, 0, 0, time.UTC),
		Seconds:       0.183,
		ExitCode:      report.ExitUntestable,
		Problem: "the server exited with status 3 before it answered initialize; its last lines on stderr:\n" +
			"  Error: \x1b[31mAPI_KEY is not set\x1b[0m\n      at main (dist/index.js:12:9)\r\n",
	}
}

// conformingReport returns the report of a server that passes.
func conformingReport() report.Report {
	r := fullReport()
	r.ExitCode = report.ExitConforms
	r.Revisions[0].Requested, r.Revisions[0].Revision = "2025-11-25", "2025-06-18"
	r.Results = filter(r.Results, func(x report.Result) bool { return !x.Gates && x.Verdict != catalogue.Error })
	for i := range r.Results {
		r.Results[i].Revision = "2025-06-18"
	}
	return withDerivedFields(r)
}

// strictReport returns a report of the profile strict, under which more results block.
func strictReport() report.Report {
	r := fullReport()
	r.Profile, r.ExitCode = catalogue.Strict, report.ExitFails
	r.Results = filter(r.Results, func(x report.Result) bool {
		return x.Verdict != catalogue.Error && x.ID != "stdio/stdout-only-messages"
	})
	return withDerivedFields(r)
}

// interruptedReport returns a report of two revisions, interrupted in the second.
func interruptedReport() report.Report {
	r := fullReport()
	r.ExitCode, r.Problem = report.ExitInterrupted, "interrupted"
	r.Revisions = []report.RevisionInfo{
		{Requested: "2025-06-18", Revision: "2025-06-18"},
		{Requested: "2025-11-25", Revision: "2025-11-25"},
	}
	r.Results = nil
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		results := []report.Result{passed("jsonrpc/id-echoed", "echoes the id"), gatingMust(), nonGatingShould(),
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

// baselineReport returns a report with failures that the baseline lists, one of them flaky, and with stale entries.
func baselineReport() report.Report {
	r := conformingReport()
	accepted, flaky := gatingMust(), checklistOnly()
	accepted.Known = &report.KnownInfo{Reason: "waits for the SDK:\nissue @someone/sdk#12", Expires: "2026-12-31",
		Line: 4}
	flaky.Known = &report.KnownInfo{Reason: "depends on the load of the machine", Flaky: true, Line: 9}
	r.Results = append(r.Results, accepted, flaky)
	r.Baseline = &report.Baseline{File: "ci/mcpcheck-baseline.yaml", Stale: []report.StaleEntry{
		{Entry: "tools/icons-*", Line: 14, Reason: "matches no requirement"},
		{Entry: "jsonrpc/id-echoed", Line: 17, Reason: "the check passes now"},
		{Entry: "jsonrpc/id-echoed", Line: 21, Reason: "expired on 2026-08-31"},
	}}
	r.ExitCode = report.ExitFails
	return withDerivedFields(r)
}

// acceptedReport returns a report in which the baseline lists all that would block.
func acceptedReport() report.Report {
	r := baselineReport()
	r.Baseline.Stale = nil
	r.ExitCode = report.ExitConforms
	return withDerivedFields(r)
}

// excusedReport returns a report in which all that would block comes from two SDKs.
func excusedReport() report.Report {
	r := conformingReport()
	one, other := gatingMust(), checklistOnly()
	one.SDK = &report.SDKInfo{
		ID: "typescript-1", Name: "TypeScript SDK 1.x", Versions: "1.32",
		Issue: "https://github.com/modelcontextprotocol/typescript-sdk/issues/1510",
	}
	one.Fix = "Nothing in your code. Version 2 of the SDK answers with an error."
	other.SDK = &report.SDKInfo{ID: "tmcp", Name: "tmcp", Versions: "1.20"}
	r.Results = append(r.Results, one, other)
	return withDerivedFields(r)
}

// recordedReport returns a report of a recording.
func recordedReport() report.Report {
	r := conformingReport()
	r.Recorded = true
	return r
}

// crashingReport returns a report of a server that crashes, with tools that never work and failures that have one
// cause.
func crashingReport() report.Report {
	r := conformingReport()
	r.ExitCode = report.ExitFails
	r.Server.Tools = 5
	r.Coverage[0].UncalledTools = []report.UncalledTool{{Name: "drop", Reason: report.MarkedDestructive,
		Forbidden: true}}
	r.Coverage[0].CalledTools = []report.ToolUse{
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
	dead := func(id, title, session string, level catalogue.Level) report.Result {
		return report.Result{
			ID: id, Title: title, Level: level, Verdict: catalogue.Fail,
			Fix:      "Answer what is not JSON with error -32700.",
			Message:  "expected the following request answered\ngot the server exited with status 1",
			Findings: []report.Finding{{Want: "the following request answered", Got: serverCrashed().Message}},
			Evidence: []report.Line{
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
		dead("robust/survives-malformed-json", "survives input that is not a valid message", "1", catalogue.Must),
		dead("jsonrpc/parse-error-reported", "reports unparsable input", "2", catalogue.Should))
	return withDerivedFields(r)
}

// typicalReport returns a report of a typical server, which passes except for deviations of its SDK.
func typicalReport() report.Report {
	r := excusedReport()
	r.Options = &report.OptionsInfo{Protocol: "auto", Calls: report.CallsSafe}
	r.Revisions[0].Requested = r.Revisions[0].Revision
	r.Coverage = []report.Coverage{{
		Revision: "2025-06-18",
		UncalledTools: []report.UncalledTool{
			{Name: "create_directory", Reason: report.NotMarkedSafe, Forbidden: true},
			{Name: "edit_file", Reason: report.MarkedDestructive, Forbidden: true},
			{Name: "move_file", Reason: report.MarkedDestructive, Forbidden: true},
			{Name: "write_file", Reason: report.MarkedDestructive, Forbidden: true},
		},
		InvalidCalls: &report.InvalidCallCounts{Tried: 10, Destructive: 3},
		CalledTools: []report.ToolUse{{Name: "read_file", Answered: true},
			{Name: "create_directory", Answered: true}},
	}}
	r.Results = append(r.Results, report.Result{
		ID: "advice/tool-title-present", Title: "gives each tool a title", Level: catalogue.Advice,
		Verdict: catalogue.Fail,
		Message: "expected a title\ngot none", Findings: []report.Finding{{Want: "a title", Got: "none"}},
	})
	return withDerivedFields(r)
}

// httpReport returns a report with HTTP requests in its evidence.
func httpReport() report.Report {
	r := conformingReport()
	r.Target = report.TargetInfo{Transport: "http", URL: "http://127.0.0.1:3001/mcp"}
	r.ExitCode = report.ExitFails
	r.Results = append(r.Results[:1:1], report.Result{
		ID: "http/origin-refused", Title: "refuses a foreign Origin", Level: catalogue.Must, Verdict: catalogue.Fail,
		Message: "expected status 403\ngot status 200", Spec: specURL("basic/transports#security-warning"),
		Seconds:  0.002,
		Findings: []report.Finding{{Want: "status 403", Got: "status 200"}},
		Fix:      "Refuse requests whose Origin is not one that you expect with status 403.",
		Evidence: []report.Line{
			{Seconds: 0.01, Arrow: "→", HTTP: "POST /mcp; origin: https://evil.example",
				Text: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
			{Seconds: 0.011, Arrow: "←", HTTP: "200 OK; content-type: text/event-stream"},
			{Seconds: 0.012, Arrow: "←", HTTP: "event; id: 7", Text: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		},
	})
	return withDerivedFields(r)
}

// largeReport returns a report with more failures and evidence than any page has room for.
func largeReport() report.Report {
	r := conformingReport()
	r.ExitCode = report.ExitFails
	r.Baseline = &report.Baseline{File: "baseline.yaml"}
	for i := range 240 {
		x := gatingMust()
		x.ID = fmt.Sprintf("tools/check-%d", i)
		if i%3 == 1 {
			x.Level = catalogue.Should
		}
		if i%3 == 2 {
			x.Known = &report.KnownInfo{Reason: strings.Repeat("日本語 ", 100), Line: i}
		}
		x.Message += strings.Repeat("\nand 日本語 more", 50)
		for range 25 {
			x.Evidence = append(x.Evidence, report.Line{Arrow: "←", Text: strings.Repeat("日本語 `|<", 30)})
		}
		r.Results = append(r.Results, x)
		r.Baseline.Stale = append(r.Baseline.Stale,
			report.StaleEntry{Entry: x.ID, Line: i, Reason: "the check passes now"})
	}
	return withDerivedFields(r)
}

// maliciousText is a text that attacks terminals, parsers, pages and workflows.
const maliciousText = "a\x1b]0;pwned\x07\x1b[31m\x9b2J\u009b2J\r\b\x00\x7f\u202e\xff\n" +
	"::set-output name=a::b\n  ::stop-commands::c\n##[add-mask]d %0A::error::e ]]> --> " +
	"<b>&amp; </details> <script> | \\| ` ``` ~~~ @someone #12 [x](http://evil.example) www.evil.example $x$\n" +
	"````\n~~~~\n\n# heading\n"

// maliciousReport returns a report with malicious texts in all fields.
func maliciousReport() report.Report {
	result := func(v catalogue.Verdict, known *report.KnownInfo) report.Result {
		return report.Result{
			ID: "tools/" + maliciousText, Title: maliciousText, Revision: maliciousText, Level: catalogue.Must,
			EntryLevel: catalogue.Must, Verdict: v,
			Gates: v == catalogue.Fail && known == nil, GatedBy: catalogue.GateMust, Known: known,
			Message:  maliciousText + "\nwant " + maliciousText + "\ngot " + maliciousText,
			Subjects: []string{maliciousText, "b"}, Spec: maliciousText, Fix: maliciousText,
			Findings: []report.Finding{{Subject: maliciousText, Want: maliciousText, Got: maliciousText}},
			Evidence: []report.Line{
				{Session: maliciousText, Arrow: maliciousText, HTTP: maliciousText, Text: maliciousText},
				{Arrow: "←", Text: maliciousText + "\n" + maliciousText},
			},
		}
	}
	r := report.Report{
		Program: catalogue.ProgramInfo{Name: "mcpcheck", Version: maliciousText},
		Target:  report.TargetInfo{Transport: "http", URL: maliciousText, Command: []string{maliciousText}},
		Server:  report.ServerInfo{Name: maliciousText, Version: maliciousText, DiscoverError: maliciousText},
		Revisions: []report.RevisionInfo{{Requested: maliciousText, Revision: maliciousText},
			{Requested: "x", Revision: "x"}},
		Profile:  catalogue.Release,
		Problem:  maliciousText + "\n" + maliciousText,
		ExitCode: report.ExitUntestable,
		Baseline: &report.Baseline{File: maliciousText,
			Stale: []report.StaleEntry{{Entry: maliciousText, Line: 1, Reason: maliciousText}}},
	}
	for _, v := range catalogue.Verdicts {
		r.Results = append(r.Results, result(v, nil))
	}
	r.Results = append(r.Results,
		result(catalogue.Fail, &report.KnownInfo{Reason: maliciousText, Expires: maliciousText, Line: 1}))
	excused := result(catalogue.Fail, nil)
	excused.Gates, excused.GatedBy = false, catalogue.NoGate
	excused.SDK = &report.SDKInfo{ID: maliciousText, Name: maliciousText, Versions: maliciousText,
		Issue: maliciousText}
	r.Results = append(r.Results, excused)
	return r
}
