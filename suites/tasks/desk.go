package tasks

import (
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// desk is where the requests of a server lie for input that its tasks need, until they are answered: not before the
// client has seen what the server tells of the task meanwhile.
type desk struct {
	mu        sync.Mutex
	questions []*question
	known     map[string]bool // the ids of tasks that are followed
	own       map[string]bool // methods that the server asks for without a task as well
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
	d.mu.Lock()
	defer d.mu.Unlock()
	d.questions = append(d.questions, &question{Frame: request, Told: map[string]driver.Reply{}})
	return true
}

// waiting are the questions without an answer.
func (d *desk) waiting() []*question {
	if d == nil {
		return nil
	}
	return slices.DeleteFunc(d.all(), func(q *question) bool { return q.answered })
}

// all are all questions.
func (d *desk) all() []*question {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.questions)
}

// answer answers questions once something was told of a task: those of that task, and those that do not say of which
// known one they are. It reports whether there were any.
func (d *desk) answer(t *T, s *driver.Session, open []*question, id string, told driver.Reply) (any bool) {
	for _, q := range open {
		q.Told[id] = told
		if of := q.task(); !q.answered && (of == id || !d.known[of]) {
			q.answer(t, s, id)
			any = true
		}
	}
	return any
}

// answer answers the question as a willing user would.
func (q *question) answer(t *T, s *driver.Session, id string) {
	q.answered = true
	params, _ := q.JSON()["params"].(M)
	answer := kit.Willingly(t)(kit.Question{Method: q.Method, Params: params})
	if answer.Result == nil {
		s.Reply(q.Frame, M{"error": answer.Error})
		return
	}
	if id != "" {
		answer.Result["_meta"] = M{kit.RelatedTask: M{"taskId": id}}
	}
	s.Reply(q.Frame, M{"result": answer.Result})
}
