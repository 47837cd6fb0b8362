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

// protectedRequest is the first request that the server refuses without a token. Checks send it with invalid tokens.
type protectedRequest struct {
	// Method is the request a client begins with or, if the server serves that to everybody, a list; empty when there
	// is none.
	Method string
	// Response is the response to the request without a token.
	Response driver.HTTPResponse
}

// protectedRequestOf finds the protected request of the server. It ends a check when there is none.
func protectedRequestOf(t *check.T) protectedRequest {
	if !t.Server.Protected && t.Credentials.Bearer == "" {
		t.Skip(
			check.NotApplicable, "the server is not protected, as far as can be told: it asked for no token, and "+
				"none was given "+
				"(--bearer-env)",
		)
	}
	g := check.Step(t, "without a token", findProtectedRequest)
	if g.Method == "" {
		method, _ := roundtrip.ConnectRequest(t)
		t.Skip(check.NotApplicable, "the server serves %s and lists without a token", method)
	}
	return g
}

func findProtectedRequest(t *check.T) protectedRequest {
	s := t.Session(check.Process)
	first, result := connect(t, s, nil)
	if result == nil {
		method, _ := roundtrip.ConnectRequest(t)
		return protectedRequest{method, roundtrip.RequireHTTPResponse(t, first)}
	}
	capabilities, _ := result["capabilities"].(check.M)
	for _, method := range protocol.ListMethods(capabilities) {
		a := roundtrip.RequireHTTPResponse(t,
			roundtrip.AwaitResponse(roundtrip.PostRequest(s,
				roundtrip.ManualRequest{Method: method, Header: followUpHeader(t, nil), OnNewConnection: true})))
		if a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden {
			return protectedRequest{method, a}
		}
	}
	return protectedRequest{}
}

// send sends the protected request with other headers or another URL, in a session and on a connection of its own.
func (g protectedRequest) send(t *check.T, r roundtrip.ManualRequest) *driver.RoundTrip {
	s := t.Session(check.Process)
	r.OnNewConnection = true
	if g.isConnectRequest(t) {
		r.Method, r.Params = roundtrip.ConnectRequest(t)
	} else {
		connect(t, s, nil)
		r.Method, r.Header = g.Method, followUpHeader(t, r.Header["Authorization"])
	}
	return roundtrip.PostRequest(s, r)
}

// isConnectRequest reports whether the protected request is the one that a client begins with.
func (g protectedRequest) isConnectRequest(t *check.T) bool {
	method, _ := roundtrip.ConnectRequest(t)
	return g.Method == method
}

// responseWith is the response to the protected request with a token.
func (g protectedRequest) responseWith(t *check.T, token string) driver.HTTPResponse {
	return roundtrip.RequireHTTPResponse(t,
		roundtrip.AwaitResponse(g.send(t, roundtrip.ManualRequest{Header: bearerHeader(token)})))
}

// connect sends the first request of a client by hand, with these values of the Authorization header or without it, and
// returns its result; nil when it is refused. Without the header it is sent on a new connection: what has come on
// another one says nothing of a client that has no token.
func connect(t *check.T, s *driver.Session, authorization []string) (a driver.HTTPResponse, result check.M) {
	method, params := roundtrip.ConnectRequest(t)
	x := roundtrip.PostRequest(s, roundtrip.ManualRequest{Method: method, Params: params,
		Header: http.Header{"Authorization": authorization}, OnNewConnection: authorization == nil})
	if a = roundtrip.AwaitResponse(x); !a.OK() {
		return a, nil
	}
	if result = x.AwaitReply().Result(); result != nil && !t.IsModern() {
		roundtrip.AwaitResponse(roundtrip.PostInitialized(s, followUpHeader(t, authorization)))
	}
	return a, result
}

// followUpHeader are the headers of a manual request after connect.
func followUpHeader(t *check.T, authorization []string) http.Header {
	return http.Header{"Authorization": authorization, "Mcp-Protocol-Version": {t.Revision}}
}

// bearerHeader is the Authorization header with a token.
var bearerHeader = roundtrip.BearerHeader

// haveStatus matches responses with one of these statuses.
func haveStatus(statuses ...int) types.GomegaMatcher {
	names := make([]string, len(statuses))
	for i, status := range statuses {
		names[i] = fmt.Sprint(status)
	}
	return check.Satisfy("HTTP "+strings.Join(names, " or "), func(a driver.HTTPResponse) bool {
		return slices.Contains(statuses, a.StatusCode)
	})
}

// skipIfNoOAuth ends a check of the status of refusals where a server without any sign of OAuth refuses a key with 403:
// the authorization pages do not bind it.
func skipIfNoOAuth(t *check.T, a driver.HTTPResponse) {
	if a.StatusCode == http.StatusForbidden && !hasChallenge(a) && lacksOAuth(t) {
		t.Skip(check.NotApplicable,
			"HTTP 403 of a server with keys that its operator hands out: it has nothing of OAuth")
	}
}

// beRejected matches responses with an error status.
func beRejected() types.GomegaMatcher {
	return check.Satisfy("HTTP 401", func(a driver.HTTPResponse) bool { return !a.OK() })
}

// requireToken ends a check that needs an ordinary session when there is none.
func requireToken(t *check.T) {
	switch {
	case t.Credentials.Bearer == "":
		t.Skip(check.NotGiven, "no token was given (--bearer-env)")
	case t.Server.Failure != "":
		t.NoVerdict(check.HandshakeFailed, "%s", t.Server.Failure)
	}
}

// skipUnlessTokenGiven ends a check that needs a further token when the user gave none.
func skipUnlessTokenGiven(t *check.T, token, kind string) {
	if token == "" {
		t.Skip(check.NotGiven, "no such token was given (--token-env %s=VARIABLE)", kind)
	}
}
