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
)

// inputLoop is a request that the server answers by asking for input, and how that went on with a client that can
// answer everything.
type inputLoop struct {
	*toolcall.InputLoop
	name   string  // of the tool or prompt, or the URI of the resource
	params check.M // with which it can be made again
}

// The bounds of what is asked for, and how often.
const (
	maxItems      = 20 // prompts that are got and resources that are read, to see whether they ask
	maxLoops      = 3  // askers that are tried once more for a check
	maxStateBytes = 1 << 20
)

// inputLoops are those of the run: tools that may be called, prompts and resources.
func inputLoops(t *check.T) (all []inputLoop) {
	calls := toolcall.ValidCalls(t)
	for _, call := range slices.Concat(calls.List, calls.UnfinishedLoops) {
		params := check.M{"name": call.Tool.Name, "arguments": call.Arguments}
		all = append(all,
			inputLoop{call.InputLoop, call.Tool.Name,
				protocol.WithCapabilities(params, protocol.AllModernCapabilities)})
	}
	all = append(all, check.Step(t, "prompts and resources", itemLoops)...)
	return slices.DeleteFunc(all, func(a inputLoop) bool { return len(a.InputReplies) == 0 })
}

// itemLoops are the first prompts and resources.
func itemLoops(t *check.T) (all []inputLoop) {
	add := func(method, name string, params check.M) {
		params = protocol.WithCapabilities(params, protocol.AllModernCapabilities)
		all = append(all, inputLoop{toolcall.RunInputLoop(t, t.Session(), method, params), name, params})
	}
	for _, prompt := range t.Server.Prompts[:min(len(t.Server.Prompts), maxItems)] {
		if name, isString := prompt["name"].(string); isString {
			add("prompts/get", name, check.M{"name": name, "arguments": requiredPromptArguments(prompt)})
		}
	}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), maxItems)] {
		if uri, isString := resource["uri"].(string); isString {
			add("resources/read", uri, check.M{"uri": uri})
		}
	}
	return all
}

// requiredPromptArguments are those that a prompt cannot do without.
func requiredPromptArguments(prompt check.M) check.M {
	arguments := check.M{}
	for _, argument := range protocol.ObjectsIn(prompt["arguments"]) {
		if name, _ := argument["name"].(string); argument["required"] == true {
			arguments[name] = "mcpcheck"
		}
	}
	return arguments
}

