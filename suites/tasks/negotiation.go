package tasks

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// negotiationChecks are the checks of the declared capabilities of tasks, and of what follows from them.
var negotiationChecks = check.Suite{
	"tasks/capability-shape": check.Probe(func(t *check.T) {
		declared := check.Member(t.Server.Capabilities, "tasks")
		if declared == (check.Absent{}) {
			t.Skip(check.NotDeclared, "the server does not declare tasks")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(declared).To(check.BeObject(), "tasks")
		connectResult := t.Server.ConnectResult
		broken := protocol.Violations(t, "tasks/capability-shape", "InitializeResult", connectResult)
		t.DecidedBy(t.Server.ConnectReply).Expect(broken).To(check.BeEmptyList[string]("objects throughout"))
	}),

	"tasks/undeclared-task-param-ignored": check.Probe(func(t *check.T) {
		requireCapabilityObject(t)
		if supportsTaskCalls(t) {
			t.Skip(check.NotOffered, "the server declares tasks.requests.tools.call")
		}
		s := t.Session(check.ForInvalidInput)
		expectTaskIgnored(t, s)
		for _, call := range toolcall.ValidCalls(t).List {
			if call.IsDirectSuccess() && taskSupport(call.Tool.Value) == "forbidden" {
				again := invalid.TryInvalid(t, s, "tools/call", withTask(call.Params(s)))
				taskrun.RequireAnswer(t, again)
				t.Expect(!isTask(again)).To(check.BeTrue("the result of the tool", "%s", again))
				if again.Result() == nil && invalid.TryInvalid(t, s, "tools/call", call.Params(s)).Result() != nil {
					t.Fail("the same kind of answer as without the parameter task", "%s", again)
				}
				return
			}
		}
	}),

	"tasks/not-in-earlier-revisions": check.Probe(func(t *check.T) {
		expectTaskIgnored(t, t.Session(check.ForInvalidInput))
		declared := check.Member(t.Server.Capabilities, "tasks")
		t.DecidedBy(t.Server.ConnectReply).ExpectAdvice(declared).To(check.BeOneOf[any](check.Absent{}),
			"capabilities.tasks")
	}),

	"tasks/list-undeclared": check.Probe(func(t *check.T) {
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		requireCapabilityObject(t)
		if declaresList(t) {
			t.Skip(check.NotOffered, "the server declares tasks.list")
		}
		r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), "tasks/list", nil)
		requireOwnCode(t, r)
		t.Expect(r).To(check.BeError(errcode.MethodNotFound))
	}),

	"tasks/cancel-undeclared": check.Probe(func(t *check.T) {
		handshake.SkipUnlessCapabilities(t, t.Server.ConnectResult)
		requireCapabilityObject(t)
		if declaresCancel(t) {
			t.Skip(check.NotOffered, "the server declares tasks.cancel")
		}
		r := invalid.RequestInvalid(t, t.Session(check.ForInvalidInput), "tasks/cancel",
			check.M{"taskId": taskrun.UnknownTaskID})
		requireOwnCode(t, r)
		t.Expect(r).To(check.BeError(errcode.MethodNotFound, errcode.InvalidParams))
		t.ExpectAdvice(r).To(check.BeError(errcode.MethodNotFound))
	}),

	"tasks/forbidden-tool-augmented": check.Probe(func(t *check.T) {
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
		s := t.Session(check.ForInvalidInput)
		toolcall.EachToolCall(t, forbidden, func(t *check.T, call toolcall.ToolCall) {
			r := invalid.RequestInvalid(t, s, "tools/call", withTask(call.Params(s)))
			toolcall.RequireNotRateLimited(t, s, r, errcode.MethodNotFound)
			t.Expect(r).To(check.BeError(errcode.MethodNotFound))
		})
	}),

	"tasks/required-tool-not-augmented": check.Probe(func(t *check.T) {
		skipUnlessTaskCalls(t)
		required := slices.DeleteFunc(toolcall.ListedTools(t), func(tool check.Subject) bool {
			return taskSupport(tool.Value) != "required"
		})
		if len(required) == 0 {
			t.Skip(check.NotOffered, "no tool has taskSupport required")
		}
		s := t.Session(check.ForInvalidInput)
		t.Each(required, func(t *check.T, tool check.Subject) {
			args, not := toolcall.TaskArguments(t, tool)
			if not != nil {
				t.NoVerdict(check.Undecided, "it cannot be called with valid arguments (%v)", *not)
			}
			r := invalid.RequestInvalid(t, s, "tools/call", check.M{"name": tool.Name, "arguments": args})
			toolcall.RequireNotRateLimited(t, s, r, errcode.MethodNotFound, errcode.InvalidRequest)
			t.Expect(r).To(check.BeError(errcode.MethodNotFound, errcode.InvalidRequest))
			t.ExpectShould(r).To(check.BeError(errcode.MethodNotFound))
		})
	}),

	"tasks/optional-tool-plain-call": check.Probe(func(t *check.T) {
		skipUnlessTaskCalls(t)
		calls := toolcall.ValidCalls(t)
		optional := slices.DeleteFunc(toolcall.AnsweredCalls(calls.List), func(call toolcall.ToolCall) bool {
			return taskSupport(call.Tool.Value) != "optional"
		})
		isOptional := func(tool check.M) bool { return taskSupport(tool) == "optional" }
		toolcall.RequireObserved(t, len(optional), "tool with optional task support was called", calls.Uncalled,
			isOptional)
		toolcall.EachToolCall(t, optional, func(t *check.T, call toolcall.ToolCall) {
			t.Expect(!isTask(call.Reply)).To(check.BeTrue("the result of the tool", "%s", call.Reply))
			// The specification says MAY in another sentence.
			t.ExpectShould(call.Reply).NotTo(check.BeError(errcode.MethodNotFound, errcode.InvalidRequest))
		})
	}),

	"tasks/tool-support-without-capability": check.Probe(func(t *check.T) {
		requireCapabilityObject(t)
		all := toolcall.ListedTools(t)
		if len(all) == 0 {
			t.Skip(check.NotOffered, "the server lists no tool")
		}
		if supportsTaskCalls(t) {
			return
		}
		t.Each(all, func(t *check.T, tool check.Subject) {
			t.Expect(taskSupport(tool.Value)).NotTo(check.BeOneOf("optional", "required"), "execution.taskSupport")
		})
	}),

	"tasks/list-needs-identity": check.Probe(func(t *check.T) {
		if t.Server.Protected || t.Credentials.Bearer != "" {
			t.Skip(check.NotOffered, "the server identifies clients by token")
		}
		if !t.Server.Sessionless && declaresList(t) && !isListedElsewhere(t) {
			return // the server tells sessions apart
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(memberAt(t.Server.Capabilities, "tasks", "list") == nil).
			To(check.BeTrue("no tasks.list where anybody may ask", "%s", check.Show(t.Server.Capabilities["tasks"])))
	}),
}

