package elicitation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// maxTools is the number of tools with elicitations that are called again by each client.
const maxTools = 3

// elicitingTool is a tool that elicits, with its calls by a client that declares certain modes.
type elicitingTool struct {
	// accepted is the call in which the user accepts everything.
	accepted *client.InteractiveCall
	// declined are the calls in which the user declines or cancels.
	declined []answeredCall
	// declinedSecond are the calls in which the user accepts the first elicitation, and declines or cancels the second.
	declinedSecond []answeredCall
	// respondedWithError are the calls in which the client responds with errors.
	respondedWithError []answeredCall
	// invalidResponses are the calls in which the client responds with content that the form does not allow.
	invalidResponses []invalidResponse
}

// answeredCall is a call in which all elicitations get the same response.
type answeredCall struct {
	// response describes the response in messages.
	response string
	*client.InteractiveCall
}

// clientErrors are the errors of a client that cannot ask its user.
var clientErrors = []client.ClientResponse{
	client.NewErrorResponse(errcode.InvalidParams, "Invalid params: this mode is not supported"),
	client.NewErrorResponse(errcode.MethodNotFound,
		"Method not found"),
}

// These values of the elicitation capability declare some modes only. No mode means form mode.
var (
	noModes  = check.M{}
	formOnly = check.M{formMode: check.M{}}
	urlOnly  = check.M{urlMode: check.M{}}
)

// callInAllModes calls the tools that elicit as clients that lack a mode, if the revision has modes.
func callInAllModes(t *check.T) {
	if len(firstElicitingCalls(t)) == 0 {
		return
	}
	callInMode(t, noModes)
	if t.Revision >= "2025-11-25" {
		callInMode(t, formOnly)
		callInMode(t, urlOnly)
	}
}

// elicitingCalls returns the calls of all tools that elicit.
func elicitingCalls(t *check.T) []*client.InteractiveCall {
	mute := func(i *client.InteractiveCall) bool { return !i.AsksFor(createMethod) }
	return slices.DeleteFunc(slices.Clone(client.CallInteractively(t).List), mute)
}

// firstElicitingCalls returns maxTools of elicitingCalls, those that elicit more often first.
func firstElicitingCalls(t *check.T) []*client.InteractiveCall {
	all := elicitingCalls(t)
	times := func(i *client.InteractiveCall) int { return min(len(i.RequestsFor(createMethod)), 2) }
	slices.SortStableFunc(all, func(a, b *client.InteractiveCall) int { return times(b) - times(a) })
	return all[:min(len(all), maxTools)]
}

// noteUncoveredTools adds a caveat for the tools that a verdict does not cover.
func noteUncoveredTools(t *check.T) {
	all := len(elicitingCalls(t))
	if left := all - maxTools; left > 0 {
		t.Caveat("%d of %d tools that ask the user were called in one way only", left, all)
	}
}

// callInMode calls the first tools that elicit as a client with these modes and all other capabilities. If the client
// has a single mode, its elicitations are answered in every way.
func callInMode(t *check.T, modes check.M) []elicitingTool {
	return check.Step(t, "client with elicitation "+check.Show(modes), func(t *check.T) (all []elicitingTool) {
		declared := maps.Clone(protocol.AllCapabilities(t.Revision))
		if declared["elicitation"] = modes; len(modes) == 0 && !t.IsModern() {
			declared = handshake.BasicCapabilities // the pool may already have such a session
		}
		c := &elicitationClient{t: t, declared: declared}
		for _, i := range firstElicitingCalls(t) {
			a := elicitingTool{accepted: c.call(i, acceptingUser(t))}
			if a.accepted.IsSilent() {
				break
			}
			all = append(all, a)
			if len(modes) == 0 || check.HasMember(modes, urlMode) {
				c.varyResponses(&all[len(all)-1])
			} else if !c.callWithOtherChoices(i) {
				break
			}
		}
		return all
	})
}

// acceptingUser is a client whose user accepts everything, URLs included. The URLs are not visited: "It does not mean
// that the interaction is complete."
func acceptingUser(t *check.T) client.Responder {
	others := client.AcceptAll(t)
	return func(q client.ServerRequest) client.ClientResponse {
		if q.Method == createMethod && client.ModeOf(q.Params) == urlMode {
			return client.ClientResponse{Result: check.M{"action": "accept"}}
		}
		return others(q)
	}
}

