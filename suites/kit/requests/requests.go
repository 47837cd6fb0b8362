// Package requests has one valid request for each method that a server serves. A check of something that holds for all
// requests (envelopes, ids, headers, versions, _meta, tokens, status codes …) tries each of them, since servers have
// routes and middlewares: what holds for tools/list may not hold for tools/call.
//
// Valid makes them once, from what discovery and the steps of toolcall have found, and each of them was answered with a
// result. Refused are requests of the same methods with names that no server has: a check of refusals tries both kinds,
// since a server may check the one before it looks at the other. Neither has effects: a tool is among them only if it
// may be called, and says that it reads only or is idempotent.
//
// Contract: Valid and Refused have a fixed order by method, and depend on the server and the seed only. Requests that
// change the session (logging/setLevel, resources/subscribe) and that open a stream (subscriptions/listen) are not
// among them; ChangingSession has these, for checks with a session of their own.
package requests

import (
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// Request is a request with its params.
type Request struct {
	Method string
	Params check.M
	// Name is the tool, the prompt, the URI or the reference that the params name; empty for methods without one.
	Name string
	// Reply is how the server answered it; it is zero for Refused and ChangingSession, which are not sent yet.
	Reply driver.Reply
}

// Subject names the request by its method, and by what it names.
func (r Request) Subject() check.Subject {
	s := check.Subject{Name: r.Method}
	if r.Name != "" {
		s.Name += " " + r.Name
	}
	return s
}

// With returns the params with members added to their _meta. A value of driver.Omitted removes a member that a session
// would add.
func (r Request) With(meta check.M) check.M {
	params := maps.Clone(r.Params)
	if params == nil {
		params = check.M{}
	}
	own, _ := params["_meta"].(check.M)
	all := maps.Clone(own)
	if all == nil {
		all = check.M{}
	}
	maps.Copy(all, meta)
	params["_meta"] = all
	return params
}

// SendWith sends the request with members added to its _meta, which should make no difference. Where it makes one, it
// tries both forms again, and ends the check if either is answered in two ways.
func (r Request) SendWith(t *check.T, s *driver.Session, meta check.M) driver.Reply {
	reply, _ := protocol.Compare(t, protocol.SameSuccess, r.Reply, protocol.AskFunc(t, s, r.Method, r.Params),
		func() driver.Reply { return t.Send(s, r.Method, r.With(meta), check.AllowSilence) })
	return reply
}

// Valid are requests that were answered with a result, one for each method that the server serves.
func Valid(t *check.T) []Request {
	candidates := append(plain(t), named(t)...)
	return check.Step(t, "a request of each method", func(t *check.T) (served []Request) {
		s := t.Session()
		for _, r := range candidates {
			isSame := func(other Request) bool { return other.Method == r.Method }
			if check.KnownUnanswered(t, r.Method) != nil || slices.ContainsFunc(served, isSame) {
				continue
			}
			if r.Reply = t.Send(s, r.Method, r.Params, check.AllowSilence); r.Reply.Result() != nil &&
				!r.Reply.IsFailure() && !toolcall.IsInputRequired(t, r.Reply) {
				served = append(served, r)
			}
			if !s.IsUsable() {
				s = t.Session()
			}
		}
		return slices.Clip(served) // who appends gets a copy
	})
}

// EachValid runs a check on each of the valid requests, and ends the check when there is none.
func EachValid(t *check.T, run func(*check.T, Request)) {
	all := Valid(t)
	if len(all) == 0 {
		t.NoVerdict(check.Undecided, "no request is answered with a result")
	}
	check.Each(t, all, Request.Subject, run)
}

// Affordable are the first of the values for which a check may send so many requests each: all of them, unless the
// server is slow. The first one is always among them.
func Affordable[V any](t *check.T, all []V, requestsEach int) []V {
	cost := time.Duration(requestsEach) * t.Server.Latency
	if cost == 0 {
		return all
	}
	most := max(1, int(timing.EachMethod/cost))
	if most >= len(all) {
		return all
	}
	t.Caveat("%d of %d were not tried: the server takes its time for each", len(all)-most, len(all))
	return slices.Clip(all[:most]) // who appends gets a copy
}

// plain are requests without a name: of the no-op, and of each list. Their params are empty rather than absent: a
// server that refuses even these fails ping/params-forms or the list-params-optional of the list.
func plain(t *check.T) (all []Request) {
	if t.IsModern() {
		all = append(all, Request{Method: "server/discover", Params: check.M{}})
	} else {
		all = append(all, Request{Method: "ping", Params: check.M{}})
	}
	for _, list := range protocol.DeclaredLists(t) {
		all = append(all, Request{Method: list.Method, Params: check.M{}})
	}
	return all
}

// named are candidates for requests with a name, several of a method: the first that is served counts.
func named(t *check.T) (all []Request) {
	if len(t.Server.Tools) > 0 {
		for _, c := range toolcall.RepeatableCalls(toolcall.ValidCalls(t)) { // the quickest first
			all = append(all, Request{Method: "tools/call", Name: c.Tool.Name, Params: toolcall.WithAllCapabilities(t,
				check.M{"name": c.Tool.Name, "arguments": c.Arguments})})
		}
	}
	for _, resource := range firstFew(t.Server.Resources) {
		if uri, ok := resource["uri"].(string); ok {
			all = append(all, Request{Method: "resources/read", Name: uri,
				Params: toolcall.WithAllCapabilities(t, check.M{"uri": uri})})
		}
	}
	if len(t.Server.Prompts) > 0 {
		for _, prompt := range toolcall.GetPrompts(t).List {
			if len(prompt.InputReplies) == 0 && prompt.LastReply.Result() != nil {
				all = append(all, Request{Method: "prompts/get", Name: prompt.Prompt.Name, Params: prompt.Params})
			}
		}
	}
	if t.Server.Declares("completions") {
		for _, completion := range toolcall.CompleteAll(t).List {
			if completion.Reply.Result() != nil {
				all = append(all, Request{Method: "completion/complete", Name: completion.String(),
					Params: completion.Params()})
			}
		}
	}
	return all
}

// firstFew are the first items of a list: when these are not served, another check says so.
func firstFew(items []check.M) []check.M {
	const few = 3
	return items[:min(few, len(items))]
}

// ReadOnly are requests of different kinds in a session, with their replies: the no-op of the session, a list, and a
// call of an unknown tool. Those that the server does not declare or does not answer are left out.
func ReadOnly(t *check.T, s *driver.Session) []Request {
	method, params := s.NoOp()
	all := []Request{{Method: method, Params: params, Reply: check.RequestNoOp(t, s)}}
	var others []Request
	if list, _ := protocol.ListMethod(t); list != "" && list != method {
		others = append(others, Request{Method: list})
	}
	if t.Server.Declares("tools") && check.MayCallUnknown(t) && check.KnownUnanswered(t, "tools/call") == nil {
		others = append(others, unknownCall(t))
	}
	for _, r := range others {
		if r.Reply = invalid.TryInvalid(t, s, r.Method, r.Params); r.Reply.Answered() {
			all = append(all, r)
		} else {
			check.RequestNoOp(t, s) // the checks need a session that goes on
		}
	}
	return all
}

// unknownCall is a call of a tool that no server has.
func unknownCall(t *check.T) Request {
	name := protocol.UnknownToolName(t)
	return Request{Method: "tools/call", Name: name, Params: check.M{"name": name, "arguments": check.M{}}}
}

// Refused are requests of the methods that the server declares, with names that it does not have. They are not sent.
func Refused(t *check.T) (all []Request) {
	if t.Server.Declares("tools") && check.MayCallUnknown(t) {
		all = append(all, unknownCall(t))
	}
	if t.Server.Declares("resources") {
		all = append(all, Request{Method: "resources/read", Name: invalid.UnknownURI,
			Params: check.M{"uri": invalid.UnknownURI}})
	}
	if t.Server.Declares("prompts") {
		name := toolcall.UnknownPromptName(t)
		all = append(all, Request{Method: "prompts/get", Name: name, Params: check.M{"name": name}})
	}
	if t.Server.Declares("completions") {
		name := toolcall.UnknownPromptName(t)
		all = append(all, Request{Method: "completion/complete", Name: name, Params: check.M{
			"ref": toolcall.PromptRef(name), "argument": check.M{"name": "mcpcheck", "value": ""},
		}})
	}
	return all
}

// ChangingSession are valid requests that change the session or open a stream. They are not sent.
func ChangingSession(t *check.T) (all []Request) {
	if t.IsModern() {
		return []Request{{Method: "subscriptions/listen", Params: check.M{"notifications": check.M{}}}}
	}
	if t.Server.Declares("logging") {
		all = append(all, Request{Method: "logging/setLevel", Params: check.M{"level": "info"}})
	}
	if resources, _ := t.Server.Capabilities["resources"].(check.M); resources["subscribe"] == true {
		for _, resource := range t.Server.Resources[:min(1, len(t.Server.Resources))] {
			if uri, ok := resource["uri"].(string); ok {
				all = append(all, Request{Method: "resources/subscribe", Name: uri, Params: check.M{"uri": uri}},
					Request{Method: "resources/unsubscribe", Name: uri, Params: check.M{"uri": uri}})
			}
		}
	}
	return all
}
