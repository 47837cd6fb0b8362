// Package completion holds the checks of completion/complete: how a server completes the arguments of prompts and the
// variables of resource templates.
//
// The checks of results read a shared step of package toolcall, which completes what the server lists. The checks of
// malformed requests send what no conforming client sends.
package completion

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.MergeSuites(capabilityChecks, resultChecks, referenceChecks, malformedChecks)

const completeMethod = "completion/complete"

var capabilityChecks = check.Suite{
	"completion/capability-declared": check.Probe(func(t *check.T) {
		if check.HasMember(t.Server.Capabilities, "completions") { // schema/capability-shapes judges the value
			return
		}
		r := completeUndeclared(t)
		t.Expect(toolcall.Completion{Reply: r}.Values()).To(
			check.BeEmptyList[string]("no values, since the capability is not declared"))
		invalid.SkipUnlessServerRejects(t, r)
		t.ExpectShould(r).To(check.BeError())
	}),

	"completion/undeclared-code": check.Probe(func(t *check.T) {
		if check.HasMember(t.Server.Capabilities, "completions") {
			t.Skip(check.NotApplicable, "the server declares completions")
		}
		r := completeUndeclared(t)
		if r.Message()["error"] == nil {
			t.Yield("it was answered without an error")
		}
		unknown, _ := invalid.SendUnknownMethod(t).Reply.Code()
		if code, _ := r.Code(); code == unknown && code != errcode.MethodNotFound {
			t.Yield("any unknown method is answered with %d", code)
		}
		t.Expect(r).To(check.BeError(errcode.MethodNotFound))
	}),

	"completion/works-when-declared": check.Probe(func(t *check.T) {
		all := requireAny(t).List
		if slices.ContainsFunc(all, func(c toolcall.Completion) bool { return c.Reply.Result() != nil }) {
			check.Each(t, all, toolcall.Completion.Subject,
				func(t *check.T, c toolcall.Completion) { expectCompleted(t, c, all) })
			return
		}
		for _, c := range all {
			if code, _ := check.RequireServerReply(t, c.Reply).Code(); code != errcode.MethodNotFound {
				t.Retry(check.Undecided, "nothing was completed: %s", check.Got(c.Reply))
			}
		}
		t.Expect(all[0].Reply).To(check.BeResult())
	}),
}

// expectCompleted requires a listed argument to be completed, if only with no values, by a server that completes other
// arguments of prompts or, for a variable, others of the same template. A value with which none begins that the server
// has offered may be refused; completion/context-accepted judges requests with a context.
func expectCompleted(t *check.T, c toolcall.Completion, all []toolcall.Completion) {
	code, _ := c.Reply.Code()
	isServedSibling := func(other toolcall.Completion) bool {
		return other.Reply.Result() != nil && other.Ref["type"] == c.Ref["type"] && other.Ref["uri"] == c.Ref["uri"]
	}
	isOwnValue := func(other toolcall.Completion) bool {
		return maps.Equal(other.Ref, c.Ref) && other.Name == c.Name &&
			slices.ContainsFunc(other.Values(), func(value string) bool { return strings.HasPrefix(value, c.Value) })
	}
	switch {
	case c.Context != nil || !slices.ContainsFunc(all, isServedSibling):
	case c.Value != "" && !slices.ContainsFunc(all, isOwnValue):
	case code == errcode.InvalidParams || code == errcode.InternalError:
		t.ExpectShould(c.Reply).To(check.BeResult(), "an argument that is listed")
	}
}

// completeUndeclared asks a server that does not declare completions to complete a few arguments that it lists. It
// returns the first reply with values or, without any, the first result or else the first reply.
func completeUndeclared(t *check.T) driver.Reply {
	handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
	return check.Step(t, "undeclared completion", func(t *check.T) driver.Reply {
		const few = 6
		listed := toolcall.CompletionArguments(t)
		if len(listed) == 0 {
			listed = []toolcall.CompletionArgument{{Ref: toolcall.PromptRef("mcpcheck"), Name: "a"}}
		}
		var best driver.Reply
		for i, blank := range listed[:min(len(listed), few)] {
			r := t.Send(t.Session(check.ForInvalidInput), completeMethod, blank.Params(""))
			if len((toolcall.Completion{Reply: r}).Values()) > 0 {
				return r
			}
			if i == 0 || best.Result() == nil && r.Result() != nil {
				best = r
			}
		}
		return best
	})
}