// requireLoops are the askers that a check is for, which it cannot do without; what names them in the reason.
func requireLoops(t *check.T, what string, keep func(inputLoop) bool) []inputLoop {
	all := slices.DeleteFunc(inputLoops(t), func(a inputLoop) bool { return !keep(a) })
	wrong := func(a inputLoop) bool { return a.violatedChecks(t) != nil }
	if i := slices.IndexFunc(all, wrong); i >= 0 && len(slices.DeleteFunc(slices.Clone(all), wrong)) == 0 {
		t.Yield("%s asks by a result that is not valid", all[i])
	}
	all = slices.DeleteFunc(all, wrong)
	if len(all) == 0 {
		toolcall.SkipNotObserved(t, what, toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	}
	return all
}

// requireContinuingLoops are the first askers that go on when they are answered as a client should.
func requireContinuingLoops(t *check.T, what string, keep func(inputLoop) bool) []inputLoop {
	all := requireLoops(t, what, keep)
	willing := slices.DeleteFunc(slices.Clone(all), func(a inputLoop) bool {
		return !slices.Contains([]string{outcomeFinal, outcomeOtherRequests}, a.usualOutcome(t))
	})
	failing := func(a inputLoop) bool { return a.usualOutcome(t) == outcomeToolError }
	switch {
	case len(willing) == 0 && slices.ContainsFunc(all, failing):
		t.WithReason(check.NotObserved).Skip("no %s goes on when it is answered", what)
	case len(willing) == 0:
		t.Yield("no %s goes on when it is answered", what)
	}
	handy := slices.DeleteFunc(willing,
		func(a inputLoop) bool { return len(toolcall.RequestState(a.InputReplies[0])) > maxStateBytes })
	if len(handy) == 0 {
		t.WithReason(check.Limit).
			Inconclusive("the requestState is longer than %s, too long for mcpcheck to try it many times",
				driver.FormatSize(maxStateBytes))
	}
	return handy[:min(len(handy), maxLoops)]
}

// loopRetry is an asker that is tried once more, and the last that came of it.
type loopRetry struct {
	inputLoop
	reply driver.Reply
}

func (x *loopRetry) subject() check.Subject {
	return check.Subject{Name: x.name, Frames: []*driver.Frame{x.reply.Request, x.reply.Frame}}
}

// eachLoop tries a check on askers. What fails is shown by the last that was asked.
func eachLoop(t *check.T, all []inputLoop, run func(*check.T, *loopRetry)) {
	var trials []*loopRetry
	for _, a := range all {
		trials = append(trials, &loopRetry{inputLoop: a})
	}
	check.Each(t, trials, (*loopRetry).subject, run)
}

// inputRequestsOf are the input requests of a reply.
func inputRequestsOf(r driver.Reply) check.M {
	requests, _ := r.Result()["inputRequests"].(check.M)
	return requests
}

// hasInputRequest reports whether a reply has an input request of a method.
func hasInputRequest(r driver.Reply, method string) bool {
	for _, v := range inputRequestsOf(r) {
		if request, _ := v.(check.M); request["method"] == method {
			return true
		}
	}
	return false
}

// requestsMethod reports whether the server asks for a method in some round.
func (a inputLoop) requestsMethod(method string) bool {
	return slices.ContainsFunc(a.InputReplies, func(r driver.Reply) bool { return hasInputRequest(r, method) })
}

// violatedChecks are the checks that find fault with what the request is answered with, as long as it asks for input.
func (a inputLoop) violatedChecks(t *check.T) (checks []string) {
	for _, r := range a.InputReplies {
		for _, broken := range schemas.ValidateMessage(t.Revision, "InputRequiredResult", r.Result()) {
			checks = append(checks, protocol.OwnerOf(broken, t.Revision))
		}
	}
	slices.Sort(checks)
	return slices.Compact(checks)
}

// hasInputRequests reports whether the first round has requests.
func (a inputLoop) hasInputRequests() bool { return len(inputRequestsOf(a.InputReplies[0])) > 0 }

// isToolCall reports whether a tool asks.
func (a inputLoop) isToolCall() bool { return a.Method == "tools/call" }

// replyAfter is what came when a round was answered; the zero value where it was not.
func (a inputLoop) replyAfter(round int) driver.Reply {
	switch {
	case round+1 < len(a.InputReplies):
		return a.InputReplies[round+1]
	case a.AbortReason != "":
		return driver.Reply{}
	}
	return a.LastReply
}

// isStuck reports whether the server has asked for the same until mcpcheck gave up.
func (a inputLoop) isStuck() bool {
	other := func(r driver.Reply) bool { return !a.repeatsFirstRound(r) }
	return len(a.InputReplies) > toolcall.MaxInputRounds && !slices.ContainsFunc(a.InputReplies, other)
}

// repeatsFirstRound reports whether a reply asks for what the first round asks for. Keys may be new ones, and URLs.
func (a inputLoop) repeatsFirstRound(r driver.Reply) bool {
	return slices.Equal(inputRequestTexts(r), inputRequestTexts(a.InputReplies[0]))
}

// inputRequestTexts are what a reply asks for, in short and sorted.
func inputRequestTexts(r driver.Reply) (all []string) {
	for _, v := range inputRequestsOf(r) {
		request, _ := v.(check.M)
		params, _ := request["params"].(check.M)
		all = append(all, check.Show(request["method"])+" "+check.Show(params["message"]))
	}
	slices.Sort(all)
	return all
}

// What a request comes to that was made again with answers.
const (
	outcomeError         = "an error"
	outcomeToolError     = "isError"
	outcomeSameRequests  = "a result that asks for the same again"
	outcomeOtherRequests = "a result that asks for something else"
	outcomeFinal         = "a final result"
	outcomeNoResponse    = "no answer"
)

// outcome is what a reply to a retry of the first round is.
func (a inputLoop) outcome(t *check.T, r driver.Reply) string {
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
	case a.repeatsFirstRound(r):
		return outcomeSameRequests
	}
	return outcomeOtherRequests
}

// start makes the request once more, up to where it asks, and returns the answers to that, too.
func (x *loopRetry) start(t *check.T, s *driver.Session) (first driver.Reply, responses check.M) {
	first = x.send(t, s, x.params)
	return first, x.responsesTo(t, first)
}

// responses are the answers to a first reply, which is to ask for input.
func (x *loopRetry) responsesTo(t *check.T, first driver.Reply) check.M {
	if x.reply = first; !toolcall.IsInputRequired(t, first) {
		t.Retry("it asked for input before, and now there is %s", check.Got(first))
	}
	responses, err := toolcall.InputResponses(t, first)
	if err != nil {
		t.Retry("%v", err)
	}
	return responses
}

// send makes the request with params.
func (x *loopRetry) send(t *check.T, s *driver.Session, params check.M) driver.Reply {
	x.reply = t.Request(s, x.Method, params)
	return x.reply
}

// sendInvalid makes the request with params that are to be refused.
func (x *loopRetry) sendInvalid(t *check.T, s *driver.Session, params check.M) driver.Reply {
	x.reply = invalid.RequestInvalid(t, s, x.Method, params)
	return x.reply
}

// retry makes the request again with answers, and says what that comes to.
func (x *loopRetry) retry(t *check.T, s *driver.Session, first driver.Reply, responses check.M) string {
	return x.outcome(t, x.send(t, s, toolcall.RetryParams(x.params, first, responses)))
}

// usualOutcome is what the request came to when the first round was answered.
func (a inputLoop) usualOutcome(t *check.T) string { return a.outcome(t, a.replyAfter(0)) }

// withMember is an object with a member more, or another one.
func withMember(object check.M, name string, value any) check.M {
	changed := maps.Clone(object)
	changed[name] = value
	return changed
}

// String names the request.
func (a inputLoop) String() string { return a.Method + " of " + a.name }
