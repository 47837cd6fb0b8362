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
)

// maxTools is how many tools that ask are called again, in each way.
const maxTools = 3

// elicitingTool is a tool that asks users, and what came of it with a client that declares certain modes.
type elicitingTool struct {
	accepted           *client.InteractiveCall // with a user who agrees
	declined           []answeredCall          // declined, and cancelled
	respondedWithError []answeredCall          // answered by errors: refusals
	invalidResponses   []invalidResponse       // answered with content that the form does not allow
}

// answeredCall is a call in which all questions to the user have one answer.
type answeredCall struct {
	response string // as messages show it
	*client.InteractiveCall
}

// clientErrors are the errors of a client that cannot ask its user.
var clientErrors = []client.ClientResponse{
	client.NewErrorResponse(errcode.InvalidParams, "Invalid params: this mode is not supported"),
	client.NewErrorResponse(errcode.MethodNotFound,
		"Method not found"),
}

// The clients that declare some modes only. None means forms.
var (
	noModes  = check.M{}
	formOnly = check.M{formMode: check.M{}}
	urlOnly  = check.M{urlMode: check.M{}}
)

// callInAllModes calls the tools that ask users as clients that do not have every mode, where there are modes.
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

// elicitingCalls are the tools that ask users, and askers the first of them.
func elicitingCalls(t *check.T) []*client.InteractiveCall {
	mute := func(i *client.InteractiveCall) bool { return !i.AsksFor(createMethod) }
	return slices.DeleteFunc(slices.Clone(client.CallInteractively(t).List), mute)
}

func firstElicitingCalls(t *check.T) []*client.InteractiveCall {
	all := elicitingCalls(t)
	return all[:min(len(all), maxTools)]
}

// noteUncoveredTools says how many tools a verdict does not cover.
func noteUncoveredTools(t *check.T) {
	all := len(elicitingCalls(t))
	if left := all - maxTools; left > 0 {
		t.Caveat("%d of %d tools that ask the user were called in one way only", left, all)
	}
}

// callInMode calls them as a client that declares these modes and all else. One with a single mode is asked in it in
// every way.
func callInMode(t *check.T, modes check.M) []elicitingTool {
	return check.Step(t, "client with elicitation "+check.Show(modes), func(t *check.T) (all []elicitingTool) {
		declared := maps.Clone(protocol.AllCapabilities(t.Revision))
		if declared["elicitation"] = modes; len(modes) == 0 && !t.IsModern() {
			declared = handshake.BasicCapabilities // of which there is a session already
		}
		c := &elicitationClient{t: t, declared: declared}
		for _, i := range firstElicitingCalls(t) {
			a := elicitingTool{accepted: c.call(i, acceptingUser(t))}
			if a.accepted.IsSilent() {
				break
			}
			if len(modes) == 0 || check.HasMember(modes, urlMode) {
				c.varyResponses(&a)
			}
			all = append(all, a)
		}
		return all
	})
}

// acceptingUser is a client whose user agrees to everything, to URLs as well. Nobody goes there: "It does not mean that
// the interaction is complete."
func acceptingUser(t *check.T) client.Responder {
	others := client.AcceptAll(t)
	return func(q client.ServerRequest) client.ClientResponse {
		if q.Method == createMethod && client.ModeOf(q.Params) == urlMode {
			return client.ClientResponse{Result: check.M{"action": "accept"}}
		}
		return others(q)
	}
}

// hasEnded reports whether calls of the tool come to an end with any answer. A server may wait until the user has been
// at a URL to which it has sent them, or ask until they agree.
func (a elicitingTool) hasEnded() bool {
	ended := func(x answeredCall) bool { return x.Reply.Answered() }
	return a.accepted.Reply.Answered() || slices.ContainsFunc(slices.Concat(a.declined, a.respondedWithError), ended)
}

// elicitationClient is a client, and another one like it once its session has not survived a call.
type elicitationClient struct {
	t        *check.T
	declared check.M
	client   *client.Client
}

// call makes a call once more, with other answers.
func (c *elicitationClient) call(i *client.InteractiveCall, answering client.Responder) *client.InteractiveCall {
	if c.client == nil || !c.client.Session.IsUsable() {
		c.client = client.ReusedClient(c.t, c.declared, client.AcceptAll(c.t))
	}
	return c.client.CallTool(c.t, i.Tool, i.Arguments, answering)
}

// varyResponses answers what a tool asks in every way.
func (c *elicitationClient) varyResponses(a *elicitingTool) {
	if !a.accepted.AsksFor(createMethod) {
		return
	}
	try := func(answer client.ClientResponse) answeredCall {
		shown := check.Show(answer.Result)
		if answer.Error != nil {
			shown = fmt.Sprintf("error %v", answer.Error["code"])
		}
		return answeredCall{shown, c.call(a.accepted, client.RespondTo(c.t, createMethod, answer))}
	}
	for _, action := range []string{"decline", "cancel"} {
		a.declined = append(a.declined, try(client.ClientResponse{Result: check.M{"action": action}}))
	}
	if c.t.IsModern() {
		return // a client says nothing else there, and mrtr/invalid-response-rejected judges content
	}
	for _, refusal := range clientErrors {
		a.respondedWithError = append(a.respondedWithError, try(refusal))
	}
	c.respondInvalidly(a)
}

// requireElicitingTools are the tools that ask forms or URLs, and what came of every answer.
func requireElicitingTools(t *check.T) (all []elicitingTool) {
	client.RequireInteractiveCalls(t, createMethod)
	noteUncoveredTools(t)
	all = slices.Clone(callInMode(t, noModes))
	if t.Revision >= "2025-11-25" {
		all = append(all, callInMode(t, urlOnly)...)
	}
	all = slices.DeleteFunc(all, func(a elicitingTool) bool { return a.declined == nil })
	if len(all) == 0 {
		t.WithReason(check.NotObserved).Inconclusive("no tool that has asked the user did so again")
	}
	return all
}

// describeMode says which mode a question is of.
func describeMode(q client.ServerRequest) string {
	if !check.HasMember(q.Params, "mode") {
		return "a question without a mode, which is a form"
	}
	return "a question of mode " + check.Show(q.Params["mode"])
}

// describeClient names the modes that a client has declared.
func describeClient(client check.M) string {
	return fmt.Sprintf("a client with elicitation %s", check.Show(client["elicitation"]))
}
