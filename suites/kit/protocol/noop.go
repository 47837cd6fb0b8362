package protocol

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// SendNoOp sends the no-op of the session with this id.
func SendNoOp(s *driver.Session, id any) driver.Pending {
	method, params := s.NoOp()
	return s.RequestWithID(id, method, params)
}

// NewNoOp builds the no-op of the session without sending it, for checks that send it in a batch or in pieces.
func NewNoOp(s *driver.Session, id any) (driver.Pending, check.M) {
	method, params := s.NoOp()
	return s.NewPending(id, method), s.NewRequest(id, method, params)
}

// ExpandLine puts the no-op of the session into a line that is written by hand: $method stands for its method, and
// $harmless for the members method and params. $meta stands for the members of _meta that requests of the session have,
// each followed by a comma.
func ExpandLine(s *driver.Session, line string) string {
	method, params := s.NoOp()
	message := s.NewRequest(0, method, params)
	delete(message, "jsonrpc")
	delete(message, "id")
	sentParams, _ := message["params"].(check.M)
	meta, _ := sentParams["_meta"].(check.M)
	common := membersText(meta)
	if common != "" {
		common += ","
	}
	return strings.NewReplacer(
		"$method", string(text.CompactJSON(method)), "$harmless", membersText(message), "$meta", common,
	).Replace(line)
}

// membersText is the JSON of an object without its braces.
func membersText(object check.M) string {
	if len(object) == 0 {
		return ""
	}
	content := string(text.CompactJSON(object))
	return content[1 : len(content)-1]
}

// RepeatConcurrently sends a request several times at once and returns the responses. It is the control for a call that
// may have hit a rate limit: one over a period may admit a single call again by now, however long the tool runs. A
// request that is refused because of the others is sent again after them.
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
