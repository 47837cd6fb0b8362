package auth

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// protectedRequest is the first thing that a protected server does not serve without a token. What is wrong with a
// token is tried out there.
type protectedRequest struct {
	Method   string              // the greeting or, when that is for everybody, a list; empty: there is no such thing
	Response driver.HTTPResponse // to the request without a token
}

// protectedRequestOf finds the gate of a server. It ends a check that has no use without one.
func protectedRequestOf(t *check.T) protectedRequest {
	if !t.Server.Protected && t.Credentials.Bearer == "" {
		t.Skip(
			"the server is not protected, as far as can be told: it asked for no token, and none was given " +
				"(--bearer-env)",
		)
	}
	g := check.Step(t, "without a token", findProtectedRequest)
	if g.Method == "" {
		greeting, _ := roundtrip.ConnectRequest(t)
		t.Skip("the server serves %s and lists without a token", greeting)
	}
	return g
}

func findProtectedRequest(t *check.T) protectedRequest {
	s := t.NewProcess()
	first, welcome := connect(t, s, nil)
	if welcome == nil {
		greeting, _ := roundtrip.ConnectRequest(t)
		return protectedRequest{greeting, roundtrip.RequireHTTPResponse(t, first)}
	}
	capabilities, _ := welcome["capabilities"].(check.M)
	for _, method := range protocol.ListMethods(capabilities) {
		a := roundtrip.RequireHTTPResponse(t,
			roundtrip.AwaitResponse(roundtrip.PostRequest(s,
				roundtrip.ManualRequest{Method: method, Header: followUpHeader(t, nil)})))
		if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden {
			return protectedRequest{method, a}
		}
	}
	return protectedRequest{}
}

// send asks at the gate, with another request than an ordinary one. It has a session of its own.
func (g protectedRequest) send(t *check.T, r roundtrip.ManualRequest) *driver.RoundTrip {
	s := t.NewProcess()
	if g.isConnectRequest(t) {
		r.Method, r.Params = roundtrip.ConnectRequest(t)
	} else {
		connect(t, s, nil)
		r.Method, r.Header = g.Method, followUpHeader(t, r.Header["Authorization"])
	}
	return roundtrip.PostRequest(s, r)
}

// isConnectRequest reports whether the gate is the first request that a client makes.
func (g protectedRequest) isConnectRequest(t *check.T) bool {
	greeting, _ := roundtrip.ConnectRequest(t)
	return g.Method == greeting
}

// with asks at the gate with a token.
func (g protectedRequest) responseWith(t *check.T, token string) driver.HTTPResponse {
	return roundtrip.RequireHTTPResponse(t,
		roundtrip.AwaitResponse(g.send(t, roundtrip.ManualRequest{Header: bearerHeader(token)})))
}

// connect greets the server by hand, with values of the Authorization header or without it, and returns the result of
// the greeting; nil when it is refused.
func connect(t *check.T, s *driver.Session, authorization []string) (a driver.HTTPResponse, welcome check.M) {
	hello := roundtrip.PostConnect(t, s, http.Header{"Authorization": authorization})
	if a = roundtrip.AwaitResponse(hello); !a.OK() {
		return a, nil
	}
	if welcome = hello.AwaitReply().Result(); welcome != nil && !t.IsModern() {
		roundtrip.AwaitResponse(roundtrip.PostInitialized(s, followUpHeader(t, authorization)))
	}
	return a, welcome
}

// followUpHeader is the headers of a request by hand after the greeting.
func followUpHeader(t *check.T, authorization []string) http.Header {
	return http.Header{"Authorization": authorization, "Mcp-Protocol-Version": {t.Revision}}
}

// bearerHeader is the Authorization header with a token.
var bearerHeader = roundtrip.BearerHeader

// haveStatus matches an answer with one of the statuses.
func haveStatus(statuses ...int) types.GomegaMatcher {
	names := make([]string, len(statuses))
	for i, status := range statuses {
		names[i] = fmt.Sprint(status)
	}
	return check.Satisfy("HTTP "+strings.Join(names, " or "), func(a driver.HTTPResponse) bool {
		return slices.Contains(statuses, a.StatusCode)
	})
}

// skipIfNoOAuth ends a check of the status of refusals where a server that has nothing of OAuth refuses a key with 403:
// what the pages on authorization demand does not bind it.
func skipIfNoOAuth(t *check.T, a driver.HTTPResponse) {
	if a.StatusCode == http.StatusForbidden && !hasChallenge(a) && lacksOAuth(t) {
		t.Skip("HTTP 403 of a server with keys that its operator hands out: it has nothing of OAuth")
	}
}

// beRejected matches an answer that serves nothing.
func beRejected() types.GomegaMatcher {
	return check.Satisfy("HTTP 401", func(a driver.HTTPResponse) bool { return !a.OK() })
}

// requireToken ends a check that wants an ordinary session where none can be had.
func requireToken(t *check.T) {
	switch {
	case t.Credentials.Bearer == "":
		t.WithReason(check.NotGiven).Skip("no token was given (--bearer-env)")
	case t.Server.Failure != "":
		t.WithReason(check.HandshakeFailed).Inconclusive("%s", t.Server.Failure)
	}
}

// skipUnlessTokenGiven ends a check that wants a further token which was not given.
func skipUnlessTokenGiven(t *check.T, token, kind string) {
	if token == "" {
		t.WithReason(check.NotGiven).Skip("no such token was given (--token-env %s=VARIABLE)", kind)
	}
}
