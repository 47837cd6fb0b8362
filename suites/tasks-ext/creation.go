package tasksext

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// creation are the checks of how calls are answered by tasks.
var creation = Suite{
	"tasks-ext/result-type-task": Probe(func(t *T) {
		judgeAll(t, tasks(t), func(t *T, c *course) {
			kind, isString := c.Made.Result()["resultType"].(string)
			if !isString {
				t.Yield("there is no resultType")
			}
			t.Expect(kind).To(BeOneOf("task"))
		})
	}),

	"tasks-ext/create-shape": Probe(func(t *T) {
		judgeAll(t, tasks(t), func(t *T, c *course) { expectShape(t, "CreateTaskResult", c.Made) })
		judge(t, kit.Moments(tasks(t)), func(t *T, m moment) { expectShape(t, "GetTaskResult", m.Reply) })
	}),

	"tasks-ext/no-hint-needed": Probe(func(t *T) {
		told := tell(t)
		hint := M{"task": M{"ttl": 60_000}}
		for _, call := range refused(told.List) {
			hinted := callAgain(t, t.Session(), call, able, hint)
			t.Expect(!isTask(hinted.Reply)).To(Hold("the same outcome with and without `task`",
				"with: %s; without: %s", hinted.Reply, call.Reply))
		}
		tasks(t)
	}),

	"tasks-ext/task-param-ignored": Probe(func(t *T) {
		served := slices.DeleteFunc(slices.Clone(tell(t).List), func(c kit.ToolCall) bool { return !isFinal(c.Reply) })
		if len(served) == 0 {
			kit.NothingSeen(t, "tool was served at once", tell(t).Uncalled, kit.AnyTool)
		}
		plain, hint := served[0], M{"task": M{"ttl": 60_000}}
		hinted := callAgain(t, t.Session(), plain, able, hint)
		if !isFinal(hinted.Reply) && isFinal(callAgain(t, t.Session(), plain, able, nil).Reply) { // and so it stays
			t.Expect(isFinal(callAgain(t, t.Session(), plain, able, hint).Reply)).To(Hold(
				"a final result, as without the parameter task", "%s", hinted.Reply))
		}
	}),

	"tasks-ext/durable-create": Probe(func(t *T) {
		c := cancelled(t)
		r := c.First
		if c.WantTime(t, r); !kit.IsGone(r) && r.Result() == nil {
			t.Inconclusive("tasks/get was answered with %s", Got(r))
		}
		t.Expect(r).To(BeResult())
	}),

	"tasks-ext/mrtr-before-create": Probe(func(t *T) {
		all := those(t, "task whose call asked for input", func(c *course) bool { return len(c.Call.Input.Asked) > 0 })
		judgeAll(t, all, func(t *T, c *course) {
			for _, asked := range c.Call.Input.Asked {
				t.Expect(Member(asked.Result(), "taskId")).To(BeOneOf(Absent{}), "taskId before the input was there")
			}
			t.Expect(Member(c.Made.Result(), "inputRequests")).To(BeOneOf(Absent{}), "inputRequests of the new task")
		})
	}),

	"tasks-ext/only-tools-call": WatchAfter(askOthers, func(t *T, w Wire) {
		others := knowingResults(t, w).Filter("result beside those of calls and tasks", func(m Message) bool {
			return m.Request.Method != "tools/call" && !kit.IsOfTask(m)
		})
		t.Judge(others, func(t *T, m Message) {
			t.Expect(kit.ResultOf(m)["resultType"] != "task").To(Hold(
				"a task in answer to tools/call alone", "one in answer to %s", m.Request.Method))
		})
	}),

	"tasks-ext/task-type-only-on-create": WatchAfter(follows, func(t *T, w Wire) {
		about := knowingResults(t, w).Filter("result of a request about a task", kit.IsOfTask)
		t.Judge(about, func(t *T, m Message) {
			t.Expect(kit.ResultOf(m)["resultType"] != "task").To(Hold(
				`resultType "task" in answer to tools/call alone`, "it in answer to %s", m.Request.Method))
		})
	}),

	"tasks-ext/id-entropy": WatchAfter(follows, func(t *T, w Wire) {
		var ids []string
		var made []Message
		for _, m := range knowingResults(t, w).List {
			result := kit.ResultOf(m)
			id, isString := result["taskId"].(string)
			if isString && result["resultType"] == "task" && !slices.Contains(ids, id) {
				ids, made = append(ids, id), append(made, m)
			}
		}
		if len(ids) < 2 {
			t.Because(NotObserved).Skip("no two tasks were made")
		}
		guessable := kit.Guessable(ids, time.Now()) != "" || kit.VaryingBits(ids) < fewBits
		t.By(made).Warn(!guessable).To(Hold("ids that nobody can guess", "%s", Show(ids)))
	}),

	"tasks-ext/no-request-state": Probe(func(t *T) {
		told := kit.Moments(tasks(t))
		for _, c := range tasks(t) {
			told = append(told, moment{Course: c.Course, Reply: c.Made})
		}
		judge(t, told, func(t *T, m moment) { t.Expect(Member(m.State(), "requestState")).To(BeOneOf(Absent{})) })
	}),
}

