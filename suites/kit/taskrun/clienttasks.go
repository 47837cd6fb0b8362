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
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// ClientTask is a task of the client: a server of 2025-11-25 sent it a request to run as a task.
type ClientTask struct {
	// Polls are the tasks/get requests of the server for it.
	Polls     []*driver.Frame
	Cancelled bool

	id      string
	session *driver.Session
	request *driver.Frame
}

// A task of the client is kept for clientTaskTTL milliseconds, and completed after pollsUntilCompleted polls.
const (
	clientTaskTTL       = 60_000
	pollsUntilCompleted = 2
)

// Subject shows the request for the task and the polls.
func (c *ClientTask) Subject() check.Subject {
	return check.Subject{Name: c.request.Method, Frames: append([]*driver.Frame{c.request}, c.Polls...)}
}

// CancelNotification is the notification by which the server cancelled the request that created the task; nil when it
// did not.
func (c *ClientTask) CancelNotification() *driver.Frame {
	for _, f := range c.session.FramesSince(0) {
		if f.Side == driver.FromServer && transcript.CancelledID(f) == driver.IDKey(c.request.ID) {
			return f
		}
	}
	return nil
}

// state is the task as the client reports it to the server.
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
		"pollInterval": timing.ClientTaskPoll.Milliseconds(),
	}
}

// CollectClientTasks runs ClientTasks for watches.
func CollectClientTasks(t *check.T) { ClientTasks(t) }

// ClientTasks calls each tool that may be called once, as a client that runs server requests as tasks, and returns
// these tasks in the order of their creation.
func ClientTasks(t *check.T) []*ClientTask {
	return slices.Clone(check.Step(t, "client with tasks", func(t *check.T) (tasks []*ClientTask) {
		for _, client := range callAsTaskClients(t) {
			tasks = append(tasks, client.tasks()...)
		}
		return tasks
	}))
}

// callAsTaskClients are the clients that called the tools. The first one declares sampling without options, so that its
// session also shows what a server requests of such a client. It also calls the tools that only clients with
// capabilities see. Another one calls those of them that brought no result, as well as any others of which that is true
// where the session of the first ended or is blocked by a cancelled call.
//
// Servers may request less of a client that requested a later version, or that has sampling without options. If a
// server requested something of other clients but not of this one, a further one calls the tools: it requests the
// tested revision and, if sampling is missing, declares all options.
func callAsTaskClients(t *check.T) []*taskClient {
	var calls []*client.InteractiveCall
	check.Deferred(t, func() { calls = client.CallInteractively(t).List }) // other checks say why there are none
	tools := toolcall.ToolsInCallOrder(t)
	all := slices.Concat(tools, askersNotIn(tools, calls))
	first := callAsFirstTaskClient(t, all)
	clients := []*taskClient{first.taskClient}
	addClient := func(capabilities check.M, tools []check.Subject) {
		another := newTaskClient(t, capabilities)
		another.callTools(tools)
		clients = append(clients, another)
	}
	served := first.served
	if first.isUsable {
		served = append(served, tools...) // another client would be answered alike
	}
	if missing := askersNotIn(served, calls); len(missing) > 0 {
		addClient(protocol.TaskCapabilities(t.Revision), missing)
	}
	const sample, elicit = "sampling/createMessage", "elicitation/create"
	if first.requestedLaterVersion && isAnyNotAsked(clients, calls, sample, elicit) {
		addClient(protocol.TaskCapabilities(t.Revision), all)
	}
	if isAnyNotAsked(clients, calls, sample) {
		able := protocol.TaskCapabilities(t.Revision)
		able["sampling"] = protocol.AllCapabilities(t.Revision)["sampling"]
		addClient(able, all)
	}
	return clients
}

// isAnyNotAsked reports whether during the calls of some tool others received a request of one of the methods, and none
// of the clients did.
func isAnyNotAsked(clients []*taskClient, calls []*client.InteractiveCall, methods ...string) bool {
	return slices.ContainsFunc(calls, func(i *client.InteractiveCall) bool {
		return slices.ContainsFunc(methods, func(method string) bool {
			asked := func(r *taskClient) bool { return r.asked[askedMethod{method, i.Tool.Name}] }
			return i.AsksFor(method) && !slices.ContainsFunc(clients, asked)
		})
	})
}

