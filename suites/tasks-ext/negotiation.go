package tasksext

import (
	"net/http"
	"slices"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// The codes of errors that the revision defines.
const (
	headerMismatch    = -32020
	missingCapability = -32021
)

// coreTasks is what a client of 2025-11-25 declares that knows the tasks of that revision.
var coreTasks = M{"tasks": M{"requests": M{"tools": M{"call": M{}}}, "cancel": M{}}}

// negotiation are the checks of who gets a task, and who does not.
var negotiation = Suite{
	"tasks-ext/advertised": WatchAfter(callAll, func(t *T, w Wire) {
		tasks := kit.Results(t, w).Filter("task", func(m Message) bool {
			return m.Request.Method == "tools/call" && kit.ResultOf(m)["resultType"] == "task"
		})
		t.Judge(tasks, func(t *T, m Message) {
			extensions, _ := t.Server.Capabilities["extensions"].(M)
			t.Expect(Has(extensions, extension)).To(Hold(
				extension+" in the capabilities of server/discover", "%s", Show(t.Server.Capabilities)))
		})
	}),

	"tasks-ext/no-core-capability": Probe(func(t *T) {
		t.By(t.Server.First).Expect(Member(t.Server.Capabilities, "tasks")).To(BeOneOf(Absent{}), "capabilities.tasks")
	}),

	"tasks-ext/not-for-non-declaring": Probe(func(t *T) {
		kit.EachCall(t, plainCalls(t), func(t *T, call kit.ToolCall) { t.Expect(call.Reply).To(beNoTask()) })
	}),

	"tasks-ext/not-by-prior-declaration": Probe(func(t *T) {
		call := discreet(t)
		s := t.Session()
		begin(t, s, call, nil).ask("tasks/cancel", nil)
		t.Expect(callAgain(t, s, call, kit.Able, nil).Reply).To(beNoTask())
	}),

	"tasks-ext/core-capability-not-enough": Probe(func(t *T) {
		client := M{}
		for _, capabilities := range []M{kit.Able, coreTasks} {
			for name, v := range capabilities {
				client[name] = v
			}
		}
		call, session := discreet(t), t.Session
		if t.Alone() {
			session = t.Own // in which nobody has declared them before
		}
		t.Expect(callAgain(t, session(), call, client, nil).Reply).To(beNoTask())
	}),

	"tasks-ext/required-error": Probe(func(t *T) {
		var unserved []kit.ToolCall
		for _, call := range plainCalls(t) {
			atOnce := len(call.Input.Asked) == 0
			if call.Reply.Error() != nil && (isLacking(call.Reply) || atOnce && ranWell(t, call.Tool.Name)) {
				unserved = append(unserved, call)
			}
		}
		if len(unserved) == 0 {
			t.Because(NotOffered).Skip("no tool is known to run as a task only")
		}
		kit.EachCall(t, unserved, func(t *T, call kit.ToolCall) {
			t.Expect(call.Reply).To(BeError(missingCapability))
		})
	}),

	"tasks-ext/required-error-data": Probe(func(t *T) {
		lacking := slices.DeleteFunc(plainCalls(t), func(call kit.ToolCall) bool { return !isLacking(call.Reply) })
		if len(lacking) == 0 {
			t.Because(NotObserved).Skip("no call was answered with error %d", missingCapability)
		}
		kit.EachCall(t, lacking, func(t *T, call kit.ToolCall) {
			data, _ := call.Reply.Error()["data"].(M)
			required, _ := data["requiredCapabilities"].(M)
			extensions, _ := required["extensions"].(M)
			t.Expect(Has(extensions, extension)).To(Hold(
				extension+" in data.requiredCapabilities.extensions", "%s", Show(call.Reply.Error())))
		})
	}),

	"tasks-ext/methods-non-declaring": Probe(func(t *T) {
		s := t.Hostile()
		methods := []Subject{Named("tasks/get"), Named("tasks/update"), Named("tasks/cancel")}
		t.Each(methods, func(t *T, method Subject) {
			r := kit.AskAmiss(t, s, method.Name, kit.Declaring(M{"taskId": kit.NoTask, "inputResponses": M{}}, M{}))
			if code, _ := r.Code(); method.Name == "tasks/cancel" && code != missingCapability {
				wantOwnRefusal(t, r)
			}
			t.Expect(r).To(BeError(missingCapability))
		})
	}),

	"tasks-ext/name-header": Probe(func(t *T) {
		s := t.Session()
		ask := func(name string) *driver.Exchange {
			request := kit.Request{Method: "tasks/get", Params: kit.Declaring(M{"taskId": kit.NoTask}, able)}
			request.Header = kit.Header("Mcp-Name", name)
			x := kit.ByHand(s, request)
			kit.Own(t, kit.CameOf(x))
			return x
		}
		kit.WantErrors(t)
		if code, _ := ask(kit.NoTask).Reply().Code(); code == headerMismatch {
			t.Fail("an answer about the task where Mcp-Name is its id", "error %d", code)
		}
		other := ask(kit.NoTask + "-too")
		kit.WantRefuser(t, other.Reply())
		t.Expect(other.Answer().Status).To(BeOneOf(http.StatusBadRequest), "the status with another Mcp-Name")
		t.Expect(other.Reply()).To(BeError(headerMismatch))
	}),

	"tasks-ext/principal-bound": Probe(func(t *T) {
		if t.Credentials.Second == "" {
			t.Because(NotGiven).Skip("there is no token of another principal (--token-env second=VARIABLE)")
		}
		call, s := longest(t).Call, t.Session()
		c := begin(t, s, call, nil)
		defer func() { c.ask("tasks/cancel", nil) }()
		request := kit.Request{Method: "tasks/get", Params: kit.Declaring(M{"taskId": c.ID}, able)}
		request.Header = kit.Header("Authorization", "Bearer "+t.Credentials.Second)
		request.Header.Set("Mcp-Name", driver.FieldValue(c.ID))
		x := kit.ByHand(s, request)
		kit.Own(t, kit.CameOf(x))
		kit.WantRefuser(t, x.Reply())
		t.Expect(x.Reply().Result() == nil).To(Hold("no word of a task to another principal", "%s", x.Reply()))
	}),

	"tasks-ext/earlier-revision-ignored": Probe(func(t *T) {
		extensions, _ := t.Server.Capabilities["extensions"].(M)
		if extensions[extension] == nil {
			t.Because(NotDeclared).Skip("the server does not declare %s in %s", extension, t.Revision)
		}
		s := t.Start()
		hello := driver.Hello(t.Revision)
		hello["capabilities"] = kit.Extending(extension)
		if err := s.Establish(hello); err != nil {
			t.Again("%v", Explain(err))
		}
		calls := kit.CallsDeclaring(t, s, nil, kit.Choice(t))
		answered := kit.Answered(calls.List)
		if len(answered) == 0 {
			kit.NothingSeen(t, "call was answered", calls.Uncalled, kit.AnyTool)
		}
		kit.EachCall(t, answered, func(t *T, call kit.ToolCall) {
			t.Expect(call.Reply.Result()["resultType"]).NotTo(BeOneOf("task"), "resultType")
		})
	}),
}

// callAll calls tools as clients with the extension and without it.
func callAll(t *T) {
	kit.CallTools(t)
	follows(t)
}

// beNoTask matches an answer that is not a task.
func beNoTask() types.GomegaMatcher {
	return That("an answer that is not a task", func(r driver.Reply) bool { return !isTask(r) })
}

// isLacking reports whether an answer says that the client lacks something.
func isLacking(r driver.Reply) bool {
	code, _ := r.Code()
	return code == missingCapability
}

// plainCalls are calls of tools that make tasks, by a client that does not know them and has all else.
func plainCalls(t *T) (calls []kit.ToolCall) {
	made := tasks(t)
	for _, call := range kit.Answered(kit.ValidCalls(t).List) {
		if slices.ContainsFunc(made, func(c *course) bool { return c.Call.Tool.Name == call.Tool.Name }) {
			calls = append(calls, call)
		}
	}
	if len(calls) == 0 {
		NoAnswer(t, "no tool that makes tasks has answered a client that does not know them")
	}
	return calls
}

// ranWell reports whether a tool is known to do its work as a task without input.
func ranWell(t *T, tool string) bool {
	return slices.ContainsFunc(tasks(t), func(c *course) bool {
		completed := c.Call.Tool.Name == tool && c.End == "completed"
		return completed && len(c.Updates) == 0 && !isToolError(resultIn(c.atLast()))
	})
}

// discreet is a call of a tool that makes tasks, and none for a client that does not know them: best one that serves
// such a client all the same.
func discreet(t *T) kit.ToolCall {
	calls := plainCalls(t)
	if slices.ContainsFunc(calls, func(call kit.ToolCall) bool { return isTask(call.Reply) }) {
		t.Yield("a client that does not know tasks gets some")
	}
	if i := slices.IndexFunc(calls, func(call kit.ToolCall) bool { return call.Reply.Result() != nil }); i >= 0 {
		return calls[i]
	}
	return calls[0]
}