// hasEnded reports whether any call of the tool was answered. A server may wait until the user has been at a URL, or
// ask until the user accepts.
func (a elicitingTool) hasEnded() bool {
	ended := func(x answeredCall) bool { return x.Reply.Answered() }
	return a.accepted.Reply.Answered() || slices.ContainsFunc(slices.Concat(a.declined, a.respondedWithError), ended)
}

// elicitationClient makes calls as a client with certain capabilities. If its session does not survive a call, another
// one is opened for the next.
type elicitationClient struct {
	t        *check.T
	declared check.M
	client   *client.Client
}

// call repeats a call with other responses to elicitations.
func (c *elicitationClient) call(i *client.InteractiveCall, answering client.Responder) *client.InteractiveCall {
	if c.client == nil || !c.client.Session.IsUsable() {
		c.client = client.ReusedClient(c.t, c.declared, client.AcceptAll(c.t))
	}
	return c.client.CallTool(c.t, i.Tool, i.Arguments, answering)
}

// callWithOtherChoices repeats a call with other values of enums and booleans, by which a tool may ask in another mode,
// and reports whether all of them were answered.
func (c *elicitationClient) callWithOtherChoices(i *client.InteractiveCall) bool {
	for _, arguments := range toolcall.OtherChoices(c.t, i.Tool, i.Arguments) {
		other := &client.InteractiveCall{Tool: i.Tool, Arguments: arguments}
		if c.call(other, acceptingUser(c.t)).IsSilent() {
			return false
		}
	}
	return true
}

// varyResponses answers what a tool elicits in every way.
func (c *elicitationClient) varyResponses(a *elicitingTool) {
	if !a.accepted.AsksFor(createMethod) {
		return
	}
	isRepeated := len(a.accepted.RequestsFor(createMethod)) > 1
	try := func(answer client.ClientResponse) answeredCall {
		shown := check.Show(answer.Result)
		if answer.Error != nil {
			shown = fmt.Sprintf("error %v", answer.Error["code"])
		}
		return answeredCall{shown, c.call(a.accepted, client.RespondTo(c.t, createMethod, answer))}
	}
	for _, action := range []string{"decline", "cancel"} {
		answer := client.ClientResponse{Result: check.M{"action": action}}
		a.declined = append(a.declined, try(answer))
		if isRepeated {
			a.declinedSecond = append(a.declinedSecond, answeredCall{check.Show(answer.Result) + " the second time",
				c.call(a.accepted, respondOnce(c.t, createMethod, 2, answer))})
		}
	}
	if c.t.IsModern() {
		return // modern clients have no other responses, and mrtr/invalid-response-rejected judges content
	}
	for _, refusal := range clientErrors {
		x := try(refusal)
		if a.respondedWithError = append(a.respondedWithError, x); !x.Reply.Answered() {
			break // each further one would take as long
		}
	}
	c.respondInvalidly(a)
}

// requireElicitingTools returns the tools that elicit in any mode, with their calls. If there are none, it ends the
// check.
func requireElicitingTools(t *check.T) (all []elicitingTool) {
	client.RequireInteractiveCalls(t, createMethod)
	noteUncoveredTools(t)
	all = slices.Clone(callInMode(t, noModes))
	if t.Revision >= "2025-11-25" {
		all = append(all, callInMode(t, urlOnly)...)
	}
	all = slices.DeleteFunc(all, func(a elicitingTool) bool { return a.declined == nil })
	if len(all) == 0 {
		t.NoVerdict(check.NotObserved, "no tool that has asked the user did so again")
	}
	return all
}

// describeMode describes an elicitation by its mode.
func describeMode(q client.ServerRequest) string {
	if !check.HasMember(q.Params, "mode") {
		return "a question without a mode, which is a form"
	}
	return "a question of mode " + check.Show(q.Params["mode"])
}

// describeClient describes a client by the modes that it declares.
func describeClient(client check.M) string {
	return fmt.Sprintf("a client with elicitation %s", check.Show(client["elicitation"]))
}
