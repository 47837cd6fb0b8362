// Package roots holds the checks of how servers go by the roots of their client.
package roots

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// Checks are those of the area.
var Checks = check.MergeSuites(requestChecks, changeChecks, boundaryChecks)

// listMethod is the request that the area is about, and listChangedMethod says that another answer is to be had.
const (
	listMethod        = "roots/list"
	listChangedMethod = "notifications/roots/list_changed"
)

// maxTools is how many tools are tried for a check.
const maxTools = 3

// requestChecks are the checks of requests for roots.
var requestChecks = check.Suite{
	"roots/requires-capability": check.WatchWithSetup(callAsClientWithoutRoots, func(t *check.T, w check.Wire) {
		all := client.ServerRequests(t, w, listMethod)
		undeclared := slices.ContainsFunc(all, func(q client.ServerRequest) bool { return !hasDeclaredRoots(q) })
		switch {
		case undeclared && t.IsModern():
			t.Yield("a client without roots is asked for them")
		case undeclared && t.Revision >= "2025-06-18":
			t.Yield("a client without roots is asked for them")
		}
		client.JudgeServerRequests(t, "request for roots came, not even to a client that has some", all,
			func(t *check.T, q client.ServerRequest) {
				t.Expect(hasDeclaredRoots(q)).To(check.BeTrue("no request for the roots of a client without them",
					"one"))
			})
	}),

	"roots/request-schema": check.WatchWithSetup(triggerRootsRequests, func(t *check.T, w check.Wire) {
		client.JudgeServerRequests(t, "request for roots came", client.ServerRequests(t, w, listMethod),
			func(t *check.T, q client.ServerRequest) {
				t.Expect(protocol.Violations(t, "roots/request-schema", "ListRootsRequest", q.Value())).To(
					check.BeEmptyList[string]("no params, or an object"))
			})
	}),
}

// hasDeclaredRoots reports whether a client that was asked for roots has said that it has some.
func hasDeclaredRoots(q client.ServerRequest) bool { return q.ClientCapabilities()["roots"] != nil }

// triggerRootsRequests sees to it that a server that asks for roots has asked a client that has some: most do so once
// the session is established, others when a tool is called.
func triggerRootsRequests(t *check.T) {
	if !t.IsModern() {
		handshake.RunScenario(t, handshake.Scenario{RefuseRequests: true})
	}
	client.CollectServerRequests(t)
}

// callAsClientWithoutRoots sees to it that it has met a client that has none, too.
func callAsClientWithoutRoots(t *check.T) {
	triggerRootsRequests(t)
	toolcall.CallTools(t)
	if !t.IsModern() {
		return
	}
	c := client.NewClient(t, protocol.WithoutMember(protocol.AllCapabilities(t.Revision), "roots"))
	all := client.RequireInteractiveCalls(t, listMethod)
	for _, i := range all[:min(len(all), maxTools)] {
		if c.CallTool(t, i.Tool, i.Arguments, client.AcceptAll(t)).IsSilent() {
			return
		}
	}
}

// isRootsRequest reports whether a message of the server is a request for roots.
func isRootsRequest(f *driver.Frame) bool {
	return f.Side == driver.FromServer && f.IsRequest() && f.Method == listMethod
}
