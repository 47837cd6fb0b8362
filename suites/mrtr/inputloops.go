package mrtr

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// inputLoop is a request that the server answers by asking for input, with its retries by a client with all
// capabilities.
type inputLoop struct {
	*toolcall.InputLoop
	// name is the name of the tool or prompt, or the URI of the resource.
	name string
	// params are the params of the first request.
	params check.M
}

// These constants limit what is requested, and how often.
const (
	// maxItems is the number of prompts and of resources that are requested to find input loops.
	maxItems = 20
	// maxLoops is the number of loops that are repeated for a check.
	maxLoops      = 3
	maxStateBytes = 1 << 20
)

// inputLoops returns the input loops of the run: of tools that may be called, prompts and resources.
func inputLoops(t *check.T) (all []inputLoop) {
	calls := toolcall.ValidCalls(t)
	for _, call := range slices.Concat(calls.List, calls.UnfinishedLoops) {
		params := check.M{"name": call.Tool.Name, "arguments": call.Arguments}
		all = append(all,
			inputLoop{call.InputLoop, call.Tool.Name,
				protocol.WithCapabilities(params, protocol.AllModernCapabilities)})
	}
	all = append(all, promptLoops(t)...)
	all = append(all, check.Step(t, "resources", resourceLoops)...)
	all = append(all, furtherLoops(t, all)...)
	return slices.DeleteFunc(all, func(a inputLoop) bool { return len(a.InputReplies) == 0 })
}

// promptLoops returns the input loops of the first prompts.
func promptLoops(t *check.T) (all []inputLoop) {
	prompts := toolcall.GetPrompts(t).List
	for _, got := range prompts[:min(len(prompts), maxItems)] {
		all = append(all, inputLoop{got.InputLoop, got.Prompt.Name, got.Params})
	}
	return all
}

// resourceLoops reads the first resources and returns their input loops.
func resourceLoops(t *check.T) (all []inputLoop) {
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), maxItems)] {
		if uri, isString := resource["uri"].(string); isString {
			params := protocol.WithCapabilities(check.M{"uri": uri}, protocol.AllModernCapabilities)
			all = append(all, inputLoop{toolcall.RunInputLoop(t, t.Session(), "resources/read", params), uri, params})
		}
	}
	return all
}

// furtherLoops returns the input loops of tools and prompts with other arguments, and of templates, that ask for
// something that nothing of the same name has asked for, or in more rounds.
func furtherLoops(t *check.T, usual []inputLoop) (all []inputLoop) {
	add := func(loop *toolcall.InputLoop, name string, params check.M) {
		further := inputLoop{loop, name, params}
		known := func(a inputLoop) bool {
			return a.Method == loop.Method && a.name == name && !further.asksForMore(a)
		}
		if len(loop.InputReplies) > 0 && !slices.ContainsFunc(slices.Concat(usual, all), known) {
			all = append(all, further)
		}
	}
	calls := toolcall.VariedCalls(t)
	for _, call := range slices.Concat(calls.List, calls.UnfinishedLoops) {
		params := check.M{"name": call.Tool.Name, "arguments": call.Arguments}
		add(call.InputLoop, call.Tool.Name, protocol.WithCapabilities(params, protocol.AllModernCapabilities))
	}
	for _, got := range toolcall.GetPromptVariants(t) {
		add(got.InputLoop, got.Prompt.Name, got.Params)
	}
	for _, x := range toolcall.ReadTemplates(t) {
		add(x.InputLoop, x.Template.Raw(), x.Params)
	}
	return all
}

// asksForMore reports whether the loop asks in more rounds than another one, or for a method for which that does not.
func (a inputLoop) asksForMore(other inputLoop) bool {
	methods := []string{"elicitation/create", "sampling/createMessage", "roots/list"}
	return len(a.InputReplies) > len(other.InputReplies) && !a.isStuck() || slices.ContainsFunc(methods,
		func(method string) bool { return a.requestsMethod(method) && !other.requestsMethod(method) })
}

// requireLoops returns the input loops that keep selects, and whose results are valid. If there are none, it ends the
// check with a reason that names them by what.
func requireLoops(t *check.T, what string, keep func(inputLoop) bool) []inputLoop {
	all := selectLoops(t, keep)
	wrong := func(a inputLoop) bool { return a.violatedChecks(t) != nil }
	if i := slices.IndexFunc(all, wrong); i >= 0 && len(slices.DeleteFunc(slices.Clone(all), wrong)) == 0 {
		t.Yield("%s asks by a result that is not valid", all[i])
	}
	return requireAny(t, what, slices.DeleteFunc(all, wrong))
}

// selectLoops returns the input loops that keep selects, also those whose results are not valid.
func selectLoops(t *check.T, keep func(inputLoop) bool) []inputLoop {
	return slices.DeleteFunc(inputLoops(t), func(a inputLoop) bool { return !keep(a) })
}

