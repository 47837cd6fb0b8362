package explore

import (
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// taskTTL is how long the results of tasks are to be kept.
const taskTTL = time.Minute

// useTask draws a request about a task of the session.
func (g *generator) useTask(p *play) (Step, bool) {
	tasks, _ := g.x.server.Capabilities["tasks"].(check.M)
	for _, step := range slices.Backward(p.steps) {
		task, _ := p.result(step.Number)["task"].(check.M)
		if id, _ := task["taskId"].(string); id == "" || step.Session != g.session || g.IntN(3) == 0 {
			continue
		}
		method := oneOf(g, []string{"tasks/get", "tasks/get", "tasks/result", "tasks/cancel"})
		params := check.M{"taskId": reference(step.Number, []any{"task", "taskId"})}
		return Step{Action: Request, Method: method, Params: params}, method != "tasks/cancel" || tasks["cancel"] != nil
	}
	return Step{}, false
}

// retry draws a retry of a request whose result requires input.
func (g *generator) retry(p *play) (Step, bool) {
	retried := map[int]bool{}
	for _, step := range slices.Backward(p.steps) {
		if step.Action == Retry {
			retried[step.Of] = true
		}
		requires := toolcall.ResultType(p.result(step.Number)) == "input_required"
		if requires && step.Session == g.session && !retried[step.Number] {
			return Step{Action: Retry, Method: step.Method, Of: step.Number}, true
		}
	}
	return Step{}, false
}

// hasTasks reports whether the server runs calls as tasks, in the revision that has them.
func (x *explorer) hasTasks() bool {
	tasks, _ := x.server.Capabilities["tasks"].(check.M)
	requests, _ := tasks["requests"].(check.M)
	tools, _ := requests["tools"].(check.M)
	return tools["call"] != nil && x.server.Revision == catalogue.NewestLegacy
}

// retry sends a request again with the input that its result requires. It returns false if that requires none, or one
// that no client has.
func (p *play) retry(step Step) bool {
	q := p.sent[step.Of]
	if q == nil || !p.x.isModern() || !q.session.IsUsable() || p.open[step.Session] != q.session ||
		toolcall.ResultType(q.reply.Result()) != "input_required" {
		return false
	}
	t := check.NewT(p.x.server, p.x.server.Revision, p.x.o.Seed, check.Credentials{}, nil)
	responses, err := toolcall.InputResponses(t, q.reply)
	if err != nil || len(responses) == 0 && toolcall.RequestState(q.reply) == nil {
		return false
	}
	first := maps.Clone(q.params)
	delete(first, "_meta")
	if step.Method = q.step.Method; !p.send(step, q.session, toolcall.RetryParams(first, q.reply, responses)) {
		return false
	}
	p.sent[step.Number].params = first
	return true
}

// isTask reports whether a call runs as a task, which notifications/cancelled must not cancel.
func (q *sentRequest) isTask() bool { return q.params["task"] != nil }
