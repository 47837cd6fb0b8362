package http

import (
	"regexp"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// leakedQuestions are requests of the server to the client of one session that came in another one, whose stream was
// opened later.
func leakedQuestions(t *check.T) []leak {
	if t.Server.Sessionless || t.IsModern() {
		return nil
	}
	tools := askingCalls(t)
	if len(tools) == 0 {
		return nil
	}
	return check.Step(t, "questions with another session", func(t *check.T) (all []leak) {
		for _, call := range tools {
			a := client.NewClient(t, protocol.AllCapabilities(t.Revision), client.AcceptAll(t))
			roundtrip.ListeningResponse(t, a.Session)
			b := t.Session(check.Exclusive)
			roundtrip.ListeningResponse(t, b)
			mark := b.Mark()
			again := a.CallTool(t, call.Tool, call.Arguments, client.AcceptAll(t))
			check.Barrier(t, b, mark)
			for _, f := range b.ReceivedSince(mark) {
				for _, m := range f.Messages() {
					if m.IsRequest() && slices.Contains(clientMethods, m.Method) && !again.AsksFor(m.Method) {
						return append(all, leak{m.Method + ", which " + call.Tool.Name +
							" asks the client of another session", []*driver.Frame{m}})
					}
				}
			}
		}
		return all
	})
}

// clientMethods are the methods of requests to a client whose answers depend on the client.
var clientMethods = []string{"elicitation/create", "sampling/createMessage", "roots/list"}

// askingCalls are calls of tools that ask the client: one that did or, without one, a few that are likely to.
func askingCalls(t *check.T) (calls []*client.InteractiveCall) {
	for _, i := range client.CallInteractively(t).List {
		if i.Reply.Answered() && len(i.ServerRequests) == 1 {
			return []*client.InteractiveCall{i}
		}
	}
	const few = 3
	for _, tool := range toolcall.ToolsInCallOrder(t) {
		if arguments, not := toolcall.ValidArguments(t, tool); not == nil && client.IsLikelyToAsk(tool) &&
			len(calls) < few && !check.SavesRequests(t) {
			calls = append(calls, &client.InteractiveCall{Tool: tool, Arguments: arguments})
		}
	}
	return calls
}

// leakedAnswers are calls that went on with what another session has answered under the id of their question. The
// other session, which was asked nothing, answers with an error while the client of the call still thinks.
func leakedAnswers(t *check.T) []leak {
	if t.Server.Sessionless || t.IsModern() {
		return nil
	}
	tools := slices.DeleteFunc(askingCalls(t), func(i *client.InteractiveCall) bool {
		return protocol.ReplyKind(i.Reply) != "success"
	})
	if len(tools) == 0 || len(tools[0].ServerRequests) != 1 {
		return nil
	}
	return check.Step(t, "answers of another session", func(t *check.T) []leak {
		w := newWaitingClient(t, tools[0])
		other := t.Session(check.Exclusive, check.ForInvalidInput)
		if w.callWithForeignAnswer(t, nil) || !w.callWithForeignAnswer(t, other) || w.question == nil {
			return nil
		}
		found := leak{"the answer of another session to " + w.question.Method + " of " + w.call.Tool.Name +
			", under the same id", []*driver.Frame{w.question, w.reply.Frame}}
		if w.callWithForeignAnswer(t, nil) {
			return nil
		}
		return []leak{found}
	})
}

// waitingClient is a client that answers the question of a call only when it is told to.
type waitingClient struct {
	*client.Client
	call *client.InteractiveCall
	// question is what the server asked during the last call, nil if nothing, and reply the reply to that.
	question *driver.Frame
	reply    driver.Reply
}

func newWaitingClient(t *check.T, call *client.InteractiveCall) *waitingClient {
	waiting := client.RespondTo(t, call.ServerRequests[0].Method, client.ClientResponse{})
	return &waitingClient{Client: client.NewClient(t, protocol.AllCapabilities(t.Revision), waiting), call: call}
}

// callWithForeignAnswer makes the call. When it asks, the other session answers with an error, if there is one, and
// then the client itself does, as it did before. It reports whether the call came to another end than before, ended
// before the client has answered, or did not ask again: a server may ask by itself, and only now and then meanwhile.
func (w *waitingClient) callWithForeignAnswer(t *check.T, other *driver.Session) (isChanged bool) {
	s := w.Session
	mark := s.Mark()
	p := s.Request("tools/call", check.M{"name": w.call.Tool.Name, "arguments": w.call.Arguments})
	isQuestion := func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.IsRequest() && f.Method == w.call.ServerRequests[0].Method
	}
	isReply := func(f *driver.Frame) bool {
		return f.Side == driver.FromServer && f.IsResponse() && driver.SameID(f.ID, p.ID)
	}
	f, err := s.Wait(mark, s.ReplyTimeout(), func(f *driver.Frame) bool { return isQuestion(f) || isReply(f) })
	if w.question = nil; err != nil || !isQuestion(f) {
		return true
	}
	w.question = f
	if other != nil {
		post(other, string(text.CompactJSON(check.M{"jsonrpc": "2.0", "id": f.ID,
			"error": check.M{"code": -1, "message": "The user has refused"}}))).AwaitEnd()
	}
	check.RequestNoOp(t, s)
	isEarly := slices.ContainsFunc(s.FramesSince(mark), isReply)
	params, _ := f.JSON()["params"].(check.M)
	answer := client.AcceptAll(t)(client.ServerRequest{Method: f.Method, Params: params, Session: s, Frame: f})
	s.Respond(f, check.M{"result": answer.Result})
	w.reply = s.AwaitLongRunning(p)
	return isEarly || protocol.ReplyKind(w.reply) != protocol.ReplyKind(w.call.Reply)
}

