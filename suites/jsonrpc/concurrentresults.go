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

// maxConcurrent is the number of tools that are called at the same time. maxSequential is the number of tools that are
// called alone to find as many with different results.
const (
	maxConcurrent = 10
	maxSequential = 2 * maxConcurrent
)

// expectOwnResults repeats valid calls of read-only tools, first each alone, then all at the same time. The ids have
// mixed types if the server supports strings. It requires a response under each id, and no response with the result
// that another tool has returned alone. A tool whose results change from call to call proves nothing.
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
		expectID(t, driver.Reply{}, e) // errors are allowed, since there may be a rate limit
		other, known := toolOf[resultText(e.Reply)]
		if !known || other == c.Tool.Name {
			continue
		}
		alone := toolOf[resultText(s.Await(resend(s, nil, c)))]
		t.DecidedBy(e).Expect(alone != c.Tool.Name).To(check.BeTrue("the result of "+c.Tool.Name, "that of %s", other))
	}
}

// distinctCalls returns calls of read-only tools that return different results when nothing else is running; toolOf
// maps a result to its tool. Results of earlier calls do not count, since they may have been mixed up already.
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

// resend repeats a call under an id; nil is the next id of the session.
func resend(s *driver.Session, id any, c toolcall.ToolCall) driver.Pending {
	params := check.M{"name": c.Tool.Name, "arguments": c.Arguments}
	if id == nil {
		return s.Request("tools/call", params)
	}
	return s.RequestWithID(id, "tools/call", params)
}

// resultText returns the result as text; empty if there is none.
func resultText(r driver.Reply) string {
	if r.Result() == nil {
		return ""
	}
	return string(text.CompactJSON(r.Result()))
}
