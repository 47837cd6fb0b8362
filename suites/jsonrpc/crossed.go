package jsonrpc

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// mostCrossed is how many tools are called at a time.
const mostCrossed = 10

// expectOwnResults calls read-only tools once more, all at a time, and wants none to return what another one did. A
// tool whose results change from call to call proves nothing. Where there is a handshake, the calls have a session of
// their own: what else they do to it is not held against the server.
func expectOwnResults(t *T) {
	calls, toolOf := distinctCalls(t)
	if len(calls) < 2 {
		return
	}
	s := t.Session()
	var all []driver.Pending
	for _, c := range calls {
		all = append(all, sendAgain(s, c))
	}
	for i, p := range all {
		c := calls[i]
		other, known := toolOf[resultOf(s.Await(p))]
		if !known || other == c.Tool.Name {
			continue
		}
		alone := toolOf[resultOf(s.Await(sendAgain(s, c)))]
		t.Expect(alone != c.Tool.Name).To(Hold("the result of "+c.Tool.Name, "that of %s", other))
	}
}

// distinctCalls are calls of read-only tools that returned each something of its own; toolOf says which by that.
func distinctCalls(t *T) (calls []kit.ToolCall, toolOf map[string]string) {
	toolOf = map[string]string{}
	for _, c := range kit.ValidCalls(t).List {
		hints, _ := c.Tool.Value["annotations"].(M)
		result := resultOf(c.Reply)
		_, known := toolOf[result]
		switch {
		case result == "" || known || hints["readOnlyHint"] != true || len(calls) == mostCrossed:
		case !c.IsPlain() || c.Took > kit.Shortly:
		default:
			calls, toolOf[result] = append(calls, c), c.Tool.Name
		}
	}
	return calls, toolOf
}

func sendAgain(s *driver.Session, c kit.ToolCall) driver.Pending {
	return s.Request("tools/call", M{"name": c.Tool.Name, "arguments": c.Arguments})
}

// resultOf is the result as text; empty when there is none.
func resultOf(r driver.Reply) string {
	if r.Result() == nil {
		return ""
	}
	return string(Compact(r.Result()))
}
