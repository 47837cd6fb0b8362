// Package sampling holds the checks of what servers ask the model of their client for.
package sampling

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks are those of the area.
var Checks = check.MergeSuites(requestChecks, contentChecks, toolChecks, responseChecks)

// createMessageMethod is the request that the area is about.
const createMessageMethod = "sampling/createMessage"

// eachRequest tries a check on the requests of the run for messages that have what it is about; what names them in the
// reason when there are none. Where there are others, this server samples, and without it.
func eachRequest(
	t *check.T, w check.Wire, what string, has func(client.ServerRequest) bool,
	run func(*check.T, client.ServerRequest),
) {
	asked := client.ServerRequests(t, w, createMessageMethod)
	all := slices.DeleteFunc(slices.Clone(asked), func(q client.ServerRequest) bool { return !has(q) })
	if len(asked) > 0 && len(all) == 0 {
		t.WithReason(check.NotObserved).Skip("no %s", what)
	}
	client.JudgeServerRequests(t, what, all, run)
}

// isAny is for all requests.
func isAny(client.ServerRequest) bool { return true }

// hasParam is for requests that have one of the params.
func hasParam(members ...string) func(client.ServerRequest) bool {
	return func(q client.ServerRequest) bool {
		return slices.ContainsFunc(members, func(member string) bool { return check.HasMember(q.Params, member) })
	}
}

// schemaCheck is the check of what an entry has of the schema of requests for messages.
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

// contentBlocks are those of the content of a message: one, or a list of them.
func contentBlocks(content any) []check.M {
	if block, isOne := content.(check.M); isOne {
		return []check.M{block}
	}
	return protocol.ObjectsIn(content)
}

// blocksOfType are the blocks of a type.
func blocksOfType(all []check.M, kind string) []check.M {
	return slices.DeleteFunc(slices.Clone(all), func(block check.M) bool { return block["type"] != kind })
}
