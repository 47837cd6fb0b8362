package tasks

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// requesting are the checks of servers that have their clients run something as a task.
var requesting = Suite{
	"tasks/server-augments-only-declared": WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		var asked []kit.Question
		for _, method := range []string{"sampling/createMessage", "elicitation/create"} {
			for _, q := range kit.Questions(t, w, method) {
				if q.Client()["tasks"] == nil {
					asked = append(asked, q)
				}
			}
		}
		kit.JudgeQuestions(t, "client without tasks was asked for something", asked, func(t *T, q kit.Question) {
			t.Expect(Member(q.Params, "task")).To(BeOneOf[any](Absent{}), "task")
		})
	}),

	"tasks/server-polls-politely": Probe(func(t *T) {
		r := received(t)
		polled := slices.DeleteFunc(r.tasks(), func(c *chore) bool { return len(c.polls) < 2 })
		if len(polled) == 0 {
			t.Because(NotObserved).Skip("no task of the client was asked after twice")
		}
		Each(t, polled, (*chore).subject, func(t *T, c *chore) {
			last := c.polls[0].At
			for _, f := range c.polls[1:] {
				const early = interval / 10
				t.Warn(f.At-last >= interval-early).To(Hold("a pause of pollInterval, "+interval.String(),
					"one of %v", (f.At - last).Round(time.Millisecond)))
				last = f.At
			}
		})
	}),

	"tasks/server-cancels-with-tasks-cancel": WatchAfter(receives, func(t *T, w Wire) {
		r := received(t)
		taken := slices.DeleteFunc(r.tasks(), func(c *chore) bool { return !c.cancelled && c.note(r.s) == nil })
		if len(taken) == 0 {
			t.Because(NotObserved).Skip("the server has cancelled no task of the client")
		}
		Each(t, taken, (*chore).subject, func(t *T, c *chore) {
			t.Expect(c.note(r.s) == nil).To(Hold("tasks/cancel alone", "notifications/cancelled for the request"))
		})
	}),
}

// interval is how often a server may ask after a task of the client.
const interval = time.Second

// receiver is a client that runs what it is asked for as tasks.
type receiver struct {
	s *driver.Session
	t *T

	mu     sync.Mutex
	chores []*chore
}

// chore is a task of the client.
type chore struct {
	id        string
	request   *driver.Frame
	polls     []*driver.Frame
	cancelled bool
}

func (c *chore) subject() Subject {
	return Subject{Name: c.request.Method, Frames: append([]*driver.Frame{c.request}, c.polls...)}
}

// note is the notification by which the server has cancelled the request that the task answered; nil when it has not.
func (c *chore) note(s *driver.Session) *driver.Frame {
	for _, f := range s.Record(0) {
		if f.Side == driver.FromServer && kit.Cancels(f) == driver.IDKey(c.request.ID) {
			return f
		}
	}
	return nil
}

// receives sees to it that a client that runs tasks was asked for something.
func receives(t *T) { received(t) }

// received calls the tools that may be called, each once, as a client that has declared that it runs what it is asked
// for as tasks.
func received(t *T) *receiver {
	return Shared(t, "client with tasks", func(t *T) *receiver {
		client := kit.AbleIn(t.Revision)
		client["tasks"] = M{"list": M{}, "cancel": M{}, "requests": M{
			"sampling": M{"createMessage": M{}}, "elicitation": M{"create": M{}},
		}}
		r := &receiver{t: t}
		r.s = kit.NewClient(t, client).Session
		r.s.AnswerBy(r.take)
		kit.CallsDeclaring(t, r.s, nil, kit.Choice(t))
		return r
	})
}

// tasks are those of the client, in the order in which they were made.
func (r *receiver) tasks() []*chore {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.chores)
}

// take answers a request of the server.
func (r *receiver) take(request *driver.Frame) (taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	params, _ := request.JSON()["params"].(M)
	switch request.Method {
	case "sampling/createMessage", "elicitation/create":
		if params["task"] == nil {
			r.s.Reply(request, willing(r.t, request, ""))
			return true
		}
		c := &chore{id: fmt.Sprintf("mcpcheck-%d-%d", r.s.Number(), len(r.chores)+1), request: request}
		r.chores = append(r.chores, c)
		r.s.Reply(request, M{"result": M{"task": c.state()}})
		return true
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/list":
		r.s.Reply(request, r.about(request, params))
		return true
	}
	return false
}

// about answers a request about tasks.
func (r *receiver) about(request *driver.Frame, params M) M {
	if request.Method == "tasks/list" {
		all := []any{}
		for _, c := range r.chores {
			all = append(all, c.state())
		}
		return M{"result": M{"tasks": all}}
	}
	i := slices.IndexFunc(r.chores, func(c *chore) bool { return params["taskId"] == any(c.id) })
	if i < 0 {
		return M{"error": M{"code": -32602, "message": "Invalid params: there is no such task"}}
	}
	c := r.chores[i]
	switch request.Method {
	case "tasks/get":
		c.polls = append(c.polls, request)
	case "tasks/cancel":
		c.cancelled = true
	case "tasks/result":
		return willing(r.t, c.request, c.id)
	}
	return M{"result": c.state()}
}

// patientPolls is how often a task of the client is asked after before it is done.
const patientPolls = 2

// state is the task as the server is told of it.
func (c *chore) state() M {
	status := "working"
	switch {
	case c.cancelled:
		status = "cancelled"
	case len(c.polls) >= patientPolls:
		status = "completed"
	}
	now := time.Now().UTC().Format(time.RFC3339)
	return M{
		"taskId": c.id, "status": status, "createdAt": now, "lastUpdatedAt": now, "ttl": life,
		"pollInterval": interval.Milliseconds(),
	}
}
