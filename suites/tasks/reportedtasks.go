package tasks

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// told is a task as a message of the server has it.
type reportedTask struct {
	check.Message
	State  check.M
	source string // the method of the message, or of what it answers
}

// statusMethod is the notification that the status of a task has changed.
const statusMethod = "notifications/tasks/status"

// Subject shows the message.
func (x reportedTask) Subject() check.Subject {
	s := x.Message.Subject()
	s.Name = x.source
	return s
}

// id is the one of the task; empty when it has none that is a string.
func (x reportedTask) id() string {
	id, _ := x.State["taskId"].(string)
	return id
}

// maxReportedTasks is how many tasks a check looks at: more than any run has of a server that does not flood it.
const maxReportedTasks = 5000

// reportedTasks are the tasks in what the server has said, in the order of each session; without any the check ends.
func reportedTasks(t *check.T, w check.Wire) (all []reportedTask) {
	meaningless := invalid.SameAsUnknownMethod(w)
	for _, m := range w.Messages().Negotiated(t.Revision).List {
		if m.IsResponse() && meaningless(protocol.ResultOf(m)) {
			continue // tasks/unknown-id-get, tasks/cancel-terminal-rejected
		}
		all = append(all, reportedTasksIn(m)...)
		if len(all) > maxReportedTasks {
			t.Caveat("only the first %d tasks were judged: it is a flood", maxReportedTasks)
			return all[:maxReportedTasks]
		}
	}
	if len(all) == 0 {
		skipNotObserved(t, "task was told of")
	}
	return all
}

// reportedTasksIn are the tasks in a message.
func reportedTasksIn(m check.Message) (all []reportedTask) {
	if m.Method == statusMethod {
		params, _ := m.JSON()["params"].(check.M)
		return []reportedTask{{m, params, m.Method}}
	}
	result := protocol.ResultOf(m)
	if !m.IsResponse() || m.Request == nil || result == nil {
		return nil
	}
	switch method := m.Request.Method; method {
	case "tools/call":
		if task := taskIn(result); task != nil && protocol.RequestParams(m)["task"] != nil {
			return []reportedTask{{m, task, method}}
		}
	case "tasks/get", "tasks/cancel":
		if task := taskIn(result); task != nil && !check.HasMember(result, "taskId") {
			return []reportedTask{{m, task, method}} // tasks/get-result-schema, tasks/cancel-result
		}
		return []reportedTask{{m, result, method}}
	case "tasks/list":
		for _, task := range protocol.ObjectsIn(result["tasks"]) {
			all = append(all, reportedTask{m, task, method})
		}
	}
	return all
}

// eachReportedTask tries a check on the tasks that the server has told of.
func eachReportedTask(t *check.T, w check.Wire, run func(*check.T, reportedTask)) {
	check.Each(t, reportedTasks(t, w), reportedTask.Subject, run)
}

// statusNotifications are notifications of the status of a task that came in a session since a mark.
func statusNotifications(s *driver.Session, mark int, id string) (all []*driver.Frame) {
	for _, f := range s.ReceivedSince(mark) {
		params, _ := f.JSON()["params"].(check.M)
		if f.Side == driver.FromServer && f.Method == statusMethod && params["taskId"] == any(id) {
			all = append(all, f)
		}
	}
	return all
}