// fewBits is how much of an id somebody might try all of.
const fewBits = 32

// follows sees to it that there are tasks.
func follows(t *T) {
	if t.Server.Extension(extension) != nil {
		tell(t)
	}
}

// expectShape wants a task to have all of its members.
func expectShape(t *T, definition string, r driver.Reply) {
	broken := kit.Broken(t, "tasks-ext/create-shape", definition, r.Member("result"))
	t.Expect(broken).To(BeEmptyList[string]("a task with all of its members"))
	for _, member := range []string{"createdAt", "lastUpdatedAt"} {
		t.Expect(r.Result()[member]).To(That("a timestamp of ISO 8601", kit.IsTimestamp.MatchString), member)
	}
}

// isFinal reports whether a call was served at once, and well.
func isFinal(r driver.Reply) bool {
	return r.Result() != nil && !isTask(r) && r.Result()["isError"] != true
}

// refused are the first calls that were answered with an error for another reason than that the client lacks something.
func refused(calls []kit.ToolCall) (some []kit.ToolCall) {
	const most = 3
	for _, call := range calls {
		if code, isError := call.Reply.Code(); isError && code != missingCapability && len(some) < most {
			some = append(some, call)
		}
	}
	return some
}

// askOthers asks for what is not a call as a client that knows tasks.
func askOthers(t *T) {
	if t.Server.Extension(extension) == nil {
		return
	}
	s := t.Session()
	for _, method := range append(kit.ListsOf(t.Server.Capabilities), "server/discover") {
		if KnownUnanswered(t, method) == nil {
			t.Try(s, method, kit.Declaring(nil, able))
		}
	}
	if len(t.Server.Resources) > 0 {
		t.Try(s, "resources/read", kit.Declaring(M{"uri": t.Server.Resources[0]["uri"]}, able))
	}
	for _, prompt := range t.Server.Prompts {
		if len(kit.ObjectsIn(prompt["arguments"])) == 0 {
			t.Try(s, "prompts/get", kit.Declaring(M{"name": prompt["name"]}, able))
			return
		}
	}
}

// knowingResults are the results of requests whose client knows tasks.
func knowingResults(t *T, w Wire) Messages {
	return kit.Results(t, w).Filter("result for a client that knows tasks", func(m Message) bool {
		return knows(m.Request)
	})
}

// knows reports whether the client of a request knows tasks.
func knows(request *driver.Frame) bool {
	params, _ := request.JSON()["params"].(M)
	client, _ := kit.MetaOf(params)[driver.MetaCapabilities].(M)
	extensions, _ := client["extensions"].(M)
	return extensions[extension] != nil
}
