package sampling

import (
	"slices"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// responseChecks are the checks of what a server makes of what a model says.
var responseChecks = check.Suite{
	"sampling/iteration-limit": check.Probe(func(t *check.T) {
		eachSamplingTool(t, func(t *check.T, x *samplingTool) {
			switch {
			case x.turns == 0:
				t.WithReason(check.NotObserved).Skip("it offers no tools")
			case x.turns < maxTurns && !x.withEndlessToolUse.Reply.Answered():
				t.WithReason(check.Limit).Inconclusive("it was asked %d times, and then there was no more time",
					x.turns)
			case x.turns == 1:
				t.WithReason(check.NotObserved).Skip("it does not go on once the model has used a tool")
			}
			t.Expect(x.turns < maxTurns).To(check.BeTrue("an end of its own, whatever the model wants to use",
				"a request with tools after %d uses of tools", x.turns))
		})
	}),

	"sampling/rejection-handled": check.Probe(func(t *check.T) {
		eachSamplingTool(t, func(t *check.T, x *samplingTool) {
			switch {
			case !x.Reply.Answered():
				t.Yield("it has no answer either when it gets a message")
			case !x.rejected.AsksFor(createMessageMethod):
				t.Retry("it asked for a message before, and now there is %s", check.Got(x.rejected.Reply))
			}
			x.rejected.RequireAnswered(t, createMessageMethod)
			t.Expect(x.rejected.Reply).To(check.BeAnswered(), "tools/call whose request for a message was refused")
		})
	}),
}

// The bounds of what is tried.
const (
	maxTools = 3   // tools that sample
	maxTurns = 100 // in which a model wants to use a tool
)

// samplingTool is a tool that samples, called again by a client whose model answers otherwise.
type samplingTool struct {
	*client.InteractiveCall // of a willing client

	withToolUse        *client.InteractiveCall // the model uses two tools at once
	rejected           *client.InteractiveCall // the user does not allow it
	withEndlessToolUse *client.InteractiveCall // the model uses a tool whenever it may
	turns              int                     // how often it did
}

func (x *samplingTool) subject() check.Subject {
	if x.rejected == nil {
		return x.InteractiveCall.Subject()
	}
	return x.rejected.Subject()
}

// requireSamplingCalls are the first tools that ask a willing client for messages: of those that there are, first those
// that let the model use tools, or want more context.
func requireSamplingCalls(t *check.T) []*client.InteractiveCall {
	a := client.CallInteractively(t)
	all := slices.DeleteFunc(slices.Clone(a.List),
		func(i *client.InteractiveCall) bool { return !i.AsksFor(createMessageMethod) })
	if len(all) == 0 {
		toolcall.SkipNotObserved(t, "tool that asks for messages was called", a.Uncalled, toolcall.AnyTool)
	}
	more := func(i *client.InteractiveCall) int {
		if slices.ContainsFunc(i.RequestsFor(createMessageMethod), hasParam("tools", "toolChoice", "includeContext")) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *client.InteractiveCall) int { return more(a) - more(b) })
	return all[:min(len(all), maxTools)]
}

// eachSamplingTool tries a check on the trials.
func eachSamplingTool(t *check.T, run func(*check.T, *samplingTool)) {
	check.Each(t, samplingTools(t), (*samplingTool).subject, run)
}

// callWithOtherResponses sees to it that the tools that sample have been answered otherwise than usual.
func callWithOtherResponses(t *check.T) { samplingTools(t) }

// samplingTools call the tools that sample again.
func samplingTools(t *check.T) []*samplingTool {
	all := requireSamplingCalls(t)
	return check.Step(t, "client whose model answers otherwise", func(t *check.T) (trials []*samplingTool) {
		c := client.ReusedClient(t, protocol.AllCapabilities(t.Revision), client.AcceptAll(t))
		c.MaxRounds = maxTurns + toolcall.MaxInputRounds
		call := func(i *client.InteractiveCall, answering client.Responder) *client.InteractiveCall {
			if !c.Session.IsUsable() {
				c = client.NewClient(t, c.Capabilities)
			}
			return c.CallTool(t, i.Tool, i.Arguments, answering)
		}
		for _, i := range all {
			x := &samplingTool{InteractiveCall: i}
			trials = append(trials, x)
			if slices.ContainsFunc(i.RequestsFor(createMessageMethod), mayUseTools) {
				once, always := newToolUsingModel(t, 2, 1), newToolUsingModel(t, 1, maxTurns)
				x.withToolUse, x.withEndlessToolUse = call(i, once.answer), call(i, always.answer)
				x.turns = int(always.turns.Load())
			}
			if !t.IsModern() {
				rejection := client.NewErrorResponse(-1, "User rejected sampling request")
				x.rejected = call(i, client.RespondTo(t, createMessageMethod, rejection))
			}
		}
		return trials
	})
}

// toolUsingModel is a model that uses tools where it may, so many at once, in so many turns.
type toolUsingModel struct {
	t                     *check.T
	usesPerTurn, maxTurns int
	turns                 atomic.Int32
	fallback              client.Responder
}

func newToolUsingModel(t *check.T, at, most int) *toolUsingModel {
	return &toolUsingModel{t: t, usesPerTurn: at, maxTurns: most, fallback: client.AcceptAll(t)}
}

func (u *toolUsingModel) answer(q client.ServerRequest) client.ClientResponse {
	if q.Method != createMessageMethod || !mayUseTools(q) || int(u.turns.Load()) == u.maxTurns {
		return u.fallback(q)
	}
	u.turns.Add(1)
	return client.ClientResponse{Result: toolcall.ToolUseResult(u.t, q.Params, u.usesPerTurn)}
}

// mayUseTools reports whether the model is let use tools.
func mayUseTools(q client.ServerRequest) bool {
	choice, _ := q.Params["toolChoice"].(check.M)
	return len(protocol.ObjectsIn(q.Params["tools"])) > 0 && choice["mode"] != "none"
}

// callAsPlainClient sees to it that the tools that sample have been called by a client that can do no more than that.
// Where there is a handshake, the client with tasks is one.
func callAsPlainClient(t *check.T) {
	all := requireSamplingCalls(t)
	if !t.IsModern() {
		taskrun.CollectClientTasks(t)
		return
	}
	check.Step(t, "client that samples, and no more", func(t *check.T) bool {
		c := client.NewClient(t, handshake.BasicCapabilities)
		for _, i := range all {
			if c.CallTool(t, i.Tool, i.Arguments, client.AcceptAll(t)).IsSilent() || !c.Session.IsUsable() {
				break
			}
		}
		return true
	})
}

// eachPlainRequest tries a check on the requests for messages of clients that sample, but not with something more. A
// server that wants that of other clients only has passed.
func eachPlainRequest(
	t *check.T, w check.Wire, more string, wants func(client.ServerRequest) bool,
	run func(*check.T, client.ServerRequest),
) {
	lacks := func(q client.ServerRequest) bool {
		sampling, declared := q.ClientCapabilities()["sampling"].(check.M)
		return declared && !check.HasMember(sampling, more)
	}
	refrains := func(i *client.InteractiveCall) bool {
		return slices.ContainsFunc(i.RequestsFor(createMessageMethod), wants)
	}
	if asked := slices.ContainsFunc(client.ServerRequests(t, w, createMessageMethod), lacks); !asked &&
		slices.ContainsFunc(requireSamplingCalls(t), refrains) {
		return
	}
	eachRequest(t, w, "request for a message came to a client without sampling."+more, lacks, run)
}
