package protocol

import (
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// SendNoOp sends the session's harmless request under an id.
func SendNoOp(s *driver.Session, id any) driver.Pending {
	method, params := s.NoOp()
	return s.RequestWithID(id, method, params)
}

// NewNoOp is the session's harmless request as it is sent, for who sends it in another way: in a batch, in pieces.
func NewNoOp(s *driver.Session, id any) (driver.Pending, check.M) {
	method, params := s.NoOp()
	return s.NewPending(id, method), s.NewRequest(id, method, params)
}

// ExpandLine puts the session's harmless request into a line that is written by hand, as the era of the session has it:
// $method stands for its method, $harmless for method and params, members of the request. $meta stands for the members
// of _meta that requests of the session have, each with a comma after it.
func ExpandLine(s *driver.Session, line string) string {
	method, params := s.NoOp()
	message := s.NewRequest(0, method, params)
	delete(message, "jsonrpc")
	delete(message, "id")
	dressed, _ := message["params"].(check.M)
	meta, _ := dressed["_meta"].(check.M)
	common := membersText(meta)
	if common != "" {
		common += ","
	}
	return strings.NewReplacer(
		"$method", string(text.CompactJSON(method)), "$harmless", membersText(message), "$meta", common,
	).Replace(line)
}

// membersText is an object as text, without its braces.
func membersText(object check.M) string {
	if len(object) == 0 {
		return ""
	}
	content := string(text.CompactJSON(object))
	return content[1 : len(content)-1]
}

// RepeatConcurrently makes a request so many times at once, and waits for the answers. It is the control of a call that
// may have been refused for a limit: one that counts what comes in a while may take a single call again by now, however
// long the tool takes. What is refused because of the others is made once more, in its turn.
func RepeatConcurrently(t *check.T, s *driver.Session, times int, method string, params check.M) (all []driver.Reply) {
	var sent []driver.Pending
	for range times {
		sent = append(sent, s.Request(method, params))
	}
	for _, p := range sent {
		r := s.Await(p)
		if r.IsBusy() {
			r = s.Call(method, params)
		}
		all = append(all, check.RequireServerReply(t, r))
	}
	return all
}

// ShortWait is how much longer than a later request a request is waited for that takes no time.
const ShortWait = 500 * time.Millisecond
