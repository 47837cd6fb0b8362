package reporters

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// message is a line of the wire as far as it is JSON-RPC.
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

func messageOf(l harness.Line) (m message, ok bool) {
	return m, json.Unmarshal([]byte(l.Text), &m) == nil
}

// sentFor is what was sent when the first finding of a failure came back: the first request that decided or, where the
// finding is the status of an answer over HTTP, the last one that has it. It is empty where nothing was sent for it.
func sentFor(r harness.Result) string {
	for _, l := range r.Wire {
		switch {
		case !l.Decisive || l.Direction != harness.Sent:
		case slices.Contains(aboutHTTP, r.Area()):
			return strings.TrimSpace(l.HTTP + " " + requestText(l))
		default:
			return requestText(l)
		}
	}
	_, got := wantGot(r)
	if found := httpStatus.FindStringSubmatch(got); found != nil {
		return sentForStatus(r.Wire, found[1])
	}
	return ""
}

// aboutHTTP are the areas of which a request over HTTP tells more than its message.
var aboutHTTP = []string{"http", "sse", "auth"}

// noAnswer is how a check tells of a request without an answer, and why it has none.
var noAnswer = regexp.MustCompile(`^no answer to (\S+?)(?:[:;] (.*))?(?: within .*)?$`)

// httpStatus is how a check tells of an answer over HTTP.
var httpStatus = regexp.MustCompile(`^(?:HTTP|status) (\d{3})\b`)

// sentForStatus is the last request over HTTP that was answered with the status.
func sentForStatus(wire []harness.Line, status string) string {
	for i, l := range slices.Backward(wire) {
		if l.Direction != harness.Received || !strings.HasPrefix(l.HTTP, status) {
			continue
		}
		for _, sent := range slices.Backward(wire[:i]) {
			if sent.Direction == harness.Sent && sent.HTTP != "" && sent.Session == l.Session {
				return strings.TrimSpace(sent.HTTP + " " + requestText(sent))
			}
		}
	}
	return ""
}

// requestText is a request as people write it: its method and its params, without what every request carries. What is
// not a request stays as it was on the wire.
func requestText(l harness.Line) string {
	m, ok := messageOf(l)
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

// madeUp are the names that checks make up anew in each run, and whatever else tells equal answers apart.
var madeUp = regexp.MustCompile(`mcpcheck[_-][\w-]+`)

// causeOf is the key of failures that have one cause: the same answer to requests of the same method, or the same
// crash. Others have causes of their own.
func causeOf(r harness.Result) string {
	if r.Verdict == harness.Inconclusive {
		return "inconclusive\x00" + headline(r.Message)
	}
	if all := crashesOf(r); len(all) > 0 {
		return "crash\x00" + all[0].key()
	}
	sent := sentFor(r)
	_, got := wantGot(r)
	if sent == "" || r.Verdict != harness.Fail {
		return r.ID
	}
	if found := noAnswer.FindStringSubmatch(got); found != nil && found[2] != "" {
		return "no answer\x00" + found[2]
	}
	method, _, _ := strings.Cut(sent, " ")
	return method + "\x00" + madeUp.ReplaceAllString(got, "")
}

// crash is the end of a server that nobody asked for.
type crash struct {
	how   string   // the server exited with status 1
	input string   // that came before it
	told  []string // the lines of its stderr that tell most
}

// key tells crashes apart.
func (c crash) key() string { return c.how + "\x00" + strings.Join(c.told, "\x00") }

// crashesOf are the crashes in the evidence of a result.
func crashesOf(r harness.Result) (all []crash) {
	if r.Verdict == harness.Pass || r.Verdict == harness.Error {
		return nil
	}
	begin, ending := 0, false // of the session, which was asked to end
	for i, l := range r.Wire {
		if l.Session != r.Wire[begin].Session || l.Seconds < r.Wire[max(i-1, 0)].Seconds {
			begin, ending = i, false
		}
		switch {
		case l.Direction != harness.Happened:
		case l.Text == "stdin closed" || strings.HasSuffix(l.Text, " sent"):
			ending = true
		case !ending && crashed.MatchString(l.Text):
			all = append(all, crash{l.Text, inputBefore(r.Wire[begin:i]), text.Telling(l.Stderr)})
		}
	}
	return all
}

// crashed is how the end of a process is told that is one of a crash.
var crashed = regexp.MustCompile(`^the server (exited with status [1-9]|was (killed|ended) by)`)

// inputBefore is what was sent last before a line and had no answer: of several at once the first, since checks send a
// request behind what they try.
func inputBefore(wire []harness.Line) (input string) {
	for _, l := range slices.Backward(wire) {
		switch {
		case l.Direction == harness.Sent:
			input = requestText(l)
		case input != "":
			return input
		}
	}
	return input
}