// requireAny returns the loops. If there are none, it ends the check with a reason that names them by what.
func requireAny(t *check.T, what string, all []inputLoop) []inputLoop {
	if len(all) == 0 {
		toolcall.SkipNotObserved(t, what, toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	}
	return all
}

// requireContinuingLoops returns the first selected loops that continue when they get valid responses.
func requireContinuingLoops(t *check.T, what string, keep func(inputLoop) bool) []inputLoop {
	all := requireLoops(t, what, keep)
	willing := slices.DeleteFunc(slices.Clone(all), func(a inputLoop) bool { return !a.continuesAfter(t, 0) })
	failing := func(a inputLoop) bool { return a.usualOutcome(t) == outcomeToolError }
	switch {
	case len(willing) == 0 && slices.ContainsFunc(all, failing):
		t.Skip(check.NotObserved, "no %s goes on when it is answered", what)
	case len(willing) == 0:
		t.Yield("no %s goes on when it is answered", what)
	}
	handy := slices.DeleteFunc(willing,
		func(a inputLoop) bool { return len(toolcall.RequestState(a.InputReplies[0])) > maxStateBytes })
	if len(handy) == 0 {
		t.NoVerdict(check.Limit, "the requestState is longer than %s, too long for mcpcheck to try it many times",
			text.Size(maxStateBytes))
	}
	return oneOfEachMethodFirst(handy)[:min(len(handy), maxLoops)]
}

// withTwoRounds returns the first selected loops that continue, with further ones that ask in two rounds: later rounds
// may be served by different code. A slow server gets none of these.
func withTwoRounds(t *check.T, what string, keep func(inputLoop) bool) []inputLoop {
	first := requireContinuingLoops(t, what, keep)
	if check.SavesRequests(t) {
		return first
	}
	further := slices.DeleteFunc(selectLoops(t, keep), func(a inputLoop) bool {
		isFirst := func(b inputLoop) bool { return b.InputLoop == a.InputLoop }
		return a.lastJudgedRound(t) == 0 || a.violatedChecks(t) != nil || slices.ContainsFunc(first, isFirst) ||
			len(toolcall.RequestState(a.InputReplies[0])) > maxStateBytes || !a.continuesAfter(t, 0)
	})
	return append(first, further[:min(len(further), maxLoops)]...)
}

// oneOfEachMethodFirst has the first loop of each method before all others: tools, prompts and resources may be served
// by different code.
func oneOfEachMethodFirst(all []inputLoop) []inputLoop {
	var first, others []inputLoop
	for _, a := range all {
		if slices.ContainsFunc(first, func(b inputLoop) bool { return b.Method == a.Method }) {
			others = append(others, a)
		} else {
			first = append(first, a)
		}
	}
	return append(first, others...)
}

// loopRetry is an input loop that is repeated, with its last reply.
type loopRetry struct {
	inputLoop
	reply driver.Reply
}

func (x *loopRetry) subject() check.Subject {
	return check.Subject{Name: x.name, Frames: []*driver.Frame{x.reply.Request, x.reply.Frame}}
}

// eachLoop runs a check on repeated loops. A failure shows the last reply.
func eachLoop(t *check.T, all []inputLoop, run func(*check.T, *loopRetry)) {
	var trials []*loopRetry
	for _, a := range all {
		trials = append(trials, &loopRetry{inputLoop: a})
	}
	check.Each(t, trials, (*loopRetry).subject, run)
}

// inputRequestsOf returns the input requests of a reply.
func inputRequestsOf(r driver.Reply) check.M {
	requests, _ := r.Result()["inputRequests"].(check.M)
	return requests
}

// hasInputRequest reports whether a reply has an input request with a method.
func hasInputRequest(r driver.Reply, method string) bool {
	for _, v := range inputRequestsOf(r) {
		if request, _ := v.(check.M); request["method"] == method {
			return true
		}
	}
	return false
}

// requestsMethod reports whether the server asks for a method in any round.
func (a inputLoop) requestsMethod(method string) bool {
	return slices.ContainsFunc(a.InputReplies, func(r driver.Reply) bool { return hasInputRequest(r, method) })
}

// violatedChecks returns the checks that the input-required replies of the loop violate.
func (a inputLoop) violatedChecks(t *check.T) (checks []string) {
	for _, r := range a.InputReplies {
		for _, broken := range schemas.ValidateMessage(t.Revision, "InputRequiredResult", r.Result()) {
			checks = append(checks, protocol.OwnerOf(broken, t.Revision))
		}
	}
	slices.Sort(checks)
	return slices.Compact(checks)
}

// hasInputRequests reports whether the first round has input requests.
func (a inputLoop) hasInputRequests() bool { return len(inputRequestsOf(a.InputReplies[0])) > 0 }

// isToolCall reports whether the loop is of a tool.
func (a inputLoop) isToolCall() bool { return a.Method == "tools/call" }

// replyAfter returns the reply to the responses of a round; the zero value if there is none.
func (a inputLoop) replyAfter(round int) driver.Reply {
	switch {
	case round+1 < len(a.InputReplies):
		return a.InputReplies[round+1]
	case a.AbortReason != "":
		return driver.Reply{}
	}
	return a.LastReply
}

// isStuck reports whether the server repeated its requests until mcpcheck gave up.
func (a inputLoop) isStuck() bool {
	other := func(r driver.Reply) bool { return !a.repeatsFirstRound(r) }
	return len(a.InputReplies) > toolcall.MaxInputRounds && !slices.ContainsFunc(a.InputReplies, other)
}

// repeatsFirstRound reports whether a reply has the same input requests as the first round.
func (a inputLoop) repeatsFirstRound(r driver.Reply) bool { return a.repeatsRound(0, r) }

// repeatsRound reports whether a reply has the same input requests as a round. Keys and URLs may differ.
func (a inputLoop) repeatsRound(round int, r driver.Reply) bool {
	return slices.Equal(inputRequestTexts(r), inputRequestTexts(a.InputReplies[round]))
}

// lastJudgedRound is the second round where it asks for something and goes on when it is answered, else the first.
func (a inputLoop) lastJudgedRound(t *check.T) int {
	if !check.SavesRequests(t) && len(a.InputReplies) > 1 && len(inputRequestsOf(a.InputReplies[1])) > 0 &&
		a.continuesAfter(t, 1) {
		return 1
	}
	return 0
}

// continuesAfter reports whether the server goes on when a round gets valid responses.
func (a inputLoop) continuesAfter(t *check.T, round int) bool {
	came := a.outcomeOf(t, round, a.replyAfter(round))
	return came == outcomeFinal || came == outcomeOtherRequests
}

// inputRequestTexts returns short forms of the input requests of a reply, sorted.
func inputRequestTexts(r driver.Reply) (all []string) {
	for _, v := range inputRequestsOf(r) {
		request, _ := v.(check.M)
		params, _ := request["params"].(check.M)
		all = append(all, check.Show(request["method"])+" "+check.Show(params["message"]))
	}
	slices.Sort(all)
	return all
}

// These are the outcomes of a retry.
const (
	outcomeError         = "an error"
	outcomeToolError     = "isError"
	outcomeSameRequests  = "a result that asks for the same again"
	outcomeOtherRequests = "a result that asks for something else"
	outcomeFinal         = "a final result"
	outcomeNoResponse    = "no answer"
)

// outcome returns the outcome of a reply to a retry of the first round.
func (a inputLoop) outcome(t *check.T, r driver.Reply) string { return a.outcomeOf(t, 0, r) }

// outcomeOf returns the outcome of a reply to a retry of a round.
func (a inputLoop) outcomeOf(t *check.T, round int, r driver.Reply) string {
	switch {
	case !r.Answered():
		return outcomeNoResponse
	case r.Result() == nil:
		return outcomeError
	case !toolcall.IsInputRequired(t, r):
		if r.IsFailure() {
			return outcomeToolError
		}
		return outcomeFinal
	case a.repeatsRound(round, r):
		return outcomeSameRequests
	}
	return outcomeOtherRequests
}

// start repeats the first request, and returns the reply with the responses to it.
func (x *loopRetry) start(t *check.T, s *driver.Session) (first driver.Reply, responses check.M) {
	first = x.send(t, s, x.params)
	return first, x.responsesTo(t, first)
}

// startAt repeats the first rounds, and returns the reply that asks for the input of a round, with the responses to it.
func (x *loopRetry) startAt(t *check.T, s *driver.Session, round int) (asked driver.Reply, responses check.M) {
	asked, responses = x.start(t, s)
	for range round {
		asked = x.send(t, s, toolcall.RetryParams(x.params, asked, responses))
		responses = x.responsesTo(t, asked)
	}
	return asked, responses
}

// responsesTo returns the responses to a first reply, which has to ask for input.
func (x *loopRetry) responsesTo(t *check.T, first driver.Reply) check.M {
	if x.reply = first; !toolcall.IsInputRequired(t, first) {
		t.Retry(check.Undecided, "it asked for input before, and now there is %s", check.Got(first))
	}
	responses, err := toolcall.InputResponses(t, first)
	if err != nil {
		t.Retry(check.Undecided, "%v", err)
	}
	return responses
}

// send sends the request with params.
func (x *loopRetry) send(t *check.T, s *driver.Session, params check.M) driver.Reply {
	x.reply = t.Send(s, x.Method, params)
	return x.reply
}

// sendInvalid sends the request with params that the server has to reject.
func (x *loopRetry) sendInvalid(t *check.T, s *driver.Session, params check.M) driver.Reply {
	x.reply = invalid.RequestInvalid(t, s, x.Method, params)
	return x.reply
}

// retry retries the request with responses, and returns the outcome.
func (x *loopRetry) retry(t *check.T, s *driver.Session, first driver.Reply, responses check.M) string {
	return x.outcome(t, x.send(t, s, toolcall.RetryParams(x.params, first, responses)))
}

// usualOutcome returns the outcome of the first round in the original loop.
func (a inputLoop) usualOutcome(t *check.T) string { return a.outcome(t, a.replyAfter(0)) }

// withMember returns a copy of an object with a member added or replaced.
func withMember(object check.M, name string, value any) check.M {
	changed := maps.Clone(object)
	changed[name] = value
	return changed
}

// String names the request.
func (a inputLoop) String() string { return a.Method + " of " + a.name }
