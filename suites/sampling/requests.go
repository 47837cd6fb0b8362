package sampling

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
)

// requestChecks are the checks of the params of sampling/createMessage.
var requestChecks = check.Suite{
	"sampling/request-schema": schemaCheck("sampling/request-schema", "request for a message came",
		"messages, maxTokens, and members of the right types", isAny),

	"sampling/priorities-in-range": schemaCheck("sampling/priorities-in-range", "request with modelPreferences came",
		"priorities that are numbers from 0 to 1", hasParam("modelPreferences")),

	"sampling/include-context-values": schemaCheck("sampling/include-context-values",
		"request with includeContext came",
		"none, thisServer or allServers", hasParam("includeContext")),

	"sampling/include-context-needs-capability": check.WatchWithSetup(callAsPlainClient,
		func(t *check.T, w check.Wire) {
			eachPlainRequest(t, w, "context", hasParam("includeContext"), func(t *check.T, q client.ServerRequest) {
				context := q.Params["includeContext"]
				t.Expect(context != "thisServer" && context != "allServers").To(
					check.BeTrue("no includeContext, or none, for a client without sampling.context", "%s",
						check.Show(context)))
			})
		}),

	"sampling/include-context-deprecated": check.WatchWithSetup(client.CollectServerRequests,
		func(t *check.T, w check.Wire) {
			eachRequest(t, w, "request came for a client with sampling.context", declaresContext,
				func(t *check.T, q client.ServerRequest) {
					context := q.Params["includeContext"]
					t.Expect(context != "thisServer" && context != "allServers").To(
						check.BeTrue("no includeContext, or none", "%s", check.Show(context)))
				})
		}),
}

// declaresContext selects requests to clients that include the context of servers.
func declaresContext(q client.ServerRequest) bool {
	sampling, _ := q.ClientCapabilities()["sampling"].(check.M)
	return check.HasMember(sampling, "context")
}
