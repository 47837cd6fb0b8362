package auth

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// callOf is what the name of an operation begins with that calls a tool.
const callOf = "tools/call of "

// insufficientScope is the first operation that needs more scope than the narrow token has.
type insufficientScope struct {
	// Operation is its name; empty when everything that was tried is served.
	Operation string
	// Request is the operation without a token; its method is empty for the first request of a client.
	Request roundtrip.ManualRequest
	// Response is the response to that operation.
	Response driver.HTTPResponse
	// Reply is the error of a tool with status 200 if there was no other refusal.
	Reply driver.Reply
}

// insufficientScopeOf tries operations with the narrow token that the ordinary token allows: the first request of a
// client, lists, and then calls of tools. It ends a check when all are served.
func insufficientScopeOf(t *check.T) insufficientScope {
	protectedRequestOf(t)
	skipUnlessTokenGiven(t, t.Credentials.InsufficientScope, "narrow")
	requireToken(t)
	b := check.Step(t, "beyond the scope", func(t *check.T) insufficientScope {
		s, token := t.Session(check.Process), []string{"Bearer " + t.Credentials.InsufficientScope}
		first, result := connect(t, s, token)
		if result == nil {
			method, _ := roundtrip.ConnectRequest(t)
			return insufficientScope{Operation: method, Response: roundtrip.RequireHTTPResponse(t, first)}
		}
		for _, method := range protocol.ListMethods(t.Server.Capabilities) {
			x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: method, Header: followUpHeader(t, token)})
			if a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x)); !a.OK() {
				request := roundtrip.ManualRequest{Method: method}
				return insufficientScope{Operation: method, Request: request, Response: a}
			}
		}
		return callInsufficientScope(t, s, token)
	})
	switch {
	case b.Operation == "":
		t.NoVerdict(check.Undecided, "nothing that was tried needs more scope than the narrow token has; "+
			"tools count that may be called (--calls)")
	case b.Response.StatusCode == http.StatusUnauthorized &&
		tokenChallengeOf(b.Response).Params["error"] == "invalid_token":
		t.NoVerdict(check.NotGiven, "the server does not accept the narrow token: %s", b.Response)
	}
	return b
}

// callInsufficientScope calls the tools that succeeded with the ordinary token.
func callInsufficientScope(t *check.T, s *driver.Session, token []string) (b insufficientScope) {
	for _, c := range toolcall.ValidCalls(t).List {
		if !hasSucceeded(c) {
			continue
		}
		request := roundtrip.ManualRequest{Method: "tools/call", Params: callParams(t, c)}
		x := roundtrip.PostRequest(s, withToken(t, request, token))
		a := roundtrip.AwaitResponse(x)
		switch {
		case !isFromServer(a):
		case !a.OK():
			return insufficientScope{callOf + c.Tool.Name, request, a, x.AwaitReply()}
		case b.Operation == "":
			if r := x.AwaitReply(); r.Answered() && (r.Result() == nil || r.Result()["isError"] == true) {
				b = insufficientScope{callOf + c.Tool.Name, request, a, r}
			}
		}
	}
	return b
}

// withToken returns a manual request after connect, with a token.
func withToken(t *check.T, request roundtrip.ManualRequest, token []string) roundtrip.ManualRequest {
	request.Header = followUpHeader(t, token)
	return request
}

// responseTo returns the response to the operation with another token, which the first request of a client has too.
func (b insufficientScope) responseTo(t *check.T, token string) driver.HTTPResponse {
	s, authorization := t.Session(check.Process), bearerHeader(token)["Authorization"]
	first, result := connect(t, s, authorization)
	if b.Request.Method == "" || result == nil {
		return roundtrip.RequireHTTPResponse(t, first)
	}
	x := roundtrip.PostRequest(s, withToken(t, b.Request, authorization))
	return roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x))
}
