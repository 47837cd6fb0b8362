package handshake

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// UnlistedRequest is a request for a tool, a resource or a prompt, on a connection on which no list was requested
// before.
type UnlistedRequest struct {
	Method, Name string
	Params       check.M
	// Reply is the reply before the list of its kind was requested, and LaterReply the one after that.
	Reply, LaterReply driver.Reply
}

// Subject shows the request and its reply.
func (r UnlistedRequest) Subject() check.Subject {
	return check.Subject{Name: r.Method + " " + r.Name, Frames: []*driver.Frame{r.Reply.Request, r.Reply.Frame}}
}

// UnlistedRequests are requests for what the server lists that had no success on a connection of a modern server on
// which no list was requested: the first valid requests to a process, or over HTTP on a connection. server/discover and
// the lists follow, and the same requests again.
func UnlistedRequests(t *check.T) []UnlistedRequest {
	switch {
	case t.Site() != nil:
		return check.Step(t, "requests before any list", func(t *check.T) []UnlistedRequest {
			return sendUnlisted(t, check.OtherConnection(t))
		})
	case check.SharesProcess(t):
		return probeNonconforming(t).unlisted
	}
	return probeVersionsAlone(t).unlisted
}

// sendUnlisted sends a request of each kind and, if one of them has no success, again after server/discover and the
// lists. It returns these. What is not answered soon is left out, since a tool may run for long.
func sendUnlisted(t *check.T, s *driver.Session) (all []UnlistedRequest) {
	took, _ := firstAnswerTime(t)
	patience := 2*time.Second + 3*took
	send := func(r UnlistedRequest) driver.Reply {
		p := s.Request(r.Method, r.Params)
		reply := s.AwaitFor(p, patience)
		switch {
		case reply.Answered() || !s.IsUsable():
		case t.Site() != nil: // nothing else waits for it
			return s.AwaitLongRunning(p)
		default:
			s.Cancel(p, "mcpcheck waits no longer")
		}
		return reply
	}
	for _, r := range unlisted(t) {
		if r.Reply = send(r); r.Reply.Answered() && !r.Reply.IsBusy() {
			all = append(all, r)
		}
	}
	isServed := func(r UnlistedRequest) bool { return r.Reply.Result() != nil && !r.Reply.IsFailure() }
	all = slices.DeleteFunc(all, isServed)
	if len(all) == 0 || !s.IsUsable() {
		return nil
	}
	s.Await(s.Request("server/discover", nil))
	for _, list := range protocol.DeclaredLists(t) {
		if check.KnownUnanswered(t, list.Method) == nil {
			s.Await(s.Request(list.Method, nil))
		}
	}
	for i, r := range all {
		all[i].LaterReply = send(r)
	}
	return all
}

// unlisted are a call of a read-only tool, a resource, a prompt and a completion of what discovery has found listed.
func unlisted(t *check.T) (all []UnlistedRequest) {
	for _, tool := range protocol.NamedSubjects(t.Server.Tools) {
		if args := readOnlyArguments(t, tool); args != nil {
			params := protocol.WithCapabilities(check.M{"name": tool.Name, "arguments": args}, check.M{})
			all = append(all, UnlistedRequest{Method: "tools/call", Name: tool.Name, Params: params})
			break
		}
	}
	for _, resource := range t.Server.Resources[:min(1, len(t.Server.Resources))] {
		uri, _ := resource["uri"].(string)
		all = append(all, UnlistedRequest{Method: "resources/read", Name: uri, Params: check.M{"uri": uri}})
	}
	for _, prompt := range t.Server.Prompts {
		if arguments, _ := prompt["arguments"].([]any); len(arguments) == 0 {
			name, _ := prompt["name"].(string)
			all = append(all, UnlistedRequest{Method: "prompts/get", Name: name, Params: check.M{"name": name}})
			break
		}
	}
	if !t.Server.Declares("completions") {
		return all
	}
	for _, prompt := range t.Server.Prompts {
		name, _ := prompt["name"].(string)
		for _, argument := range protocol.ObjectsIn(prompt["arguments"]) {
			return append(all, UnlistedRequest{Method: "completion/complete", Name: name, Params: check.M{
				"ref":      check.M{"type": "ref/prompt", "name": name},
				"argument": check.M{"name": argument["name"], "value": ""}}})
		}
	}
	return all
}

// readOnlyArguments are arguments with which a read-only tool may be called; nil when it may not.
func readOnlyArguments(t *check.T, tool check.Subject) check.M {
	permission := check.CallPermission(t, tool)
	if !permission.Valid || !report.IsReadOnly(tool.Value) {
		return nil
	}
	if example := check.ExampleArguments(t, tool.Name); example != nil {
		return example
	}
	if !permission.AnyArguments() {
		return nil
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return nil
	}
	args, err := schemas.ValidArguments(schema, t.Seed)
	if err != nil {
		return nil
	}
	return args
}
