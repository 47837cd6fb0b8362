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

// responseChecks are the checks of how a server handles the responses of a model.
var responseChecks = check.Suite{
	"sampling/iteration-limit": check.Probe(func(t *check.T) {
		eachSamplingTool(t, func(t *check.T, x *samplingTool) {
			switch {
			case x.turns == 0:
				t.Skip(check.NotObserved, "it offers no tools")
			case x.turns < maxTurns && !x.withEndlessToolUse.Reply.Answered():
				t.NoVerdict(check.Limit, "it was asked %d times, and then there was no more time",
					x.turns)
			case x.turns == 1:
				t.Skip(check.NotObserved, "it does not go on once the model has used a tool")
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
				t.Retry(check.Undecided, "it asked for a message before, and now there is %s",
					check.Got(x.rejected.Reply))
			}
			x.rejected.RequireAnswered(t, createMessageMethod)
			t.Expect(x.rejected.Reply).To(check.ReportedBy("roots/error-tolerated", check.BeAnswered()),
				"tools/call whose request for a message was refused")
		})
	}),
}

// These constants limit what is tried.
const (
	// maxTools is the number of sampling tools.
	maxTools = 3
	// maxTurns is the number of turns in which a model uses a tool.
	maxTurns = 100
)

// samplingTool is a tool that samples, with calls by a client whose model responds in other ways.
type samplingTool struct {
	// InteractiveCall is the call in which the client accepts everything.
	*client.InteractiveCall

	// withToolUse is the call in which the model uses two tools at once.
	withToolUse *client.InteractiveCall
	// rejected is the call in which the user rejects the request.
	rejected *client.InteractiveCall
	// withEndlessToolUse is the call in which the model uses a tool whenever it may.
	withEndlessToolUse *client.InteractiveCall
	// turns is how often it did.
	turns int
}

func (x *samplingTool) subject() check.Subject {
	if x.rejected == nil {
		return x.InteractiveCall.Subject()
	}
	return x.rejected.Subject()
}

// requireSamplingCalls returns calls of the first tools that sample. Tools that let the model use tools, or that ask
// for more context, come first. If there are none, it ends the check.
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

// eachSamplingTool runs a check on every sampling tool that was called again.
func eachSamplingTool(t *check.T, run func(*check.T, *samplingTool)) {
	check.Each(t, samplingTools(t), (*samplingTool).subject, run)
}

// callWithOtherResponses calls the sampling tools with other responses than usual.
func callWithOtherResponses(t *check.T) { samplingTools(t) }

// samplingTools calls the sampling tools again, with other responses.
func samplingTools(t *check.T) []*samplingTool {
	all := requireSamplingCalls(t)
	return check.Step(t, "client whose model answers otherwise", func(t *check.T) (trials []*samplingTool) {
		c := client.ReusedClient(t, protocol.AllCapabilities(t.Revision), client.AcceptAll(t))
		c.MaxRounds = maxTurns + toolcall.MaxInputRounds
		call := func(i *client.InteractiveCall, answering client.Responder) *client.InteractiveCall {
			if !c.Session.IsUsable() {
				c = client.NewClient(t, c.Capabilities, client.AcceptAll(t))
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

// toolUsingModel is a model that uses tools if it may, in up to maxTurns turns with usesPerTurn uses each.
type toolUsingModel struct {
	t                     *check.T
	usesPerTurn, maxTurns int
	// turns counts the turns in which the model used tools.
	turns atomic.Int32
	// fallback responds to all other requests.
	fallback client.Responder
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

// mayUseTools reports whether the model may use tools.
func mayUseTools(q client.ServerRequest) bool {
	choice, _ := q.Params["toolChoice"].(check.M)
	return len(protocol.ObjectsIn(q.Params["tools"])) > 0 && choice["mode"] != "none"
}

// callAsPlainClient calls the sampling tools as a client that declares sampling without options. In the legacy
// revisions, the client of taskrun.CollectClientTasks is one.
func callAsPlainClient(t *check.T) {
	all := requireSamplingCalls(t)
	if !t.IsModern() {
		taskrun.CollectClientTasks(t)
		return
	}
	check.Step(t, "client that samples, and no more", func(t *check.T) bool {
		c := client.NewClient(t, handshake.BasicCapabilities, client.AcceptAll(t))
		for _, i := range all {
			if c.CallTool(t, i.Tool, i.Arguments, client.AcceptAll(t)).IsSilent() || !c.Session.IsUsable() {
				break
			}
		}
		return true
	})
}

// eachPlainRequest runs a check on the requests to clients that declare sampling without the option more. A server that
// requests something only from clients with the option passes.
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
