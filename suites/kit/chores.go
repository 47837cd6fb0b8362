package kit

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Chore is a task of the client: what a server of 2025-11-25 has asked it for as such.
type Chore struct {
	Polls     []*driver.Frame // by which the server has asked after it
	Cancelled bool

	id      string
	session *driver.Session
	request *driver.Frame
}

// ChorePause is how often a server may ask after a task of the client, which is kept as long as choreLife, in
// milliseconds, and is done once it was asked after so often.
const (
	ChorePause   = time.Second
	choreLife    = 60_000
	patientPolls = 2
)

// Subject is the task, with what the server has asked of it.
func (c *Chore) Subject() Subject {
	return Subject{Name: c.request.Method, Frames: append([]*driver.Frame{c.request}, c.Polls...)}
}

// Note is the notification by which the server has cancelled the request that the task answered; nil when it has not.
func (c *Chore) Note() *driver.Frame {
	for _, f := range c.session.Record(0) {
		if f.Side == driver.FromServer && Cancels(f) == driver.IDKey(c.request.ID) {
			return f
		}
	}
	return nil
}

// state is the task as the server is told of it.
func (c *Chore) state() M {
	status := "working"
	switch {
	case c.Cancelled:
		status = "cancelled"
	case len(c.Polls) >= patientPolls:
		status = "completed"
	}
	now := time.Now().UTC().Format(time.RFC3339)
	return M{
		"taskId": c.id, "status": status, "createdAt": now, "lastUpdatedAt": now, "ttl": choreLife,
		"pollInterval": ChorePause.Milliseconds(),
	}
}

// LetDelegate sees to it that a client that runs tasks was asked for something.
func LetDelegate(t *T) { Chores(t) }

// Chores calls the tools that may be called, each once, as a client that runs what it is asked for as tasks, and
// returns those in the order in which they were made. The client samples, and can do no more with that, so that the
// session shows what a server asks such a one for as well. Tools that are seen by clients that can be asked are among
// those which are called. Where a session does not last, or a call that was given up has spoilt it, those that ask
// others and have not answered there are called in another one. Where one of them samples for a client that can do more
// and not for this one, another client that can do all calls them once more.
func Chores(t *T) []*Chore {
	return slices.Clone(Shared(t, "client with tasks", func(t *T) (chores []*Chore) {
		able, tools := AbleIn(t.Revision), Choice(t)
		plain := M{"roots": able["roots"], "elicitation": able["elicitation"], "sampling": M{}}
		clients := []*receiver{delegate(t, plain)}
		answered := clients[0].call(tools)
		var inquiries []*Inquiry
		t.Part(func() { inquiries = Inquiries(t).Inquiries }) // others say why there are none
		unseen := unseenBy(tools, inquiries)
		switch again := unseenBy(answered, inquiries); {
		case clients[0].s.Usable():
			clients[0].call(unseen)
		case len(again) > 0:
			second := delegate(t, plain)
			second.call(again)
			clients = append(clients, second)
		}
		if slices.ContainsFunc(inquiries, func(i *Inquiry) bool { return allLack(clients, i) }) {
			other := delegate(t, able)
			other.call(append(tools, unseen...))
			clients = append(clients, other)
		}
		for _, client := range clients {
			chores = append(chores, client.tasks()...)
		}
		return chores
	}))
}

// allLack reports whether none of the clients was asked to sample during the call of a tool that asks others to.
func allLack(clients []*receiver, i *Inquiry) bool {
	sampled := func(r *receiver) bool { return r.sampled[i.Tool.Name] }
	return i.Asks("sampling/createMessage") && !slices.ContainsFunc(clients, sampled)
}

// unseenBy are the tools that have asked and are not among some.
func unseenBy(tools []Subject, inquiries []*Inquiry) (unseen []Subject) {
	for _, i := range inquiries {
		if !slices.ContainsFunc(tools, func(tool Subject) bool { return tool.Name == i.Tool.Name }) {
			unseen = append(unseen, i.Tool)
		}
	}
	return unseen
}

// receiver is a client that runs what it is asked for as tasks.
type receiver struct {
	s       *driver.Session
	t       *T
	sampled map[string]bool // the names of the tools during whose calls it was asked to, alone or among others

	mu     sync.Mutex
	chores []*Chore
}

// delegate is such a client with these capabilities, and tasks.
func delegate(t *T, capabilities M) *receiver {
	capabilities = maps.Clone(capabilities)
	capabilities["tasks"] = M{"list": M{}, "cancel": M{}, "requests": M{
		"sampling": M{"createMessage": M{}}, "elicitation": M{"create": M{}},
	}}
	r := &receiver{t: t, sampled: map[string]bool{}}
	r.s = NewClient(t, capabilities).Session
	r.s.AnswerBy(r.take)
	return r
}

// call calls tools as the client, and returns those that answered.
func (r *receiver) call(tools []Subject) (answered []Subject) {
	mark := r.s.Mark()
	for _, c := range CallsDeclaring(r.t, r.s, nil, tools).List {
		if c.Reply.Answered() {
			answered = append(answered, c.Tool)
		}
	}
	for _, q := range questionsIn(r.s, r.s.Record(mark)) {
		if q.Method != "sampling/createMessage" {
			continue
		}
		for _, request := range append(q.among, q.Request) {
			r.sampled[Question{Request: request}.tool()] = true
		}
	}
	return answered
}

// tasks are those of the client, in the order in which they were made.
func (r *receiver) tasks() []*Chore {
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
			r.s.Reply(request, WillingFor(r.t, request, ""))
			return true
		}
		id := fmt.Sprintf("mcpcheck-%d-%d", r.s.Number(), len(r.chores)+1)
		c := &Chore{id: id, session: r.s, request: request}
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
	i := slices.IndexFunc(r.chores, func(c *Chore) bool { return params["taskId"] == any(c.id) })
	if i < 0 {
		return M{"error": M{"code": InvalidParams, "message": "Invalid params: there is no such task"}}
	}
	c := r.chores[i]
	switch request.Method {
	case "tasks/get":
		c.Polls = append(c.Polls, request)
	case "tasks/cancel":
		c.Cancelled = true
	case "tasks/result":
		return WillingFor(r.t, c.request, c.id)
	}
	return M{"result": c.state()}
}

// WillingFor is what a user who agrees to all answers to a request, for a task; empty: for none.
func WillingFor(t *T, request *driver.Frame, id string) M {
	params, _ := request.JSON()["params"].(M)
	answer := Willingly(t)(Question{Method: request.Method, Params: params})
	if answer.Result == nil {
		return M{"error": answer.Error}
	}
	if id != "" {
		answer.Result["_meta"] = M{RelatedTask: M{"taskId": id}}
	}
	return M{"result": answer.Result}
}