var resultChecks = check.Suite{
	"completion/result-schema": check.Probe(func(t *check.T) {
		eachResult(t, func(t *check.T, c toolcall.Completion) {
			if toolcall.IsInputRequired(t, c.Reply) {
				t.Yield("it asks for input")
			}
			rules := protocol.Violations(t, "completion/result-schema", "CompleteResult", c.Reply.Result())
			t.Expect(rules).To(check.BeEmptyList[string]("a valid CompleteResult"))
		})
	}),

	"completion/max-100-values": check.Probe(func(t *check.T) {
		const most = toolcall.MaxCompletedValues
		eachResult(t, func(t *check.T, c toolcall.Completion) {
			n := len(c.Values())
			t.Expect(n <= most).To(check.BeTrue("at most 100 values", "%d", n))
		})
	}),

	"completion/total-coherent": check.Probe(func(t *check.T) {
		eachResult(t, func(t *check.T, c toolcall.Completion) {
			completion, _ := c.Reply.Result()["completion"].(check.M)
			values, _ := completion["values"].([]any)
			number, _ := completion["total"].(json.Number)
			total, counted := driver.Integer(number)
			more, said := completion["hasMore"].(bool)
			n := int64(len(values))
			if !counted {
				t.Skip(check.NotObserved, "no total was seen")
			}
			t.Expect(total >= n).To(check.BeTrue("a total of at least the "+check.Show(n)+" values", "%d", total))
			want := "hasMore as total has it, for " + check.Show(n) + " values of " + check.Show(total)
			t.Expect(!said || more == (total > n)).To(check.BeTrue(want, "hasMore %t", more))
		})
	}),
}

// eachResult runs a check on every completion that was received.
func eachResult(t *check.T, run func(*check.T, toolcall.Completion)) {
	check.Each(t, requireAny(t).List, toolcall.Completion.Subject,
		func(t *check.T, c toolcall.Completion) {
			if r := check.RequireServerReply(t, c.Reply); r.Err != nil {
				t.Retry(check.Undecided, "%v", check.Explain(r.Err))
			}
			if code, _ := c.Reply.Code(); code == errcode.MethodNotFound {
				t.Yield("nothing was completed")
			}
			if c.Reply.Result() == nil {
				t.Skip(check.NotObserved, "nothing was completed: %s", check.Got(c.Reply))
			}
			run(t, c)
		})
}

// requireAny returns the completions of the run. It ends a check when there is nothing to complete, or the server lacks
// the method in a revision that does not require it. Otherwise it adds a caveat for what was left out.
func requireAny(t *check.T) toolcall.Completions {
	c := toolcall.CompleteAll(t)
	served := func(c toolcall.Completion) bool { code, _ := c.Reply.Code(); return code != errcode.MethodNotFound }
	switch {
	case len(c.List) == 0 && c.IncompleteReason != "":
		t.NoVerdict(check.Undecided, "%s", c.IncompleteReason)
	case len(c.List) == 0:
		t.Skip(check.NotOffered, "the server lists no prompt with arguments and no template: nothing to complete")
	case !t.Server.Declares("completions") && !slices.ContainsFunc(c.List, served):
		t.Skip(check.NotOffered, "the server does not complete, which %s has no capability for", t.Revision)
	}
	if c.IncompleteReason != "" {
		t.Caveat("%d of %d arguments were completed: %s", len(c.List), 2*len(toolcall.CompletionArguments(t)),
			c.IncompleteReason)
	}
	return c
}

// requireServed returns the completions of the empty value with a result. It ends a check when there is none.
func requireServed(t *check.T) (served []toolcall.Completion) {
	for _, one := range requireAny(t).List {
		if one.Value == "" && one.Context == nil && one.Reply.Result() != nil {
			served = append(served, one)
		}
	}
	if len(served) == 0 {
		t.Yield("nothing is completed")
	}
	return served
}
