package tasks

import (
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// desk is where the requests of a server lie for input that its tasks need, until they are answered: not before the
// client has seen what the server tells of the task meanwhile, or that it tells nothing meanwhile.
type desk struct {
	t     *T
	s     *driver.Session
	known map[string]bool // the ids of tasks that are followed
	own   map[string]bool // methods that the server asks for without a task as well

	mu        sync.Mutex
	questions []*question
	busy      *driver.Reply // to tasks/get, where the server serves nothing else while it waits for answers
}

// question is a request of the server, and what it told of tasks while that had no answer.
type question struct {
	*driver.Frame
	Told     map[string]driver.Reply // the answers to tasks/get, by id
	answered bool
}

// task is the id of the task that the question says to belong to; empty when it says none.
func (q *question) task() string {
	params, _ := q.JSON()["params"].(M)
	related, _ := kit.MetaOf(params)[kit.RelatedTask].(M)
	id, _ := related["taskId"].(string)
	return id
}

// Subject shows the question.
func (q *question) Subject() Subject {
	return Subject{Name: q.Method, Frames: []*driver.Frame{q.Frame}}
}

// take takes requests for input.
func (d *desk) take(request *driver.Frame) (taken bool) {
	if request.Method != "elicitation/create" && request.Method != "sampling/createMessage" {
		return false
	}
	q := &question{Frame: request, Told: map[string]driver.Reply{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy != nil {
		d.atOnce(q)
	}
	d.questions = append(d.questions, q)
	return true
}

// hurry has questions answered at once, from now on: the server has refused tasks/get, as it serves nothing else before
// it has the answers. It reports whether there were any.
func (d *desk) hurry(busy driver.Reply) (any bool) {
	d.mu.Lock()
	d.busy = &busy
	d.mu.Unlock()
	open := d.waiting()
	for _, q := range open {
		d.atOnce(q)
	}
	return len(open) > 0
}

// waiting are the questions without an answer.
func (d *desk) waiting() []*question {
	return slices.DeleteFunc(d.all(), func(q *question) bool { return q.answered })
}

// all are all questions.
func (d *desk) all() []*question {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.questions)
}

// told is called with what the server has told of a task, and answers those of the questions that belong to it, or do
// not say to which known one. It reports whether there were any.
func (d *desk) told(open []*question, id string, reply driver.Reply) (any bool) {
	for _, q := range open {
		q.Told[id] = reply
		if of := q.task(); !q.answered && (of == id || !d.known[of]) {
			d.reply(q, id)
			any = true
		}
	}
	return any
}

// atOnce answers a question of a server that is busy until then.
func (d *desk) atOnce(q *question) {
	q.Told[q.task()] = *d.busy
	d.reply(q, q.task())
}

// reply answers a question for a task; empty: for none.
func (d *desk) reply(q *question, id string) {
	q.answered = true
	d.s.Reply(q.Frame, kit.WillingFor(d.t, q.Frame, id))
}
