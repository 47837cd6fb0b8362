package tasks

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// reportedTask is the state of a task in a message of the server.
type reportedTask struct {
	check.Message
	State check.M
	// source is the method of the notification, or of the request that the message responds to.
	source string
}

// statusMethod is the notification that the status of a task has changed.
const statusMethod = "notifications/tasks/status"

// Subject shows the message.
func (x reportedTask) Subject() check.Subject {
	s := x.Message.Subject()
	s.Name = x.source
	return s
}

// id returns the id of the task; empty if it has none that is a string.
func (x reportedTask) id() string {
	id, _ := x.State["taskId"].(string)
	return id
}

// maxReportedTasks is the number of reported tasks that a check judges. Only a flood has more.
const maxReportedTasks = 5000

// reportedTasks returns the tasks in the messages of the server, in the order of each session. Without any, it ends the
// check.
func reportedTasks(t *check.T, w check.Wire) (all []reportedTask) {
	meaningless := invalid.SameAsUnknownMethod(w)
	for _, m := range w.Messages().Negotiated(t.Revision).List {
		if m.IsResponse() && meaningless(protocol.ResultOf(m)) {
			continue // tasks/unknown-id-get and tasks/cancel-terminal-rejected judge it
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

// reportedTasksIn returns the tasks in a message.
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
			return []reportedTask{{m, task, method}} // tasks/get-result-schema and tasks/cancel-result report it
		}
		return []reportedTask{{m, result, method}}
	case "tasks/list":
		for _, task := range protocol.ObjectsIn(result["tasks"]) {
			all = append(all, reportedTask{m, task, method})
		}
	}
	return all
}

// eachReportedTask runs a check on every reported task.
func eachReportedTask(t *check.T, w check.Wire, run func(*check.T, reportedTask)) {
	check.Each(t, reportedTasks(t, w), reportedTask.Subject, run)
}

// statusNotifications returns the status notifications of a task that were received in a session since a mark.
func statusNotifications(s *driver.Session, mark int, id string) (all []*driver.Frame) {
	for _, f := range s.ReceivedSince(mark) {
		params, _ := f.JSON()["params"].(check.M)
		if f.Side == driver.FromServer && f.Method == statusMethod && params["taskId"] == any(id) {
			all = append(all, f)
		}
	}
	return all
}
