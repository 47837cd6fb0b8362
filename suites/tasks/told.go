package tasks

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// told is a task as a message of the server has it.
type told struct {
	Message
	State M
	place string // the method of the message, or of what it answers
}

// statusTold is the notification that the status of a task has changed.
const statusTold = "notifications/tasks/status"

// Subject shows the message.
func (x told) Subject() Subject {
	s := x.Message.Subject()
	s.Name = x.place
	return s
}

// id is the one of the task; empty when it has none that is a string.
func (x told) id() string {
	id, _ := x.State["taskId"].(string)
	return id
}

// mostTold is how many tasks a check looks at: more than any run has of a server that does not flood it.
const mostTold = 5000

// allTold are the tasks in what the server has said, in the order of each session; without any the check ends.
func allTold(t *T, w Wire) (all []told) {
	meaningless := kit.Meaningless(w)
	for _, m := range w.Messages().Established(t.Revision).List {
		if m.IsResponse() && meaningless(kit.ResultOf(m)) {
			continue // tasks/unknown-id-get, tasks/cancel-terminal-rejected
		}
		all = append(all, toldIn(m)...)
		if len(all) > mostTold {
			t.Partly("only the first %d tasks were judged: it is a flood", mostTold)
			return all[:mostTold]
		}
	}
	if len(all) == 0 {
		nothing(t, "task was told of")
	}
	return all
}

// toldIn are the tasks in a message.
func toldIn(m Message) (all []told) {
	if m.Method == statusTold {
		params, _ := m.JSON()["params"].(M)
		return []told{{m, params, m.Method}}
	}
	result := kit.ResultOf(m)
	if !m.IsResponse() || m.Request == nil || result == nil {
		return nil
	}
	switch method := m.Request.Method; method {
	case "tools/call":
		if task := taskIn(result); task != nil && kit.RequestParams(m)["task"] != nil {
			return []told{{m, task, method}}
		}
	case "tasks/get", "tasks/cancel":
		if task := taskIn(result); task != nil && !Has(result, "taskId") {
			return []told{{m, task, method}} // tasks/get-result-schema, tasks/cancel-result
		}
		return []told{{m, result, method}}
	case "tasks/list":
		for _, task := range kit.ObjectsIn(result["tasks"]) {
			all = append(all, told{m, task, method})
		}
	}
	return all
}

// eachTold tries a check on the tasks that the server has told of.
func eachTold(t *T, w Wire, run func(*T, told)) { Each(t, allTold(t, w), told.Subject, run) }

// news are notifications of the status of a task that came in a session since a mark.
func news(s *driver.Session, mark int, id string) (all []*driver.Frame) {
	for _, f := range s.Since(mark) {
		params, _ := f.JSON()["params"].(M)
		if f.Side == driver.FromServer && f.Method == statusTold && params["taskId"] == any(id) {
			all = append(all, f)
		}
	}
	return all
}
