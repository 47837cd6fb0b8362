// Package roots holds the checks of roots: when and how servers request them, how they handle changes and errors, and
// whether they stay within them.
//
// Servers request roots after the handshake or while a tool runs; triggerRootsRequests makes them do both. The checks
// of boundaries call tools that take a path, with files in a temporary directory.
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

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(requestChecks, changeChecks, boundaryChecks)

// listMethod is the request for roots, and listChangedMethod the notification that they have changed.
const (
	listMethod        = "roots/list"
	listChangedMethod = "notifications/roots/list_changed"
)

// maxTools is the number of tools that are called for a check.
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
	}).StartsFirst(),
}

// hasDeclaredRoots reports whether the client that was asked for roots has declared them.
func hasDeclaredRoots(q client.ServerRequest) bool { return q.ClientCapabilities()["roots"] != nil }

// triggerRootsRequests makes servers request the roots of a client that has some: most do so after the handshake,
// others when a tool is called.
func triggerRootsRequests(t *check.T) {
	if !t.IsModern() {
		handshake.RunScenario(t, handshake.Scenario{RefuseRequests: true})
	}
	client.CollectServerRequests(t)
}

// callAsClientWithoutRoots calls tools also as a client without roots.
func callAsClientWithoutRoots(t *check.T) {
	triggerRootsRequests(t)
	toolcall.CallTools(t)
	if !t.IsModern() {
		return
	}
	others := protocol.WithoutMember(protocol.AllCapabilities(t.Revision), "roots")
	c := client.NewClient(t, others, client.AcceptAll(t))
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
