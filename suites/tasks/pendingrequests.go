package tasks

import (
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
)

// pendingRequests holds the requests of a server for input that its tasks need. They are answered only after a later
// tasks/get of the task, so that its status while it waits for input can be judged.
type pendingRequests struct {
	t       *check.T
	session *driver.Session
	// knownTasks are the ids of the tasks that are followed.
	knownTasks map[string]bool
	// ownMethods are the methods that the server also requests without a task.
	ownMethods map[string]bool

	mu       sync.Mutex
	requests []*pendingRequest
	// busyReply is the reply to tasks/get of a server that serves nothing else while it waits for input; nil for
	// others.
	busyReply *driver.Reply
}

// pendingRequest is a server request, with what the server reported of tasks while it was unanswered.
type pendingRequest struct {
	*driver.Frame
	// TaskReplies are the replies to tasks/get by task id.
	TaskReplies map[string]driver.Reply
	answered    bool
}

// taskID returns the id of the task that the request names; empty if it names none.
func (q *pendingRequest) taskID() string { return relatedTaskID(q.Frame) }

// relatedTaskID returns the id of the task that a request or notification names; empty if it names none.
func relatedTaskID(f *driver.Frame) string {
	params, _ := f.JSON()["params"].(check.M)
	related, _ := protocol.MetaOf(params)[taskrun.RelatedTaskKey].(check.M)
	id, _ := related["taskId"].(string)
	return id
}

// Subject shows the request.
func (q *pendingRequest) Subject() check.Subject {
	return check.Subject{Name: q.Method, Frames: []*driver.Frame{q.Frame}}
}

// add adds a server request if it asks for input, and reports whether it does.
func (d *pendingRequests) add(request *driver.Frame) (taken bool) {
	if request.Method != "elicitation/create" && request.Method != "sampling/createMessage" {
		return false
	}
	q := &pendingRequest{Frame: request, TaskReplies: map[string]driver.Reply{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busyReply != nil {
		d.answerBusy(q)
	}
	d.requests = append(d.requests, q)
	return true
}

// answerNow answers all requests immediately, including later ones, since the server refused tasks/get with busy until
// it gets its input. It reports whether there were any.
func (d *pendingRequests) answerNow(busy driver.Reply) (any bool) {
	d.mu.Lock()
	d.busyReply = &busy
	d.mu.Unlock()
	open := d.unanswered()
	for _, q := range open {
		d.answerBusy(q)
	}
	return len(open) > 0
}

// unanswered returns the requests without a response.
func (d *pendingRequests) unanswered() []*pendingRequest {
	return slices.DeleteFunc(d.all(), func(q *pendingRequest) bool { return q.answered })
}

// all returns all requests.
func (d *pendingRequests) all() []*pendingRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests)
}

// onTaskReply records a reply to tasks/get. It answers those of the open requests that belong to the task, or to no
// known task, and reports whether there were any.
func (d *pendingRequests) onTaskReply(open []*pendingRequest, id string, reply driver.Reply) (any bool) {
	for _, q := range open {
		q.TaskReplies[id] = reply
		if of := q.taskID(); !q.answered && (of == id || !d.knownTasks[of]) {
			d.answer(q, id)
			any = true
		}
	}
	return any
}

// answerBusy answers a request of a server that is busy until then.
func (d *pendingRequests) answerBusy(q *pendingRequest) {
	q.TaskReplies[q.taskID()] = *d.busyReply
	d.answer(q, q.taskID())
}

// answer answers a request for the task with an id; an empty id means no task.
func (d *pendingRequests) answer(q *pendingRequest, id string) {
	q.answered = true
	d.session.Respond(q.Frame, taskrun.AcceptedResponse(d.t, q.Frame, id))
}
