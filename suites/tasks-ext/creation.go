package tasksext

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// creationChecks are the checks of calls that are answered with a task.
var creationChecks = check.Suite{
	"tasks-ext/result-type-task": check.Probe(func(t *check.T) {
		eachRun(t, requireRuns(t), func(t *check.T, c *taskRun) {
			kind, isString := c.CreateReply.Result()["resultType"].(string)
			if !isString {
				t.Yield("there is no resultType")
			}
			t.Expect(kind).To(check.BeOneOf("task"))
		})
	}),

	"tasks-ext/create-shape": check.Probe(func(t *check.T) {
		eachRun(t, requireRuns(t),
			func(t *check.T, c *taskRun) { expectTaskShape(t, "CreateTaskResult", c.CreateReply) })
		eachSnapshot(t, taskrun.Snapshots(requireRuns(t)),
			func(t *check.T, m snapshot) { expectTaskShape(t, "GetTaskResult", m.Reply) })
	}),

	"tasks-ext/no-hint-needed": check.Probe(func(t *check.T) {
		all := runTasks(t)
		hint := check.M{"task": check.M{"ttl": 60_000}}
		for _, call := range refusedCalls(all.List) {
			hinted := repeatCall(t, t.Session(), call, taskCapabilities, hint)
			t.Expect(!isTask(hinted.Reply)).To(check.BeTrue("the same outcome with and without `task`",
				"with: %s; without: %s", hinted.Reply, call.Reply))
		}
		requireRuns(t)
	}),

	"tasks-ext/task-param-ignored": check.Probe(func(t *check.T) {
		served := slices.DeleteFunc(slices.Clone(runTasks(t).List),
			func(c toolcall.ToolCall) bool { return !isImmediateResult(c.Reply) })
		if len(served) == 0 {
			toolcall.SkipNotObserved(t, "tool was served at once", runTasks(t).Uncalled, toolcall.AnyTool)
		}
		plain, hint := served[0], check.M{"task": check.M{"ttl": 60_000}}
		hinted := repeatCall(t, t.Session(), plain, taskCapabilities, hint)
		// The outcome has to be the same when it is repeated.
		if !isImmediateResult(hinted.Reply) &&
			isImmediateResult(repeatCall(t, t.Session(), plain, taskCapabilities, nil).Reply) {
			t.Expect(isImmediateResult(repeatCall(t, t.Session(), plain, taskCapabilities, hint).Reply)).
				To(check.BeTrue("a final result, as without the parameter task", "%s", hinted.Reply))
		}
	}),

	"tasks-ext/durable-create": check.Probe(func(t *check.T) {
		c := cancelTask(t)
		r := c.GetReply
		if c.SkipIfExpired(t, r); !taskrun.IsUnknownTask(r) && r.Result() == nil {
			t.NoVerdict(check.Undecided, "tasks/get was answered with %s", check.Got(r))
		}
		t.Expect(r).To(check.BeResult())
	}).InOwnSession(),

	"tasks-ext/mrtr-before-create": check.Probe(func(t *check.T) {
		all := requireRunsWhere(t, "task whose call asked for input",
			func(c *taskRun) bool { return len(c.ToolCall.InputLoop.InputReplies) > 0 })
		eachRun(t, all, func(t *check.T, c *taskRun) {
			for _, asked := range c.ToolCall.InputLoop.InputReplies {
				t.Expect(check.Member(asked.Result(), "taskId")).To(check.BeOneOf(check.Absent{}),
					"taskId before the input was there")
			}
			t.Expect(check.Member(c.CreateReply.Result(), "inputRequests")).To(check.BeOneOf(check.Absent{}),
				"inputRequests of the new task")
		})
	}),

	"tasks-ext/only-tools-call": check.WatchWithSetup(requestOtherMethods, func(t *check.T, w check.Wire) {
		others := resultsForTaskClients(t, w).Filter("result beside those of calls and tasks",
			func(m check.Message) bool {
				return m.Request.Method != "tools/call" && !protocol.IsTaskResponse(m)
			})
		t.Judge(others, func(t *check.T, m check.Message) {
			t.Expect(protocol.ResultOf(m)["resultType"] != "task").To(check.BeTrue(
				"a task in answer to tools/call alone", "one in answer to %s", m.Request.Method))
		})
	}),

	"tasks-ext/task-type-only-on-create": check.WatchWithSetup(triggerTasks, func(t *check.T, w check.Wire) {
		about := resultsForTaskClients(t, w).Filter("result of a request about a task", protocol.IsTaskResponse)
		t.Judge(about, func(t *check.T, m check.Message) {
			t.Expect(protocol.ResultOf(m)["resultType"] != "task").To(check.BeTrue(
				`resultType "task" in answer to tools/call alone`, "it in answer to %s", m.Request.Method))
		})
	}),

	"tasks-ext/id-entropy": check.WatchWithSetup(triggerTasks, func(t *check.T, w check.Wire) {
		var ids []string
		var made []check.Message
		for _, m := range resultsForTaskClients(t, w).List {
			result := protocol.ResultOf(m)
			id, isString := result["taskId"].(string)
			if isString && result["resultType"] == "task" && !slices.Contains(ids, id) {
				ids, made = append(ids, id), append(made, m)
			}
		}
		if len(ids) < 2 {
			t.Skip(check.NotObserved, "no two tasks were made")
		}
		guessable := areTimes(ids, time.Now()) || invalid.VaryingBits(ids) < minIDBits
		t.DecidedBy(made).ExpectShould(!guessable).To(check.BeTrue("ids that nobody can guess", "%s", check.Show(ids)))
	}),

	"tasks-ext/no-request-state": check.Probe(func(t *check.T) {
		all := taskrun.Snapshots(requireRuns(t))
		for _, c := range requireRuns(t) {
			all = append(all, snapshot{TaskRun: c.TaskRun, Reply: c.CreateReply})
		}
		eachSnapshot(t, all,
			func(t *check.T, m snapshot) {
				t.Expect(check.Member(m.State(), "requestState")).To(check.BeOneOf(check.Absent{}))
			})
	}),
}

