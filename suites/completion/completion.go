// Package completion judges how a server completes the arguments of prompts and the variables of templates.
package completion

import (
	"encoding/json"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// Checks are the checks of the area.
var Checks = MergeSuites(capabilityChecks, resultChecks, referenceChecks, malformedChecks)

const completeMethod = "completion/complete"

var capabilityChecks = Suite{
	"completion/capability-declared": Probe(func(t *T) {
		if HasMember(t.Server.Capabilities, "completions") { // as what, schema/capability-shapes judges
			return
		}
		r := completeUndeclared(t)
		t.Expect(toolcall.Completion{Reply: r}.Values()).To(
			BeEmptyList[string]("no values, since the capability is not declared"))
		invalid.SkipUnlessServerRejects(t, r)
		t.ExpectShould(r).To(BeError())
	}),

	"completion/undeclared-code": Probe(func(t *T) {
		if HasMember(t.Server.Capabilities, "completions") {
			t.Skip("the server declares completions")
		}
		r := completeUndeclared(t)
		if r.Message()["error"] == nil {
			t.Yield("it was answered without an error")
		}
		unknown, _ := invalid.SendUnknownMethod(t).Reply.Code()
		if code, _ := r.Code(); code == unknown && code != -32601 {
			t.Yield("any unknown method is answered with %d", code)
		}
		t.Expect(r).To(BeError(-32601))
	}),

	"completion/works-when-declared": Probe(func(t *T) {
		all := toolcall.CompleteAll(t).RequireAny(t).List
		if slices.ContainsFunc(all, func(c toolcall.Completion) bool { return c.Reply.Result() != nil }) {
			return
		}
		for _, c := range all {
			if code, _ := RequireServerReply(t, c.Reply).Code(); code != -32601 {
				t.Retry("nothing was completed: %s", Got(c.Reply))
			}
		}
		t.Expect(all[0].Reply).To(BeResult())
	}),
}

// completeUndeclared is the answer to a request for what the server does not declare: to complete the first that it
// lists.
func completeUndeclared(t *T) driver.Reply {
	handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
	return Step(t, "undeclared completion", func(t *T) driver.Reply {
		blank := toolcall.CompletionArgument{Ref: toolcall.PromptRef("mcpcheck"), Name: "a"}
		if listed := toolcall.CompletionArguments(t); len(listed) > 0 {
			blank = listed[0]
		}
		return t.Request(t.SessionForInvalidInput(), completeMethod, blank.Params(""))
	})
}

var resultChecks = Suite{
	"completion/result-schema": Probe(func(t *T) {
		eachResult(t, func(t *T, c toolcall.Completion) {
			rules := protocol.Violations(t, "completion/result-schema", "CompleteResult", c.Reply.Result())
			t.Expect(rules).To(BeEmptyList[string]("a valid CompleteResult"))
		})
	}),

	"completion/max-100-values": Probe(func(t *T) {
		const most = 100
		eachResult(t, func(t *T, c toolcall.Completion) {
			n := len(c.Values())
			t.Expect(n <= most).To(BeTrue("at most 100 values", "%d", n))
		})
	}),

	"completion/total-coherent": Probe(func(t *T) {
		eachResult(t, func(t *T, c toolcall.Completion) {
			completion, _ := c.Reply.Result()["completion"].(M)
			values, _ := completion["values"].([]any)
			number, _ := completion["total"].(json.Number)
			total, counted := driver.Integer(number)
			more, said := completion["hasMore"].(bool)
			n := int64(len(values))
			if !counted {
				t.WithReason(NotObserved).Skip("no total was seen")
			}
			t.Expect(total >= n).To(BeTrue("a total of at least the "+Show(n)+" values", "%d", total))
			want := "hasMore as total has it, for " + Show(n) + " values of " + Show(total)
			t.Expect(!said || more == (total > n)).To(BeTrue(want, "hasMore %t", more))
		})
	}),
}

// eachResult tries a check on what was completed.
func eachResult(t *T, run func(*T, toolcall.Completion)) {
	Each(t, toolcall.CompleteAll(t).RequireAny(t).List, toolcall.Completion.Subject, func(t *T, c toolcall.Completion) {
		if r := RequireServerReply(t, c.Reply); r.Err != nil {
			t.Retry("%v", Explain(r.Err))
		}
		if code, _ := c.Reply.Code(); code == -32601 {
			t.Yield("nothing was completed")
		}
		if c.Reply.Result() == nil {
			t.WithReason(NotObserved).Skip("nothing was completed: %s", Got(c.Reply))
		}
		run(t, c)
	})
}
