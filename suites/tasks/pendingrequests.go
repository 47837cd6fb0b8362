package tasks

import (
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/taskrun"
)

// pendingRequests is where the requests of a server lie for input that its tasks need, until they are answered: not
// before the client has seen what the server tells of the task meanwhile, or that it tells nothing meanwhile.
type pendingRequests struct {
	t          *check.T
	session    *driver.Session
	knownTasks map[string]bool // the ids of tasks that are followed
	ownMethods map[string]bool // methods that the server asks for without a task as well

	mu        sync.Mutex
	requests  []*pendingRequest
	busyReply *driver.Reply // to tasks/get, where the server serves nothing else while it waits for answers
}

// pendingRequest is a request of the server, and what it told of tasks while that had no answer.
type pendingRequest struct {
	*driver.Frame
	TaskReplies map[string]driver.Reply // the answers to tasks/get, by id
	answered    bool
}

// taskID is the id of the task that the question says to belong to; empty when it says none.
func (q *pendingRequest) taskID() string {
	params, _ := q.JSON()["params"].(check.M)
	related, _ := protocol.MetaOf(params)[taskrun.RelatedTaskKey].(check.M)
	id, _ := related["taskId"].(string)
	return id
}

// Subject shows the question.
func (q *pendingRequest) Subject() check.Subject {
	return check.Subject{Name: q.Method, Frames: []*driver.Frame{q.Frame}}
}

// add takes requests for input.
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

// answerNow has questions answered at once, from now on: the server has refused tasks/get, as it serves nothing else
// before it has the answers. It reports whether there were any.
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

// waiting are the questions without an answer.
func (d *pendingRequests) unanswered() []*pendingRequest {
	return slices.DeleteFunc(d.all(), func(q *pendingRequest) bool { return q.answered })
}

// all are all questions.
func (d *pendingRequests) all() []*pendingRequest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests)
}

// told is called with what the server has told of a task, and answers those of the questions that belong to it, or do
// not say to which known one. It reports whether there were any.
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

// answerBusy answers a question of a server that is busy until then.
func (d *pendingRequests) answerBusy(q *pendingRequest) {
	q.TaskReplies[q.taskID()] = *d.busyReply
	d.answer(q, q.taskID())
}

// answer answers a question for a task; empty: for none.
func (d *pendingRequests) answer(q *pendingRequest, id string) {
	q.answered = true
	d.session.Respond(q.Frame, taskrun.AcceptedResponse(d.t, q.Frame, id))
}
