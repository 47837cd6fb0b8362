package jsonrpc

import (
	"encoding/json"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// codeChecks are the checks of how servers use the range of codes that JSON-RPC leaves to implementations, and that the
// modern revisions divide. The areas version and mrtr judge when a defined code is due and what comes with it.
var codeChecks = check.Suite{
	"jsonrpc/reserved-error-codes": check.WatchWithSetup(triggerErrors, func(t *check.T, w check.Wire) {
		eachErrorCode(t, w, func(t *check.T, code int) {
			undefined := -32099 <= code && code <= -32023 && !protocol.IsRetiredCode(code)
			t.Expect(!undefined).To(check.BeTrue("no code of MCP that the specification does not define", "%d", code))
			misplaced := code == errcode.HeaderMismatch && t.Server.Transport == "stdio"
			t.Expect(!misplaced).To(check.BeTrue("no error about headers over stdio, where there are none", "%d", code))
		})
	}),

	"jsonrpc/retired-error-codes": check.WatchWithSetup(triggerErrors, func(t *check.T, w check.Wire) {
		eachErrorCode(t, w, func(t *check.T, code int) {
			t.Expect(!protocol.IsRetiredCode(code)).To(check.BeTrue("no code of an earlier revision", "%d", code))
		})
	}),

	"jsonrpc/error-code-old-range": check.WatchWithSetup(triggerErrors, func(t *check.T, w check.Wire) {
		eachErrorCode(t, w, func(t *check.T, code int) {
			if protocol.IsRetiredCode(code) {
				t.Yield("it has another meaning")
			}
			old := -32019 <= code && code <= -32000
			t.Expect(!old).To(check.BeTrue("no code from -32019 to -32000", "%d", code))
		})
	}),
}

// triggerErrors makes sure that there are errors to judge: for an unknown method, and for unknown objects.
func triggerErrors(t *check.T) {
	toolcall.VariedCalls(t)
	invalid.SendUnknownMethod(t)
	if s := t.Session(); t.Server.Declares("resources") {
		invalid.TryInvalid(t, s, "resources/read", check.M{"uri": invalid.UnknownURI})
	}
}

// eachErrorCode runs a check on the codes of errors.
func eachErrorCode(t *check.T, w check.Wire, judge func(t *check.T, code int)) {
	t.Judge(errorsIn(w), func(t *check.T, m check.Message) {
		n, ok := requireErrorObject(t, m)["code"].(json.Number)
		code, whole := driver.Integer(n)
		if !ok || !whole {
			t.Yield("the code is not an integer")
		}
		judge(t, int(code))
	})
}