// isListedElsewhere creates a task in a session, and reports whether tasks/list has it in another one.
func isListedElsewhere(t *check.T) bool {
	if len(runTasks(t).Runs) == 0 {
		return true
	}
	c := startTask(t, t.Session(), slowestRun(t))
	defer cancelRuns(t, c)
	own, _ := listedIDs(c.Session)
	if c.ID == "" || !slices.Contains(own, c.ID) {
		t.Yield("its own session does not have it in tasks/list")
	}
	others, _ := listedIDs(t.Session(check.Exclusive))
	return slices.Contains(others, c.ID)
}

// maxForbidden is the number of tools without support of tasks that are called as tasks.
const maxForbidden = 3

var errNotSent = errors.New("it was not asked")

func isForbidden(tool check.M) bool { return taskSupport(tool) == "forbidden" }

// memberAt returns the member at the path of names; nil if there is none.
func memberAt(object check.M, names ...string) any {
	var v any = object
	for _, name := range names {
		inner, _ := v.(check.M)
		v = inner[name]
	}
	return v
}

// supportsTaskCalls reports whether tool calls may run as tasks.
func supportsTaskCalls(t *check.T) bool {
	return t.Server.Declares("tasks") && memberAt(t.Server.Capabilities, "tasks", "requests", "tools", "call") != nil
}

// skipUnlessTaskCalls ends the check as skip if the server does not run tool calls as tasks.
func skipUnlessTaskCalls(t *check.T) {
	if !supportsTaskCalls(t) {
		t.Skip(check.NotDeclared, "the server does not declare tasks.requests.tools.call")
	}
}

// requireCapabilityObject ends a check of undeclared features if the capability is invalid.
func requireCapabilityObject(t *check.T) {
	if declared := check.Member(t.Server.Capabilities, "tasks"); declared != (check.Absent{}) && !isObject(declared) {
		t.Yield("the capability tasks is not an object")
	}
}

func isObject(v any) bool {
	_, is := v.(check.M)
	return is
}

func declaresCancel(t *check.T) bool {
	return memberAt(t.Server.Capabilities, "tasks", "cancel") != nil
}

func declaresList(t *check.T) bool { return memberAt(t.Server.Capabilities, "tasks", "list") != nil }

// expectTaskIgnored requires a call of an unknown tool to have the same outcome with and without the parameter task.
func expectTaskIgnored(t *check.T, s *driver.Session) {
	invalid.RequireCallsAllowed(t)
	params := check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{}}
	plain := invalid.RequestInvalid(t, s, "tools/call", params)
	with := invalid.RequestInvalid(t, s, "tools/call", withTask(params))
	t.Expect(!isTask(with)).To(check.BeTrue("no task", "%s", with))
	if protocol.ReplyKind(with) != protocol.ReplyKind(plain) {
		toolcall.RequireNotRateLimited(t, s, with)
		again := invalid.RequestInvalid(t, s, "tools/call", params)
		t.Expect(protocol.ReplyKind(with) == protocol.ReplyKind(again)).
			To(check.BeTrue("the same outcome with and without `task`",
				"with: %s; without: %s", with, again))
	}
}

// requireOwnCode ends the check if the reply has the wrong code that the server has for every unknown method.
func requireOwnCode(t *check.T, r driver.Reply) {
	unknown, coded := invalid.SendUnknownMethod(t).Reply.Code()
	if code, _ := r.Code(); coded && code == unknown && code != errcode.MethodNotFound {
		t.Yield("unknown methods have the code %d", code)
	}
}