// minIDBits is the number of random bits up to which somebody could try all ids.
const minIDBits = 32

// triggerTasks makes sure that there are tasks.
func triggerTasks(t *check.T) {
	if t.Server.Extension(extension) != nil {
		runTasks(t)
	}
}

// expectTaskShape requires a task to have all of its members.
func expectTaskShape(t *check.T, definition string, r driver.Reply) {
	broken := protocol.Violations(t, "tasks-ext/create-shape", definition, r.Member("result"))
	t.Expect(broken).To(check.BeEmptyList[string]("a task with all of its members"))
	for _, member := range []string{"createdAt", "lastUpdatedAt"} {
		t.Expect(r.Result()[member]).To(check.Satisfy("a timestamp of ISO 8601", taskrun.TimestampPattern.MatchString),
			member)
	}
}

// isImmediateResult reports whether a call was answered with a successful result instead of a task.
func isImmediateResult(r driver.Reply) bool {
	return r.Result() != nil && !isTask(r) && r.Result()["isError"] != true
}

// refusedCalls returns the first calls that were answered with an error, except that of a missing capability.
func refusedCalls(calls []toolcall.ToolCall) (some []toolcall.ToolCall) {
	const most = 3
	for _, call := range calls {
		if code, isError := call.Reply.Code(); isError && code != errcode.MissingRequiredClientCapability &&
			len(some) < most {
			some = append(some, call)
		}
	}
	return some
}

// requestOtherMethods sends other requests than calls as a client with the extension.
func requestOtherMethods(t *check.T) {
	if t.Server.Extension(extension) == nil {
		return
	}
	s := t.Session()
	for _, method := range append(protocol.ListMethods(t.Server.Capabilities), "server/discover") {
		if check.KnownUnanswered(t, method) == nil {
			t.Send(s, method, protocol.WithCapabilities(nil, taskCapabilities), check.AllowSilence)
		}
	}
	if len(t.Server.Resources) > 0 {
		t.Send(s, "resources/read", protocol.WithCapabilities(check.M{"uri": t.Server.Resources[0]["uri"]},
			taskCapabilities), check.AllowSilence)
	}
	for _, prompt := range t.Server.Prompts {
		if len(protocol.ObjectsIn(prompt["arguments"])) == 0 {
			t.Send(s, "prompts/get", protocol.WithCapabilities(check.M{"name": prompt["name"]}, taskCapabilities),
				check.AllowSilence)
			return
		}
	}
}

// resultsForTaskClients returns the results of requests that declare the extension.
func resultsForTaskClients(t *check.T, w check.Wire) check.Messages {
	return protocol.ModernResults(t, w).Filter("result for a client that knows tasks", func(m check.Message) bool {
		return declaresTasks(m.Request)
	})
}

// declaresTasks reports whether a request declares the extension.
func declaresTasks(request *driver.Frame) bool {
	params, _ := request.JSON()["params"].(check.M)
	client, _ := protocol.MetaOf(params)[driver.MetaCapabilities].(check.M)
	extensions, _ := client["extensions"].(check.M)
	return extensions[extension] != nil
}

var timeDigits = regexp.MustCompile(`[0-9]{9,19}`)

// areTimes reports whether ids differ only in a number that is about the current time, in seconds or a fraction of
// them. Two such ids may differ in many digits, if there is time between them.
func areTimes(ids []string, now time.Time) bool {
	const near = int64(24 * time.Hour / time.Second)
	rests := map[string]bool{}
	for _, id := range ids {
		at := timeDigits.FindStringIndex(id)
		if at == nil {
			return false
		}
		rests[id[:at[0]]+"·"+id[at[1]:]] = true
		n, _ := strconv.ParseInt(id[at[0]:at[1]], 10, 64)
		if !slices.ContainsFunc([]int64{1, 1e3, 1e6, 1e9}, func(unit int64) bool {
			ago := now.Unix() - n/unit
			return -near < ago && ago < near
		}) {
			return false
		}
	}
	return len(rests) == 1
}
