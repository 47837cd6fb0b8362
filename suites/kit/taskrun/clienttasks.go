package taskrun

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// ClientTask is a task of the client: what a server of 2025-11-25 has asked it for as such.
type ClientTask struct {
	Polls     []*driver.Frame // by which the server has asked after it
	Cancelled bool

	id      string
	session *driver.Session
	request *driver.Frame
}

// ClientTaskPollInterval is how often a server may ask after a task of the client, which is kept as long as
// clientTaskTTL, in milliseconds, and is done once it was asked after so often.
const (
	ClientTaskPollInterval = time.Second
	clientTaskTTL          = 60_000
	pollsUntilCompleted    = 2
)

// Subject is the task, with what the server has asked of it.
func (c *ClientTask) Subject() check.Subject {
	return check.Subject{Name: c.request.Method, Frames: append([]*driver.Frame{c.request}, c.Polls...)}
}

// CancelNotification is the notification by which the server has cancelled the request that the task answered; nil when
// it has not.
func (c *ClientTask) CancelNotification() *driver.Frame {
	for _, f := range c.session.FramesSince(0) {
		if f.Side == driver.FromServer && transcript.CancelledID(f) == driver.IDKey(c.request.ID) {
			return f
		}
	}
	return nil
}

// state is the task as the server is told of it.
func (c *ClientTask) state() check.M {
	status := "working"
	switch {
	case c.Cancelled:
		status = "cancelled"
	case len(c.Polls) >= pollsUntilCompleted:
		status = "completed"
	}
	now := time.Now().UTC().Format(time.RFC3339)
	return check.M{
		"taskId": c.id, "status": status, "createdAt": now, "lastUpdatedAt": now, "ttl": clientTaskTTL,
		"pollInterval": ClientTaskPollInterval.Milliseconds(),
	}
}

// CollectClientTasks sees to it that a client that runs tasks was asked for something.
func CollectClientTasks(t *check.T) { ClientTasks(t) }

// ClientTasks calls the tools that may be called, each once, as a client that runs what it is asked for as tasks, and
// returns those in the order in which they were made.
func ClientTasks(t *check.T) []*ClientTask {
	return slices.Clone(check.Step(t, "client with tasks", func(t *check.T) (chores []*ClientTask) {
		for _, client := range callAsTaskClients(t) {
			chores = append(chores, client.tasks()...)
		}
		return chores
	}))
}

// callAsTaskClients are the clients that have called the tools. The first one samples, and can do no more with that, so
// that its session shows what a server asks such a one for as well. Tools that are seen by clients that can be asked
// are among those which are called: those that it did not call, and where its session does not last, or a call that was
// given up keeps it busy, those that have not answered there, are called in another one.
//
// Servers may ask a client for less that has asked for a later version, or that samples and can do no more. What others
// are asked for and the client was not, a further one may be: one that has asked for the revision and, where it is not
// asked to sample, one that can do all.
func callAsTaskClients(t *check.T) []*taskClient {
	first := check.Step(t, "first client with tasks", callAsFirstTaskClient)
	var inquiries []*client.InteractiveCall
	check.Deferred(t, func() { inquiries = client.CallInteractively(t).List }) // others say why there are none
	clients, tools := []*taskClient{first.taskClient}, toolcall.ToolsInCallOrder(t)
	unseen := askersNotIn(tools, inquiries)
	all := slices.Concat(tools, unseen)
	anew := func(capabilities check.M, tools []check.Subject) {
		another := newTaskClient(t, capabilities)
		another.callTools(tools)
		clients = append(clients, another)
	}
	if !first.isUsable {
		unseen = askersNotIn(first.answered, inquiries)
	}
	if len(unseen) > 0 {
		anew(protocol.TaskCapabilities(t.Revision), unseen)
	}
	const sample, elicit = "sampling/createMessage", "elicitation/create"
	if first.requestedLaterVersion && isAnyNotAsked(clients, inquiries, sample, elicit) {
		anew(protocol.TaskCapabilities(t.Revision), all)
	}
	if isAnyNotAsked(clients, inquiries, sample) {
		able := protocol.TaskCapabilities(t.Revision)
		able["sampling"] = protocol.AllCapabilities(t.Revision)["sampling"]
		anew(able, all)
	}
	return clients
}

// isAnyNotAsked reports whether some tool asks others for one of the methods, and none of the clients during its calls.
func isAnyNotAsked(clients []*taskClient, inquiries []*client.InteractiveCall, methods ...string) bool {
	return slices.ContainsFunc(inquiries, func(i *client.InteractiveCall) bool {
		return slices.ContainsFunc(methods, func(method string) bool {
			asked := func(r *taskClient) bool { return r.asked[askedMethod{method, i.Tool.Name}] }
			return i.AsksFor(method) && !slices.ContainsFunc(clients, asked)
		})
	})
}

// askersNotIn are the tools that have asked and are not among some.
func askersNotIn(tools []check.Subject, inquiries []*client.InteractiveCall) (unseen []check.Subject) {
	for _, i := range inquiries {
		if !slices.ContainsFunc(tools, func(tool check.Subject) bool { return tool.Name == i.Tool.Name }) {
			unseen = append(unseen, i.Tool)
		}
	}
	return unseen
}

