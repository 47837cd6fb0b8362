// Package sampling holds the checks of sampling: what servers request of the client's model, and how they handle its
// responses, including the use of tools.
//
// The checks of requests watch the run, with client.CollectServerRequests as set-up step. The checks of responses read
// the step of samplingTools, which calls the tools that sample again by a client with other responses.
package sampling

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(requestChecks, contentChecks, toolChecks, responseChecks)

// createMessageMethod is the method of sampling requests.
const createMessageMethod = "sampling/createMessage"

// eachRequest runs a check on the sampling requests of the run that has selects. If there are other requests only, it
// ends the check as skip, with a reason that names the selected ones by what.
func eachRequest(
	t *check.T, w check.Wire, what string, has func(client.ServerRequest) bool,
	run func(*check.T, client.ServerRequest),
) {
	asked := client.ServerRequests(t, w, createMessageMethod)
	all := slices.DeleteFunc(slices.Clone(asked), func(q client.ServerRequest) bool { return !has(q) })
	if len(asked) > 0 && len(all) == 0 {
		t.Skip(check.NotObserved, "no %s", what)
	}
	client.JudgeServerRequests(t, what, all, run)
}

// isAny selects all requests.
func isAny(client.ServerRequest) bool { return true }

// hasParam selects requests that have one of the params.
func hasParam(members ...string) func(client.ServerRequest) bool {
	return func(q client.ServerRequest) bool {
		return slices.ContainsFunc(members, func(member string) bool { return check.HasMember(q.Params, member) })
	}
}

// schemaCheck makes a check that requests do not violate the rules of the schema that belong to the entry.
func schemaCheck(id, what, want string, has func(client.ServerRequest) bool) check.Check {
	return check.WatchWithSetup(client.CollectServerRequests, func(t *check.T, w check.Wire) {
		eachRequest(t, w, what, has, func(t *check.T, q client.ServerRequest) {
			if t.IsModern() && q.Params == nil {
				t.Yield("params is not an object")
			}
			t.Expect(protocol.Violations(t, id, "CreateMessageRequest", q.Value())).To(check.BeEmptyList[string](want))
		})
	})
}

// contentBlocks returns the blocks of a message's content, which is one block or a list of them.
func contentBlocks(content any) []check.M {
	if block, isOne := content.(check.M); isOne {
		return []check.M{block}
	}
	return protocol.ObjectsIn(content)
}

// blocksOfType returns the blocks of a type.
func blocksOfType(all []check.M, kind string) []check.M {
	return slices.DeleteFunc(slices.Clone(all), func(block check.M) bool { return block["type"] != kind })
}
