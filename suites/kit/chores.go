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
// returns those in the order in which they were made.
func Chores(t *T) []*Chore {
	return slices.Clone(Step(t, "client with tasks", func(t *T) (chores []*Chore) {
		for _, client := range delegates(t) {
			chores = append(chores, client.tasks()...)
		}
		return chores
	}))
}

// delegates are the clients that have called the tools. The first one samples, and can do no more with that, so that
// its session shows what a server asks such a one for as well. Tools that are seen by clients that can be asked are
// among those which are called: those that it did not call, and where its session does not last, or a call that was
// given up keeps it busy, those that have not answered there, are called in another one.
//
// Servers may ask a client for less that has asked for a later version, or that samples and can do no more. What others
// are asked for and the client was not, a further one may be: one that has asked for the revision and, where it is not
// asked to sample, one that can do all.
func delegates(t *T) []*receiver {
	first := Step(t, "first client with tasks", callAsDelegate)
	var inquiries []*Inquiry
	Deferred(t, func() { inquiries = Inquiries(t).Inquiries }) // others say why there are none
	clients, tools := []*receiver{first.receiver}, Choice(t)
	unseen := unseenBy(tools, inquiries)
	all := slices.Concat(tools, unseen)
	anew := func(capabilities M, tools []Subject) {
		another := delegate(t, capabilities)
		another.call(tools)
		clients = append(clients, another)
	}
	if !first.lasts {
		unseen = unseenBy(first.answered, inquiries)
	}
	if len(unseen) > 0 {
		anew(delegating(t.Revision), unseen)
	}
	const sample, elicit = "sampling/createMessage", "elicitation/create"
	if first.later && anyLacks(clients, inquiries, sample, elicit) {
		anew(delegating(t.Revision), all)
	}
	if anyLacks(clients, inquiries, sample) {
		able := delegating(t.Revision)
		able["sampling"] = AbleIn(t.Revision)["sampling"]
		anew(able, all)
	}
	return clients
}

// anyLacks reports whether some tool asks others for one of the methods, and none of the clients during its calls.
func anyLacks(clients []*receiver, inquiries []*Inquiry, methods ...string) bool {
	return slices.ContainsFunc(inquiries, func(i *Inquiry) bool {
		return slices.ContainsFunc(methods, func(method string) bool {
			asked := func(r *receiver) bool { return r.asked[question{method, i.Tool.Name}] }
			return i.Asks(method) && !slices.ContainsFunc(clients, asked)
		})
	})
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
	s     *driver.Session
	t     *T
	asked map[question]bool // that it was asked, also where the tool was called among others

	mu     sync.Mutex
	chores []*Chore
}

// question is what a client was asked for during the call of a tool.
type question struct{ method, tool string }

// delegating is what such a client declares that samples, and can do no more with that.
func delegating(revision string) M {
	capabilities := maps.Clone(AbleIn(revision))
	capabilities["sampling"] = M{}
	capabilities["tasks"] = M{"list": M{}, "cancel": M{}, "requests": M{
		"sampling": M{"createMessage": M{}}, "elicitation": M{"create": M{}},
	}}
	return capabilities
}

// delegate is such a client with these capabilities.
func delegate(t *T, capabilities M) *receiver {
	r := &receiver{t: t, asked: map[question]bool{}}
	r.s = NewClient(t, capabilities).Session
	r.s.AnswerBy(r.take)
	return r
}

// firstCalls are the calls of the first such client.
type firstCalls struct {
	*receiver
	later    bool      // it has asked for a later version
	answered []Subject // tools
	lasts    bool      // its session serves others
}

func callAsDelegate(t *T) (first firstCalls) {
	first.receiver, first.later = firstDelegate(t)
	first.answered = first.call(Choice(t))
	first.lasts = first.s.Usable()
	return first
}

// firstDelegate is such a client that samples, and can do no more with that. Unless the check is tried alone, it may be
// one that has asked for a later version, in the session of an opening.
func firstDelegate(t *T) (r *receiver, later bool) {
	Deferred(t, func() {
		if t.Alone() {
			return
		}
		o := Begin(t, Opening{Tasks: true})
		if o.Welcome.Result()["protocolVersion"] != any(t.Revision) {
			return
		}
		another := &receiver{t: t, asked: map[question]bool{}}
		another.s = ClientSession(t, o.Hello, func(s *driver.Session) {
			another.s = s
			s.AnswerBy(another.take)
		})
		r, later = another, o.Hello["protocolVersion"] != any(t.Revision)
	})
	if r == nil {
		r = delegate(t, delegating(t.Revision))
	}
	return r, later
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
		for _, request := range append(q.among, q.Request) {
			r.asked[question{q.Method, Question{Request: request}.tool()}] = true
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