// leakedLogs are log messages of calls of one session that came to another one instead, whose stream was opened later.
// Each comes in a second call too, and in a call that the other session makes itself, but not without a call: it is not
// one of those that a server sends from time to time.
func leakedLogs(t *check.T) []leak {
	if t.Server.Sessionless || t.IsModern() || !t.Server.Declares("logging") || len(t.Server.Tools) == 0 {
		return nil
	}
	calls := loggingCalls(toolcall.ValidCalls(t))
	if len(calls) == 0 || check.SavesRequests(t) {
		return nil
	}
	return check.Step(t, "logs with another session", func(t *check.T) []leak {
		a, b := twoSessions(t)
		toolcall.EnableLogging(t, a)
		toolcall.EnableLogging(t, b)
		if f := strayLog(t, calls, a, b); f != nil {
			return []leak{{"the log of a call of another session", []*driver.Frame{f}}}
		}
		return nil
	})
}

// loggingDescription matches names and descriptions of tools that are likely to log.
var loggingDescription = regexp.MustCompile(`(?i)\blog|notif|messag|stream|progress`)

// loggingCalls are a few calls that are likely to log something: they take a while, or say so.
func loggingCalls(calls toolcall.ToolCalls) (all []toolcall.ToolCall) {
	const most, while, tooLong = 4, 100 * time.Millisecond, 2 * time.Second
	for _, c := range calls.List {
		description, _ := c.Tool.Value["description"].(string)
		isLikely := c.Duration >= while || loggingDescription.MatchString(c.Tool.Name+" "+description)
		if isLikely && c.IsDirectSuccess() && c.Duration <= tooLong {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, toolcall.CompareBySpeed)
	return all[:min(len(all), most)]
}

// strayLog is a log message of calls of one session that comes to another session alone; nil without such.
func strayLog(t *check.T, calls []toolcall.ToolCall, caller, other *driver.Session) *driver.Frame {
	during := func(calling *driver.Session) map[string]*driver.Frame {
		callerMark, otherMark := caller.Mark(), other.Mark()
		for _, call := range calls {
			if calling != nil {
				calling.Call("tools/call", call.Params(calling))
			}
		}
		check.Barrier(t, caller, callerMark)
		check.Barrier(t, other, otherMark)
		return logsByText(other.ReceivedSince(otherMark))
	}
	stray := during(caller)
	if len(stray) == 0 {
		return nil
	}
	again, usual, idle := during(caller), during(other), during(nil)
	own := logsByText(caller.ReceivedSince(0))
	for content, f := range stray {
		if again[content] != nil && usual[content] != nil && idle[content] == nil && own[content] == nil {
			return f
		}
	}
	return nil
}

// digits are what differs between log messages of the same call: times and counts.
var digits = regexp.MustCompile(`[0-9]+`)

// logsByText are the log messages among frames, by their params without digits.
func logsByText(frames []*driver.Frame) map[string]*driver.Frame {
	all := map[string]*driver.Frame{}
	for _, f := range frames {
		for _, m := range f.Messages() {
			if m.Method == "notifications/message" {
				all[digits.ReplaceAllString(string(text.CompactJSON(m.JSON()["params"])), "0")] = m
			}
		}
	}
	return all
}
