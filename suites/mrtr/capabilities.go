package mrtr

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// capabilityChecks are the checks of which requests may be answered by asking for input, and of what clients with few
// capabilities are asked for.
var capabilityChecks = check.Suite{
	"mrtr/only-supported-methods": check.WatchWithSetup(requestOtherMethods, func(t *check.T, w check.Wire) {
		final := protocol.ModernResults(t, w).Filter("result of another method", func(m check.Message) bool {
			return !protocol.MayRequireInput(m) && !protocol.IsTaskResponse(m)
		})
		t.Judge(final, func(t *check.T, m check.Message) {
			kind := protocol.ResultOf(m)["resultType"]
			if kind == "input_required" && protocol.IsAlwaysComplete(m.Request.Method) {
				t.Yield("%s asks for input", m.Request.Method)
			}
			if strings.HasPrefix(m.Request.Method, "skills/") {
				t.Skip(check.NotApplicable, "%s has a rule of its own", m.Request.Method)
			}
			t.Expect(kind != "input_required").To(
				check.BeTrue("a final result of "+m.Request.Method, "one that asks for input"))
		})
	}),

	"mrtr/undeclared-elicitation": undeclaredCheck("elicitation", "elicitation/create"),
	"mrtr/undeclared-sampling":    undeclaredCheck("sampling", "sampling/createMessage"),
	"mrtr/undeclared-roots":       undeclaredCheck("roots", "roots/list"),

	"mrtr/missing-capability-error": check.Probe(func(t *check.T) {
		check.Each(t, retriesWithoutCapabilities(t), (*loopRetry).subject, func(t *check.T, x *loopRetry) {
			was := x.outcome(t, x.LastReply)
			switch {
			case toolcall.IsInputRequired(t, x.reply):
				t.Yield("it asks all the same")
			case x.reply.Result() != nil && (!x.reply.IsFailure() || was == outcomeToolError):
				t.Skip(check.NotObserved, "it does without what it asks for")
			case was == outcomeError || was == outcomeNoResponse:
				t.Yield("it fails with the capabilities as well: %s", check.Got(x.LastReply))
			}
			toolcall.RequireNotRateLimited(t, t.Session(), x.reply, errcode.MissingRequiredClientCapability)
			t.ExpectShould(x.reply.Result() == nil).To(check.BeTrue("error -32021", "%s", x.reply))
			t.Expect(x.reply).To(check.BeError(errcode.MissingRequiredClientCapability))
		})
	}),

	"mrtr/missing-capability-data": check.Probe(func(t *check.T) {
		eachMissingCapability(t, func(t *check.T, x *loopRetry) {
			data, _ := x.reply.Error()["data"].(check.M)
			t.Expect(check.Member(data, "requiredCapabilities")).To(check.BeObject(), "data.requiredCapabilities")
			required := data["requiredCapabilities"].(check.M)
			for _, name := range slices.Sorted(maps.Keys(required)) {
				t.Expect(required[name]).To(check.BeObject(), name)
			}
			t.Expect(len(required) > 0).To(check.BeTrue("the capabilities that are missing", "none"))
		})
	}),

	"mrtr/missing-capability-http-400": check.Probe(func(t *check.T) {
		eachMissingCapability(t, func(t *check.T, x *loopRetry) {
			status := x.reply.Frame.RoundTrip.Response().StatusCode
			t.Expect(status == http.StatusBadRequest).To(check.BeTrue("HTTP 400 with error -32021", "HTTP %d", status))
		})
	}),
}

// requestOtherMethods sends requests that must not be answered by asking for input, as a client with all capabilities.
func requestOtherMethods(t *check.T) {
	s := t.Session()
	able := protocol.WithCapabilities(nil, protocol.AllModernCapabilities)
	method, _ := s.NoOp()
	t.Send(s, method, able, check.AllowSilence)
	for _, list := range protocol.ListMethods(t.Server.Capabilities) {
		if check.KnownUnanswered(t, list) == nil {
			t.Send(s, list, able, check.AllowSilence)
		}
	}
	const most = 8
	all := toolcall.CompletionArguments(t)
	for _, argument := range all[:min(most, len(all))] {
		if t.Server.Declares("completions") && check.KnownUnanswered(t, "completion/complete") == nil {
			t.Send(s, "completion/complete",
				protocol.WithCapabilities(argument.Params(""), protocol.AllModernCapabilities), check.AllowSilence)
		}
	}
}

// undeclaredCheck makes a check that a client without a capability is not asked for what needs it.
func undeclaredCheck(capability, method string) check.Check {
	return check.Probe(func(t *check.T) {
		asking := func(a inputLoop) bool { return a.requestsMethod(method) }
		all := requireAny(t, "request that asks for "+method+" was made", selectLoops(t, asking))
		others := maps.Clone(protocol.AllModernCapabilities)
		delete(others, capability)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			again := func(s *driver.Session) inputLoop {
				params := protocol.WithCapabilities(x.params, others)
				return inputLoop{toolcall.RunInvalidInputLoop(t, s, x.Method, params), x.name, params}
			}
			c := again(t.Session())
			if c.requestsMethod(method) && !t.Server.OneClient &&
				!again(t.Session(check.ExclusiveUnlessQuick)).requestsMethod(method) {
				t.Yield("it asks only after a request that declares %s", capability)
			}
			for _, r := range c.InputReplies {
				x.reply = r
				t.Expect(!hasInputRequest(r, method)).To(check.BeTrue("no "+method+" for a client without "+capability,
					"%s", r))
			}
			if c.LastReply.Err != nil {
				t.Retry(check.Undecided, "%v", check.Explain(c.LastReply.Err))
			}
		})
	})
}

// retriesWithoutCapabilities returns the requests of some loops, repeated by a client without capabilities.
func retriesWithoutCapabilities(t *check.T) []*loopRetry {
	all := requireLoops(t, "request that asks for input was made", inputLoop.hasInputRequests)
	return check.Step(t, "client without capabilities", func(t *check.T) (trials []*loopRetry) {
		for _, a := range all {
			trials = append(trials,
				&loopRetry{a,
					invalid.RequestInvalid(t, t.Session(), a.Method, protocol.WithCapabilities(a.params, check.M{}))})
		}
		return trials
	})
}

// eachMissingCapability runs a check on the repeated requests that were answered with missingCapability.
func eachMissingCapability(t *check.T, run func(*check.T, *loopRetry)) {
	missing := slices.DeleteFunc(slices.Clone(retriesWithoutCapabilities(t)), func(x *loopRetry) bool {
		code, _ := x.reply.Code()
		return code != errcode.MissingRequiredClientCapability
	})
	check.Judge(t, "error -32021", missing, (*loopRetry).subject, run)
}
