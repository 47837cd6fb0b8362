package tasksext

import (
	"net/http"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// legacyTasks are the capabilities of a client with the tasks of 2025-11-25.
var legacyTasks = check.M{"tasks": check.M{"requests": check.M{"tools": check.M{"call": check.M{}}},
	"cancel": check.M{}}}

// negotiationChecks are the checks of which clients get tasks.
var negotiationChecks = check.Suite{
	"tasks-ext/advertised": check.WatchWithSetup(callWithAndWithoutTasks, func(t *check.T, w check.Wire) {
		tasks := protocol.ModernResults(t, w).Filter("task", func(m check.Message) bool {
			return m.Request.Method == "tools/call" && protocol.ResultOf(m)["resultType"] == "task"
		})
		t.Judge(tasks, func(t *check.T, m check.Message) {
			extensions, _ := t.Server.Capabilities["extensions"].(check.M)
			t.Expect(check.HasMember(extensions, extension)).To(check.BeTrue(
				extension+" in the capabilities of server/discover", "%s", check.Show(t.Server.Capabilities)))
		})
	}),

	"tasks-ext/no-core-capability": check.Probe(func(t *check.T) {
		t.DecidedBy(t.Server.ConnectReply).Expect(check.Member(t.Server.Capabilities, "tasks")).
			To(check.BeOneOf(check.Absent{}), "capabilities.tasks")
	}),

	"tasks-ext/not-for-non-declaring": check.Probe(func(t *check.T) {
		toolcall.EachToolCall(t, callsWithoutTasks(t),
			func(t *check.T, call toolcall.ToolCall) { t.Expect(call.Reply).To(beNoTask()) })
	}),

	"tasks-ext/not-by-prior-declaration": check.Probe(func(t *check.T) {
		call := requireCallWithoutTask(t)
		s := t.Session()
		startTask(t, s, call, nil).send("tasks/cancel", nil)
		t.Expect(repeatCall(t, s, call, protocol.AllModernCapabilities, nil).Reply).To(
			check.ReportedBy("stateless/no-inherited-capabilities", beNoTask()))
	}),

	"tasks-ext/core-capability-not-enough": check.Probe(func(t *check.T) {
		client := check.M{}
		for _, capabilities := range []check.M{protocol.AllModernCapabilities, legacyTasks} {
			for name, v := range capabilities {
				client[name] = v
			}
		}
		call, options := requireCallWithoutTask(t), []check.SessionOption(nil)
		if t.IsConfirmation() {
			options = append(options, check.Exclusive) // nobody has declared the extension in it
		}
		t.Expect(repeatCall(t, t.Session(options...), call, client, nil).Reply).To(beNoTask())
	}),

	"tasks-ext/required-error": check.Probe(func(t *check.T) {
		var unserved []toolcall.ToolCall
		for _, call := range callsWithoutTasks(t) {
			atOnce := len(call.InputLoop.InputReplies) == 0
			if call.Reply.Error() != nil && (isMissingCapability(call.Reply) || atOnce &&
				hasCompleted(t, call.Tool.Name)) {
				unserved = append(unserved, call)
			}
		}
		if len(unserved) == 0 {
			t.Skip(check.NotOffered, "no tool is known to run as a task only")
		}
		toolcall.EachToolCall(t, unserved, func(t *check.T, call toolcall.ToolCall) {
			t.Expect(call.Reply).To(check.BeError(errcode.MissingRequiredClientCapability))
		})
	}),

	"tasks-ext/required-error-data": check.Probe(func(t *check.T) {
		lacking := slices.DeleteFunc(callsWithoutTasks(t),
			func(call toolcall.ToolCall) bool { return !isMissingCapability(call.Reply) })
		if len(lacking) == 0 {
			t.Skip(check.NotObserved, "no call was answered with error %d",
				errcode.MissingRequiredClientCapability)
		}
		toolcall.EachToolCall(t, lacking, func(t *check.T, call toolcall.ToolCall) {
			data, _ := call.Reply.Error()["data"].(check.M)
			required, _ := data["requiredCapabilities"].(check.M)
			extensions, _ := required["extensions"].(check.M)
			t.Expect(check.HasMember(extensions, extension)).To(check.BeTrue(
				extension+" in data.requiredCapabilities.extensions", "%s", check.Show(call.Reply.Error())))
		})
	}),

	"tasks-ext/methods-non-declaring": check.Probe(func(t *check.T) {
		s := t.Session(check.ForInvalidInput)
		methods := []check.Subject{check.NamedSubject("tasks/get"), check.NamedSubject("tasks/update"),
			check.NamedSubject("tasks/cancel")}
		t.Each(methods, func(t *check.T, method check.Subject) {
			r := invalid.RequestInvalid(t, s, method.Name,
				protocol.WithCapabilities(check.M{"taskId": taskrun.UnknownTaskID, "inputResponses": check.M{}},
					check.M{}))
			if code, _ := r.Code(); method.Name == "tasks/cancel" && code != errcode.MissingRequiredClientCapability {
				requireOwnRefusal(t, r)
			}
			t.Expect(r).To(check.BeError(errcode.MissingRequiredClientCapability))
		})
	}),

	"tasks-ext/name-header": check.Probe(func(t *check.T) {
		s := t.Session()
		ask := func(name string) *driver.RoundTrip {
			request := roundtrip.ManualRequest{Method: "tasks/get",
				Params: protocol.WithCapabilities(check.M{"taskId": taskrun.UnknownTaskID}, taskCapabilities)}
			request.Header = roundtrip.Header("Mcp-Name", name)
			x := roundtrip.PostRequest(s, request)
			roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x))
			return x
		}
		invalid.SkipUnlessAnswersInvalid(t)
		if code, _ := ask(taskrun.UnknownTaskID).AwaitReply().Code(); code == errcode.HeaderMismatch {
			t.Fail("an answer about the task where Mcp-Name is its id", "error %d", code)
		}
		other := ask(taskrun.UnknownTaskID + "-too")
		invalid.SkipUnlessServerRejects(t, other.AwaitReply())
		t.Expect(other.Response().StatusCode).To(check.BeOneOf(http.StatusBadRequest),
			"the status with another Mcp-Name")
		t.Expect(other.AwaitReply()).To(check.BeError(errcode.HeaderMismatch))
	}),

	"tasks-ext/principal-bound": check.Probe(func(t *check.T) {
		if t.Credentials.SecondPrincipal == "" {
			t.Skip(check.NotGiven, "there is no token of another principal (--token-env second=VARIABLE)")
		}
		call, s := slowestRun(t).ToolCall, t.Session()
		c := startTask(t, s, call, nil)
		defer func() { c.send("tasks/cancel", nil) }()
		request := roundtrip.ManualRequest{Method: "tasks/get",
			Params: protocol.WithCapabilities(check.M{"taskId": c.ID}, taskCapabilities)}
		request.Header = roundtrip.Header("Authorization", "Bearer "+t.Credentials.SecondPrincipal)
		request.Header.Set("Mcp-Name", driver.FieldValue(c.ID))
		x := roundtrip.PostRequest(s, request)
		roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x))
		invalid.SkipUnlessServerRejects(t, x.AwaitReply())
		t.Expect(x.AwaitReply().Result() == nil).To(check.BeTrue("no word of a task to another principal", "%s",
			x.AwaitReply()))
	}),

	"tasks-ext/earlier-revision-ignored": check.Probe(func(t *check.T) {
		extensions, _ := t.Server.Capabilities["extensions"].(check.M)
		if extensions[extension] == nil {
			t.Skip(check.NotDeclared, "the server does not declare %s in %s", extension, t.Revision)
		}
		s := t.Session(check.Process)
		hello := driver.ConnectParams(t.Revision)
		hello["capabilities"] = protocol.ExtensionCapabilities(extension)
		if err := s.Open(hello); err != nil {
			t.Retry(check.Undecided, "%v", check.Explain(err))
		}
		calls := toolcall.CallsWithCapabilities(t, s, nil, toolcall.ToolsInCallOrder(t))
		answered := toolcall.AnsweredCalls(calls.List)
		if len(answered) == 0 {
			toolcall.SkipNotObserved(t, "call was answered", calls.Uncalled, toolcall.AnyTool)
		}
		toolcall.EachToolCall(t, answered, func(t *check.T, call toolcall.ToolCall) {
			t.Expect(call.Reply.Result()["resultType"]).NotTo(check.BeOneOf("task"), "resultType")
		})
	}),
}