// askersNotIn are the tools with server requests that are not among these tools.
func askersNotIn(tools []check.Subject, calls []*client.InteractiveCall) (unseen []check.Subject) {
	for _, i := range calls {
		if !slices.ContainsFunc(tools, func(tool check.Subject) bool { return tool.Name == i.Tool.Name }) {
			unseen = append(unseen, i.Tool)
		}
	}
	return unseen
}

// taskClient is a client that runs server requests as tasks.
type taskClient struct {
	s *driver.Session
	t *check.T
	// asked are the methods that the server requested during calls, also where several calls were pending.
	asked map[askedMethod]bool

	mu      sync.Mutex
	created []*ClientTask
}

// askedMethod is the method of a server request during the call of a tool.
type askedMethod struct{ method, tool string }

// newTaskClient is a task client with these capabilities and a new session.
func newTaskClient(t *check.T, capabilities check.M) *taskClient {
	r := &taskClient{t: t, asked: map[askedMethod]bool{}}
	r.s = client.NewClient(t, capabilities, client.AcceptAll(t)).Session
	r.s.HandleServerRequests(r.answer)
	return r
}

// firstTaskClient is the first task client after its calls.
type firstTaskClient struct {
	*taskClient
	// requestedLaterVersion reports whether it requested a later version than the tested one.
	requestedLaterVersion bool
	// served are the tools whose calls brought a result.
	served []check.Subject
	// isUsable reports whether its session can serve others.
	isUsable bool
}

func callAsFirstTaskClient(t *check.T, tools []check.Subject) (first firstTaskClient) {
	first.taskClient, first.requestedLaterVersion = newFirstTaskClient(t)
	first.served = first.callTools(tools)
	first.isUsable = first.s.IsUsable()
	return first
}

// newFirstTaskClient is the first task client, whose sampling has no options. Unless the check is being confirmed, it
// may use the session of a scenario that requested a later version, which later reports.
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
		another.s = t.Session(check.WithCapabilities(o.ConnectParams, func(s *driver.Session) {
			another.s = s
			s.HandleServerRequests(another.answer)
		}))
		r, later = another, o.ConnectParams["protocolVersion"] != any(t.Revision)
	})
	if r == nil {
		r = newTaskClient(t, protocol.TaskCapabilities(t.Revision))
	}
	return r, later
}

// callTools calls tools as the client, and returns those that brought a result.
func (r *taskClient) callTools(tools []check.Subject) (served []check.Subject) {
	mark := r.s.Mark()
	for _, c := range toolcall.CallsWithCapabilities(r.t, r.s, nil, tools).List {
		if c.Reply.Result() != nil {
			served = append(served, c.Tool)
		}
	}
	for _, q := range client.ServerRequestsIn(r.s, r.s.FramesSince(mark)) {
		for _, request := range append(q.Candidates, q.ClientRequest) {
			r.asked[askedMethod{q.Method, client.ServerRequest{ClientRequest: request}.ToolName()}] = true
		}
	}
	return served
}

// tasks are the tasks of the client, in the order of their creation.
func (r *taskClient) tasks() []*ClientTask {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.created)
}

// answer answers a request of the server, unless it is of another method.
func (r *taskClient) answer(request *driver.Frame) (taken bool) {
	response := r.responseTo(request)
	if response != nil {
		r.s.Respond(request, response)
	}
	return response != nil
}

// responseTo returns the response to a request of the server, nil for other methods.
func (r *taskClient) responseTo(request *driver.Frame) check.M {
	r.mu.Lock()
	defer r.mu.Unlock()
	params, _ := request.JSON()["params"].(check.M)
	switch request.Method {
	case "sampling/createMessage", "elicitation/create":
		if params["task"] == nil {
			return AcceptedResponse(r.t, request, "")
		}
		id := fmt.Sprintf("mcpcheck-%d-%d", r.s.Number(), len(r.created)+1)
		c := &ClientTask{id: id, session: r.s, request: request}
		r.created = append(r.created, c)
		return check.M{"result": check.M{"task": c.state()}}
	case "tasks/get", "tasks/result", "tasks/cancel", "tasks/list":
		return r.taskResponse(request, params)
	}
	return nil
}

// taskResponse returns the response to a request about tasks.
func (r *taskClient) taskResponse(request *driver.Frame, params check.M) check.M {
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

// AcceptedResponse is the response of a user who accepts a request; id is that of the task it belongs to, empty when
// there is none.
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
