package tasks

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// negotiationChecks are the checks of what a server declares of tasks, and of what follows from that.
var negotiationChecks = Suite{
	"tasks/capability-shape": Probe(func(t *T) {
		declared := Member(t.Server.Capabilities, "tasks")
		if declared == (Absent{}) {
			t.WithReason(NotDeclared).Skip("the server does not declare tasks")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(declared).To(BeObject(), "tasks")
		welcome := t.Server.ConnectResult
		broken := protocol.Violations(t, "tasks/capability-shape", "InitializeResult", welcome)
		t.DecidedBy(t.Server.ConnectReply).Expect(broken).To(BeEmptyList[string]("objects throughout"))
	}),

	"tasks/undeclared-task-param-ignored": Probe(func(t *T) {
		requireCapabilityObject(t)
		if supportsTaskCalls(t) {
			t.WithReason(NotOffered).Skip("the server declares tasks.requests.tools.call")
		}
		s := t.SessionForInvalidInput()
		expectTaskIgnored(t, s)
		for _, call := range toolcall.ValidCalls(t).List {
			if call.IsDirectSuccess() && taskSupport(call.Tool.Value) == "forbidden" {
				again := invalid.TryInvalid(t, s, "tools/call", withTask(call.Params(s)))
				taskrun.RequireAnswer(t, again)
				t.Expect(!isTask(again)).To(BeTrue("the result of the tool", "%s", again))
				if again.Result() == nil && invalid.TryInvalid(t, s, "tools/call", call.Params(s)).Result() != nil {
					t.Fail("the same kind of answer as without the parameter task", "%s", again)
				}
				return
			}
		}
	}),

	"tasks/not-in-earlier-revisions": Probe(func(t *T) {
		expectTaskIgnored(t, t.SessionForInvalidInput())
		declared := Member(t.Server.Capabilities, "tasks")
		t.DecidedBy(t.Server.ConnectReply).ExpectAdvice(declared).To(BeOneOf[any](Absent{}), "capabilities.tasks")
	}),

	"tasks/list-undeclared": Probe(func(t *T) {
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		requireCapabilityObject(t)
		if declaresList(t) {
			t.WithReason(NotOffered).Skip("the server declares tasks.list")
		}
		r := invalid.RequestInvalid(t, t.SessionForInvalidInput(), "tasks/list", nil)
		requireOwnCode(t, r)
		t.Expect(r).To(BeError(-32601))
	}),

	"tasks/cancel-undeclared": Probe(func(t *T) {
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		requireCapabilityObject(t)
		if declaresCancel(t) {
			t.WithReason(NotOffered).Skip("the server declares tasks.cancel")
		}
		r := invalid.RequestInvalid(t, t.SessionForInvalidInput(), "tasks/cancel", M{"taskId": taskrun.UnknownTaskID})
		requireOwnCode(t, r)
		t.Expect(r).To(BeError(-32601, -32602))
		t.ExpectAdvice(r).To(BeError(-32601))
	}),

	"tasks/forbidden-tool-augmented": Probe(func(t *T) {
		skipUnlessTaskCalls(t)
		var forbidden []toolcall.ToolCall
		for _, call := range toolcall.ValidCalls(t).List {
			if taskSupport(call.Tool.Value) == "forbidden" && call.IsDirectSuccess() && len(forbidden) < maxForbidden {
				forbidden = append(forbidden, call)
			}
		}
		if len(forbidden) == 0 {
			toolcall.SkipNotObserved(t, "tool that does not run as a task was served", toolcall.ValidCalls(t).Uncalled,
				isForbidden)
		}
		s := t.SessionForInvalidInput()
		toolcall.EachToolCall(t, forbidden, func(t *T, call toolcall.ToolCall) {
			r := invalid.RequestInvalid(t, s, "tools/call", withTask(call.Params(s)))
			toolcall.RequireNotRateLimited(t, s, r, -32601)
			t.Expect(r).To(BeError(-32601))
		})
	}),

	"tasks/required-tool-not-augmented": Probe(func(t *T) {
		skipUnlessTaskCalls(t)
		required := slices.DeleteFunc(toolcall.ListedTools(t), func(tool Subject) bool {
			return taskSupport(tool.Value) != "required"
		})
		if len(required) == 0 {
			t.WithReason(NotOffered).Skip("no tool has taskSupport required")
		}
		s := t.SessionForInvalidInput()
		t.Each(required, func(t *T, tool Subject) {
			args, not := toolcall.TaskArguments(t, tool)
			if not != nil {
				t.Inconclusive("it cannot be called with valid arguments (%v)", *not)
			}
			r := invalid.RequestInvalid(t, s, "tools/call", M{"name": tool.Name, "arguments": args})
			toolcall.RequireNotRateLimited(t, s, r, -32601, -32600)
			t.Expect(r).To(BeError(-32601, -32600))
			t.ExpectShould(r).To(BeError(-32601))
		})
	}),

	"tasks/optional-tool-plain-call": Probe(func(t *T) {
		skipUnlessTaskCalls(t)
		calls := toolcall.ValidCalls(t)
		optional := slices.DeleteFunc(toolcall.AnsweredCalls(calls.List), func(call toolcall.ToolCall) bool {
			return taskSupport(call.Tool.Value) != "optional"
		})
		isOptional := func(tool M) bool { return taskSupport(tool) == "optional" }
		toolcall.RequireObserved(t, len(optional), "tool with optional task support was called", calls.Uncalled, isOptional)
		toolcall.EachToolCall(t, optional, func(t *T, call toolcall.ToolCall) {
			t.Expect(!isTask(call.Reply)).To(BeTrue("the result of the tool", "%s", call.Reply))
			t.ExpectShould(call.Reply).NotTo(BeError(-32601, -32600)) // which a receiver MAY answer by another sentence
		})
	}),

	"tasks/tool-support-without-capability": Probe(func(t *T) {
		requireCapabilityObject(t)
		all := toolcall.ListedTools(t)
		if len(all) == 0 {
			t.WithReason(NotOffered).Skip("the server lists no tool")
		}
		if supportsTaskCalls(t) {
			return
		}
		t.Each(all, func(t *T, tool Subject) {
			t.Expect(taskSupport(tool.Value)).NotTo(BeOneOf("optional", "required"), "execution.taskSupport")
		})
	}),

	"tasks/list-needs-identity": Probe(func(t *T) {
		if t.Server.Protected || t.Credentials.Bearer != "" {
			t.WithReason(NotOffered).Skip("the server identifies clients by token")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(memberAt(t.Server.Capabilities, "tasks", "list") == nil).To(BeTrue(
			"no tasks.list where anybody may ask", "%s", Show(t.Server.Capabilities["tasks"])))
	}),
}

// maxForbidden is how many tools are called as tasks that do not run as such.
const maxForbidden = 3

var errNotSent = errors.New("it was not asked")

func isForbidden(tool M) bool { return taskSupport(tool) == "forbidden" }

// memberAt is what is in an object under names, one in the other; nil when it is not there.
func memberAt(object M, names ...string) any {
	var v any = object
	for _, name := range names {
		inner, _ := v.(M)
		v = inner[name]
	}
	return v
}

// supportsTaskCalls reports whether calls of tools may run as tasks.
func supportsTaskCalls(t *T) bool {
	return t.Server.Declares("tasks") && memberAt(t.Server.Capabilities, "tasks", "requests", "tools", "call") != nil
}

// skipUnlessTaskCalls ends a check of a server that runs no calls as tasks.
func skipUnlessTaskCalls(t *T) {
	if !supportsTaskCalls(t) {
		t.WithReason(NotDeclared).Skip("the server does not declare tasks.requests.tools.call")
	}
}

// requireCapabilityObject ends a check of what is not declared where the capability makes no sense.
func requireCapabilityObject(t *T) {
	if declared := Member(t.Server.Capabilities, "tasks"); declared != (Absent{}) && !isObject(declared) {
		t.Yield("the capability tasks is not an object")
	}
}

func isObject(v any) bool {
	_, is := v.(M)
	return is
}

func declaresCancel(t *T) bool { return memberAt(t.Server.Capabilities, "tasks", "cancel") != nil }

func declaresList(t *T) bool { return memberAt(t.Server.Capabilities, "tasks", "list") != nil }

// expectTaskIgnored wants a call of a tool that does not exist to be answered with the parameter task as without.
func expectTaskIgnored(t *T, s *driver.Session) {
	invalid.RequireCallsAllowed(t)
	params := M{"name": protocol.UnknownToolName(t), "arguments": M{}}
	plain := invalid.RequestInvalid(t, s, "tools/call", params)
	with := invalid.RequestInvalid(t, s, "tools/call", withTask(params))
	t.Expect(!isTask(with)).To(BeTrue("no task", "%s", with))
	if protocol.ReplyKind(with) != protocol.ReplyKind(plain) {
		toolcall.RequireNotRateLimited(t, s, with)
		again := invalid.RequestInvalid(t, s, "tools/call", params)
		t.Expect(protocol.ReplyKind(with) == protocol.ReplyKind(again)).To(BeTrue("the same outcome with and without `task`",
			"with: %s; without: %s", with, again))
	}
}

// requireOwnCode ends a check of a method that has the code of any that the server does not know, be it the wrong one.
func requireOwnCode(t *T, r driver.Reply) {
	unknown, coded := invalid.SendUnknownMethod(t).Reply.Code()
	if code, _ := r.Code(); coded && code == unknown && code != -32601 {
		t.Yield("unknown methods have the code %d", code)
	}
}
