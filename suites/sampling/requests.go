package sampling

import (
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// requests are the checks of the params of requests for messages.
var requests = Suite{
	"sampling/request-schema": shape("sampling/request-schema", "request for a message came",
		"messages, maxTokens, and members of the right types", every),

	"sampling/priorities-in-range": shape("sampling/priorities-in-range", "request with modelPreferences came",
		"priorities that are numbers from 0 to 1", having("modelPreferences")),

	"sampling/include-context-values": shape("sampling/include-context-values", "request with includeContext came",
		"none, thisServer or allServers", having("includeContext")),

	"sampling/include-context-needs-capability": WatchAfter(samplePlainly, func(t *T, w Wire) {
		judgePlain(t, w, "context", having("includeContext"), func(t *T, q kit.Question) {
			context := q.Params["includeContext"]
			t.Expect(context != "thisServer" && context != "allServers").To(
				Hold("no includeContext, or none, for a client without sampling.context", "%s", Show(context)))
		})
	}),
}