// taskClient is a client that runs what it is asked for as tasks.
type taskClient struct {
	s     *driver.Session
	t     *check.T
	asked map[askedMethod]bool // that it was asked, also where the tool was called among others

	mu      sync.Mutex
	created []*ClientTask
}

// askedMethod is what a client was asked for during the call of a tool.
type askedMethod struct{ method, tool string }

// newTaskClient is such a client with these capabilities.
func newTaskClient(t *check.T, capabilities check.M) *taskClient {
	r := &taskClient{t: t, asked: map[askedMethod]bool{}}
	r.s = client.NewClient(t, capabilities).Session
	r.s.HandleServerRequests(r.answer)
	return r
}

// firstTaskClient are the calls of the first such client.
type firstTaskClient struct {
	*taskClient
	requestedLaterVersion bool            // it has asked for a later version
	answered              []check.Subject // tools
	isUsable              bool            // its session serves others
}

func callAsFirstTaskClient(t *check.T) (first firstTaskClient) {
	first.taskClient, first.requestedLaterVersion = newFirstTaskClient(t)
	first.answered = first.callTools(toolcall.ToolsInCallOrder(t))
	first.isUsable = first.s.IsUsable()
	return first
}

// newFirstTaskClient is such a client that samples, and can do no more with that. Unless the check is tried alone, it
// may be one that has asked for a later version, in the session of an opening.
func newFirstTaskClient(t *check.T) (r *taskClient, later bool) {
	check.Deferred(t, func() {
		if t.IsConfirmation() {
			return
		}
		o := handshake.RunScenario(t, handshake.Scenario{DeclareTasks: true})
		if o.ConnectReply.Result()["protocolVersion"] != any(t.Revision) {
			return
		}
		another := &taskClient{t: t, asked: map[askedMethod]bool{}}
		another.s = check.SessionWithCapabilities(t, o.ConnectParams, func(s *driver.Session) {
			another.s = s
			s.HandleServerRequests(another.answer)
		})
		r, later = another, o.ConnectParams["protocolVersion"] != any(t.Revision)
	})
	if r == nil {
		r = newTaskClient(t, protocol.TaskCapabilities(t.Revision))
	}
	return r, later
}

// call calls tools as the client, and returns those that answered.
func (r *taskClient) callTools(tools []check.Subject) (answered []check.Subject) {
	mark := r.s.Mark()
	for _, c := range toolcall.CallsWithCapabilities(r.t, r.s, nil, tools).List {
		if c.Reply.Answered() {
			answered = append(answered, c.Tool)
		}
	}
	for _, q := range client.ServerRequestsIn(r.s, r.s.FramesSince(mark)) {
		for _, request := range append(q.Candidates, q.ClientRequest) {
			r.asked[askedMethod{q.Method, client.ServerRequest{ClientRequest: request}.ToolName()}] = true
		}
	}
	return answered
}

// tasks are those of the client, in the order in which they were made.
func (r *taskClient) tasks() []*ClientTask {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.created)
}

// take answers a request of the server.
func (r *taskClient) answer(request *driver.Frame) (taken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	params, _ := request.JSON()["params"].(check.M)
	switch request.Method {
	case "sampling/createMessage", "elicitation/create":
		if params["task"] == nil {
			r.s.Respond(request, AcceptedResponse(r.t, request, ""))
			return true
		}
		id := fmt.Sprintf("mcpcheck-%d-%d", r.s.Number(), len(r.created)+1)
		c := &ClientTask{id: id, session: r.s, request: request}
		r.created = append(r.created, c)
		r.s.Respond(request, check.M{"result": check.M{"task": c.state()}})
		return true
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/list":
		r.s.Respond(request, r.answerTaskRequest(request, params))
		return true
	}
	return false
}

// answerTaskRequest answers a request about tasks.
func (r *taskClient) answerTaskRequest(request *driver.Frame, params check.M) check.M {
	if request.Method == "tasks/list" {
		all := []any{}
		for _, c := range r.created {
			all = append(all, c.state())
		}
		return check.M{"result": check.M{"tasks": all}}
	}
	i := slices.IndexFunc(r.created, func(c *ClientTask) bool { return params["taskId"] == any(c.id) })
	if i < 0 {
		return check.M{"error": check.M{"code": errcode.InvalidParams,
			"message": "Invalid params: there is no such task"}}
	}
	c := r.created[i]
	switch request.Method {
	case "tasks/get":
		c.Polls = append(c.Polls, request)
	case "tasks/cancel":
		c.Cancelled = true
	case "tasks/result":
		return AcceptedResponse(r.t, c.request, c.id)
	}
	return check.M{"result": c.state()}
}

// AcceptedResponse is what a user who agrees to all answers to a request, for a task; empty: for none.
func AcceptedResponse(t *check.T, request *driver.Frame, id string) check.M {
	params, _ := request.JSON()["params"].(check.M)
	answer := client.AcceptAll(t)(client.ServerRequest{Method: request.Method, Params: params})
	if answer.Result == nil {
		return check.M{"error": answer.Error}
	}
	if id != "" {
		answer.Result["_meta"] = check.M{RelatedTaskKey: check.M{"taskId": id}}
	}
	return check.M{"result": answer.Result}
}
