package reporters

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// message is a line of evidence decoded as JSON-RPC.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method any             `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	} `json:"error"`
}

func parseMessage(l report.Line) (m message, ok bool) {
	return m, json.Unmarshal([]byte(l.Text), &m) == nil
}

// sentText returns what was sent before the first finding of a failure: the first decisive request or, if the finding
// is the status of an HTTP response, the last request with this status. It is empty if there was no request.
func sentText(r report.Result) string {
	for _, l := range r.Evidence {
		switch {
		case !l.Decisive || l.Direction != report.Sent:
		case slices.Contains(httpAreas, r.Area()):
			return strings.TrimSpace(l.HTTP + " " + requestText(l))
		default:
			return requestText(l)
		}
	}
	_, got := wantGot(r)
	if found := httpStatusPattern.FindStringSubmatch(got); found != nil {
		return sentTextForStatus(r.Evidence, found[1])
	}
	return ""
}

// untruncated returns what a failure received. It completes a result that the check has cut, if the evidence contains
// it.
func untruncated(got string, wire []report.Line) string {
	head, tail, cut := strings.Cut(got, "…")
	if !cut || !strings.HasPrefix(head, "result {") {
		return got
	}
	for _, l := range wire {
		m, ok := parseMessage(l)
		var result map[string]any
		if !ok || !l.Decisive || json.Unmarshal(m.Result, &result) != nil {
			continue
		}
		if whole := "result " + compactJSON(result); strings.HasPrefix(whole, head) && strings.HasSuffix(whole, tail) {
			return whole
		}
	}
	return got
}

// compactJSON returns a value as checks write it.
func compactJSON(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // The value was decoded from JSON.
	return strings.TrimSuffix(b.String(), "\n")
}

// httpAreas are the areas in which the HTTP request says more than the message in it.
var httpAreas = []string{"http", "sse", "auth"}

// noAnswerPattern matches how a check reports a request without a response, with the reason.
var noAnswerPattern = regexp.MustCompile(`^no answer to (\S+?)(?:[:;] (.*))?(?: within .*)?$`)

// httpStatusPattern matches how a check reports an HTTP response.
var httpStatusPattern = regexp.MustCompile(`^(?:HTTP|status) (\d{3})\b`)

// sentTextForStatus returns the last HTTP request that was answered with a status.
func sentTextForStatus(wire []report.Line, status string) string {
	for i, l := range slices.Backward(wire) {
		if l.Direction != report.Received || !strings.HasPrefix(l.HTTP, status) {
			continue
		}
		for _, sent := range slices.Backward(wire[:i]) {
			if sent.Direction == report.Sent && sent.HTTP != "" && sent.Session == l.Session {
				return strings.TrimSpace(sent.HTTP + " " + requestText(sent))
			}
		}
	}
	return ""
}

// requestText returns a request as people write it: its method and its params, without what every request contains. It
// returns other messages unchanged.
func requestText(l report.Line) string {
	m, ok := parseMessage(l)
	method, named := m.Method.(string)
	var whole map[string]json.RawMessage
	if !ok || !named || m.ID == nil || json.Unmarshal([]byte(l.Text), &whole) != nil || len(whole) > 4 ||
		string(whole["jsonrpc"]) != `"2.0"` {
		return l.Text
	}
	params := map[string]json.RawMessage{}
	if json.Unmarshal(m.Params, &params) == nil {
		delete(params, "_meta")
		if m.Params, _ = json.Marshal(params); len(params) == 0 {
			m.Params = nil
		}
	}
	return strings.TrimSpace(method + " " + string(m.Params))
}

// generatedNames match the names that checks make up anew in each run, and whatever else distinguishes equal responses.
var generatedNames = regexp.MustCompile(`mcpcheck[_-][\w-]+`)

// causeKey returns a key that is the same for failures with the same cause: the same response to requests of the same
// method, or the same crash. Other failures have unique keys.
func causeKey(r report.Result) string {
	if r.Verdict == catalogue.Inconclusive {
		return "inconclusive\x00" + headline(r.Message)
	}
	if all := crashesOf(r); len(all) > 0 {
		return "crash\x00" + all[0].key()
	}
	sent := sentText(r)
	_, got := wantGot(r)
	if sent == "" || r.Verdict != catalogue.Fail {
		return r.ID
	}
	if found := noAnswerPattern.FindStringSubmatch(got); found != nil && found[2] != "" {
		return "no answer\x00" + found[2]
	}
	method, _, _ := strings.Cut(sent, " ")
	return method + "\x00" + generatedNames.ReplaceAllString(got, "")
}

// crash is an unexpected end of the server, or several with the same cause.
type crash struct {
	description string // such as "the server exited with status 1"
	// input is the last message before the crash.
	input string
	// tool is the tool that the input calls.
	tool string
	// malformed means that the input is not a message of the protocol.
	malformed bool
	// invalid means that no client sends the input.
	invalid bool
	// stderrLines are the most informative lines of the server's stderr.
	stderrLines []string

	// inputs are all inputs that led to the crash, without made-up names.
	inputs []string
	// checks are the ids of the checks that observed the crash.
	checks []string
}