// callWithAndWithoutTasks calls tools as clients with and without the extension.
func callWithAndWithoutTasks(t *check.T) {
	toolcall.CallTools(t)
	triggerTasks(t)
}

// beNoTask matches a reply that is not a task.
func beNoTask() types.GomegaMatcher {
	return check.Satisfy("an answer that is not a task", func(r driver.Reply) bool { return !isTask(r) })
}

// isMissingCapability reports whether a reply says that the client lacks a capability.
func isMissingCapability(r driver.Reply) bool {
	code, _ := r.Code()
	return code == errcode.MissingRequiredClientCapability
}

// callsWithoutTasks returns calls of tools that create tasks, by a client with all other capabilities.
func callsWithoutTasks(t *check.T) (calls []toolcall.ToolCall) {
	made := requireRuns(t)
	for _, call := range toolcall.AnsweredCalls(toolcall.ValidCalls(t).List) {
		if slices.ContainsFunc(made, func(c *taskRun) bool { return c.ToolCall.Tool.Name == call.Tool.Name }) {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		check.NoAnswer(t, "no tool that makes tasks has answered a client that does not know them")
	}
	return calls
}

// hasCompleted reports whether a tool has completed a task without input.
func hasCompleted(t *check.T, tool string) bool {
	return slices.ContainsFunc(requireRuns(t), func(c *taskRun) bool {
		completed := c.ToolCall.Tool.Name == tool && c.FinalStatus == "completed"
		return completed && len(c.UpdateReplies) == 0 && !isToolError(taskResult(c.lastSnapshot()))
	})
}

// requireCallWithoutTask returns a call of callsWithoutTasks, preferably one with a result. If such a client gets a
// task, it ends the check.
func requireCallWithoutTask(t *check.T) toolcall.ToolCall {
	calls := callsWithoutTasks(t)
	if slices.ContainsFunc(calls, func(call toolcall.ToolCall) bool { return isTask(call.Reply) }) {
		t.Yield("a client that does not know tasks gets some")
	}
	if i := slices.IndexFunc(calls, func(call toolcall.ToolCall) bool { return call.Reply.Result() != nil }); i >= 0 {
		return calls[i]
	}
	return calls[0]
}
