package jsonrpc

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// maxConcurrent is how many tools are called at a time, and maxSequential how many are called alone to find as many
// that differ.
const (
	maxConcurrent = 10
	maxSequential = 2 * maxConcurrent
)

// expectOwnResults repeats valid calls of read-only tools, each alone, and then all at a time, under ids of mixed types
// where strings are served. It wants an answer under each, and none that is what another tool has returned alone. A
// tool whose results change from call to call proves nothing. Where there is a handshake, the calls have a session of
// their own: what else they do to it is not held against the server.
func expectOwnResults(t *check.T, valid []toolcall.ToolCall, named bool) {
	s := t.Session()
	calls, toolOf := distinctCalls(valid, s)
	mark := s.Mark()
	var all []driver.Pending
	for i, c := range calls {
		var id any
		if named && i%2 == 0 {
			id = fmt.Sprintf("%s%d-%d", invalid.PipelinedIDPrefix, mark, i)
		}
		all = append(all, resend(s, id, c))
	}
	for i, p := range all {
		c, e := calls[i], invalid.AwaitWithBarrier(s, mark, p, s.ReplyTimeout())
		e.RequireNotBlocked(t)
		expectID(t, driver.Reply{}, e) // an error is an answer: there may be a limit for calls
		other, known := toolOf[resultText(e.Reply)]
		if !known || other == c.Tool.Name {
			continue
		}
		alone := toolOf[resultText(s.Await(resend(s, nil, c)))]
		t.DecidedBy(e).Expect(alone != c.Tool.Name).To(check.BeTrue("the result of "+c.Tool.Name, "that of %s", other))
	}
}

// distinctCalls are calls of read-only tools that return each something of its own when nothing else is under way;
// toolName says which by that. What they have returned before, among others, may have been mixed up already.
func distinctCalls(valid []toolcall.ToolCall, s *driver.Session) (calls []toolcall.ToolCall, toolOf map[string]string) {
	toolOf = map[string]string{}
	alone := 0
	for _, c := range valid {
		if !report.IsReadOnly(c.Tool.Value) || !c.IsDirectSuccess() || c.IsLong {
			continue
		}
		if len(calls) == maxConcurrent || alone == maxSequential {
			break
		}
		alone++
		result := resultText(s.Await(resend(s, nil, c)))
		if _, known := toolOf[result]; result != "" && !known {
			calls, toolOf[result] = append(calls, c), c.Tool.Name
		}
	}
	return calls, toolOf
}

// resend makes a call once more, under an id or, where that is nil, one of the session's own.
func resend(s *driver.Session, id any, c toolcall.ToolCall) driver.Pending {
	params := check.M{"name": c.Tool.Name, "arguments": c.Arguments}
	if id == nil {
		return s.Request("tools/call", params)
	}
	return s.RequestWithID(id, "tools/call", params)
}

// resultText is the result as text; empty when there is none.
func resultText(r driver.Reply) string {
	if r.Result() == nil {
		return ""
	}
	return string(text.CompactJSON(r.Result()))
}