// key distinguishes crashes: by stderrLines, or by the input if there are none.
func (c crash) key() string {
	if len(c.stderrLines) == 0 {
		return c.inputKey()
	}
	return c.description + "\x00" + stableText(c.stderrLines[0]) + "\x00" + strings.Join(c.stderrLines[1:], "\x00")
}

// inputKey distinguishes crashes without stderrLines.
func (c crash) inputKey() string { return c.description + "\x00" + stableText(c.input) }

// stableText removes what differs in each run from a text: made-up names and numbers, and with them times.
func stableText(s string) string {
	return digits.ReplaceAllString(generatedNames.ReplaceAllString(s, ""), "")
}

var digits = regexp.MustCompile(`\d+`)

// distinctCrashes returns the crashes in the evidence of results, one for each cause: first those by tool calls, last
// those by messages that no client sends. A crash without stderrLines is the one with the same input.
func distinctCrashes(results []report.Result) (all []crash) {
	at := map[string]int{}
	for _, mute := range []bool{false, true} {
		for _, r := range results {
			for _, c := range crashesOf(r) {
				if mute != (len(c.stderrLines) == 0) {
					continue
				}
				i, found := at[c.key()]
				if !found {
					i, all = len(all), append(all, c)
				}
				at[c.key()], at[c.inputKey()] = i, i
				all[i].add(stableText(c.input), r.ID)
			}
		}
	}
	for i, c := range all {
		all[i].invalid = c.malformed || !slices.ContainsFunc(c.checks, isNotRobustness)
	}
	slices.SortStableFunc(all, func(a, b crash) int { return cmp.Compare(a.rank(), b.rank()) })
	return all
}

// isNotRobustness reports whether a check sends only what clients send.
func isNotRobustness(id string) bool { return !strings.HasPrefix(id, "robust/") }

// add adds an input and the check that observed it.
func (c *crash) add(input, check string) {
	if !slices.Contains(c.inputs, input) {
		c.inputs = append(c.inputs, input)
	}
	if !slices.Contains(c.checks, check) {
		c.checks = append(c.checks, check)
	}
}

func (c crash) rank() int {
	switch {
	case c.invalid:
		return 2
	case c.tool == "":
		return 1
	}
	return 0
}

// mergeCrashes returns the first of some crashes with the inputs and checks of all.
func mergeCrashes(all []crash) crash {
	one := all[0]
	one.inputs, one.checks = slices.Clone(one.inputs), slices.Clone(one.checks)
	for _, c := range all[1:] {
		one.malformed = one.malformed && c.malformed
		for _, input := range c.inputs {
			one.add(input, c.checks[0])
		}
		for _, check := range c.checks {
			one.add(c.inputs[0], check)
		}
	}
	if robust := slices.DeleteFunc(slices.Clone(one.checks), isNotRobustness); len(robust) > 0 {
		one.checks = robust
	}
	return one
}

// crashesOf returns the crashes in the evidence of a result.
func crashesOf(r report.Result) (all []crash) {
	if r.Verdict == catalogue.Pass || r.Verdict == catalogue.Error {
		return nil
	}
	begin, ending := 0, false // of a session, and whether it was asked to end
	for i, l := range r.Evidence {
		if l.Session != r.Evidence[begin].Session || l.Seconds < r.Evidence[max(i-1, 0)].Seconds {
			begin, ending = i, false
		}
		switch {
		case l.Direction != report.Event:
		case l.Text == "stdin closed" || strings.HasSuffix(l.Text, " sent"):
			ending = true
		case !ending && crashPattern.MatchString(l.Text):
			input := lastUnanswered(r.Evidence[begin:i])
			tool, malformed := parseInput(input)
			all = append(all, crash{
				description: l.Text, input: requestText(input), stderrLines: text.CrashLines(l.Stderr), tool: tool,
				malformed: malformed,
			})
		}
	}
	return all
}

// crashPattern matches how the end of a process is reported that is a crash.
var crashPattern = regexp.MustCompile(`^the server (exited with status [1-9]|was (killed|ended) by)`)

// lastUnanswered returns the last request before a line that had no response. Of several concurrent ones it returns the
// first, because checks send a no-op request after the one that they test.
func lastUnanswered(wire []report.Line) (input report.Line) {
	for _, l := range slices.Backward(wire) {
		switch {
		case l.Direction == report.Sent:
			input = l
		case input.Text != "":
			return input
		}
	}
	return input
}

// parseInput returns the tool that a message calls, unless its name is made up, and whether the message is malformed,
// as far as the evidence has it.
func parseInput(l report.Line) (tool string, malformed bool) {
	var m map[string]any
	if l.Text == "" || l.Truncated {
		return "", false
	}
	if json.Unmarshal([]byte(l.Text), &m) != nil {
		return "", true
	}
	method, named := m["method"].(string)
	if m["jsonrpc"] != "2.0" || !named && m["result"] == nil && m["error"] == nil {
		return "", true
	}
	params, _ := m["params"].(map[string]any)
	if name, _ := params["name"].(string); method == "tools/call" && !generatedNames.MatchString(name) {
		tool = name
	}
	return tool, false
}
