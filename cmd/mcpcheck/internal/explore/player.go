package explore

import (
	"context"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// play is a script that is being sent, in sessions of its own.
type play struct {
	x    *explorer
	pool *driver.Pool
	// open are the open sessions by their numbers.
	open map[int]*driver.Session
	// sent are the requests by the numbers of their steps.
	sent map[int]*sentRequest
	// steps are those that were done.
	steps []Step
	// unusual are the sessions with an unusual handshake.
	unusual map[*driver.Session]bool
	// err is why the play could not go on.
	err error
}

// sentRequest is a request of a play.
type sentRequest struct {
	step Step
	// params are what was sent, without references; of a retry, those of the first request.
	params  check.M
	session *driver.Session
	pending driver.Pending
	// reply is the response; it is not answered before it was waited for.
	reply driver.Reply
	// done says that it was waited for, or was cancelled.
	done      bool
	cancelled bool
	// alone says that no other request was in flight in any session.
	alone bool
}

// result returns the result of a step; nil when there is none.
func (p *play) result(step int) check.M {
	if q := p.sent[step]; q != nil {
		return q.reply.Result()
	}
	return nil
}

// play does steps until next returns none, in new sessions that have ended when it returns.
func (x *explorer) play(ctx context.Context, next func(p *play) (Step, bool)) *play {
	t := x.target
	t.Era, t.MemoryBudget = x.server.Era, driver.NewMemoryBudget(maxWireBytes)
	p := &play{
		x: x, pool: driver.NewPool(ctx, t, x.server.Revision, 1, false), open: map[int]*driver.Session{},
		sent: map[int]*sentRequest{}, unusual: map[*driver.Session]bool{},
	}
	p.pool.Prestart(0)
	for p.err == nil && ctx.Err() == nil {
		step, ok := next(p)
		if !ok {
			break
		}
		if p.do(step) {
			p.steps = append(p.steps, step)
		}
	}
	p.finish()
	return p
}

// maxWireBytes is how many bytes of the messages of one play are kept.
const maxWireBytes = 16 << 20

// replay returns a function that returns the steps one after the other.
func replay(steps []Step) func(*play) (Step, bool) {
	i := 0
	return func(*play) (s Step, ok bool) {
		if ok = i < len(steps); ok {
			s = steps[i]
			i++
		}
		return s, ok
	}
}

// finish waits for all responses, ends the sessions and waits for their ends.
func (p *play) finish() {
	for _, step := range p.steps {
		if q := p.sent[step.Number]; q != nil {
			p.await(q)
		}
	}
	for _, s := range p.open {
		if s.IsAlive() && !s.HasFault() {
			s.AwaitNoOp()
		}
		p.pool.CloseSession(s)
	}
	p.pool.Wait()
}

// rootsChanged is the notification of a client with roots.
const rootsChanged = "notifications/roots/list_changed"

// hasRoots reports whether the client has declared in a session that it notifies the server of changed roots.
func (p *play) hasRoots(session int) bool {
	s := p.open[session]
	if s == nil {
		return false
	}
	capabilities, _ := s.ConnectParams["capabilities"].(check.M)
	roots, _ := capabilities["roots"].(check.M)
	return roots["listChanged"] == true
}

// judged returns the sessions that are judged: those of the revision that is explored.
func (p *play) judged() []*driver.Session {
	return slices.DeleteFunc(slices.Clone(p.pool.Sessions()), func(s *driver.Session) bool {
		revision := s.NegotiatedRevision()
		return revision != "" && revision != p.x.server.Revision
	})
}

// session returns the session of a step, and opens it as a Connect step says if it is not open; nil when it cannot be
// used.
func (p *play) session(step Step, capabilities check.M) *driver.Session {
	if s := p.open[step.Session]; s != nil {
		if !s.IsUsable() {
			p.err = errEnded
			return nil
		}
		return s
	}
	s, err := p.pool.Launch(driver.Options{})
	if err == nil {
		p.open[step.Session] = s
		err = p.connect(s, step, capabilities)
	}
	if err != nil {
		p.err = err
		return nil
	}
	return s
}

// do does a step. It returns false where nothing was done: the step has lost what it refers to.
func (p *play) do(step Step) (done bool) {
	var params check.M
	if step.EmptyParams {
		params = check.M{}
	}
	if step.Params != nil {
		value, ok := resolve(step.Params, p.result)
		if !ok {
			return false
		}
		params, _ = value.(check.M)
		if !p.x.mayBeSent(step, params) {
			return false
		}
	}
	switch step.Action {
	case Cancel:
		return p.cancel(step)
	case Retry:
		return p.retry(step)
	}
	capabilities := check.M{}
	if step.Action == Connect && params != nil {
		capabilities = params
	}
	s := p.session(step, capabilities)
	if s == nil {
		return step.Action == Connect && p.err == nil
	}
	switch step.Action {
	case Close:
		p.close(step.Session, s)
	case Notify:
		if !p.hasRoots(step.Session) {
			return false
		}
		s.Notify(rootsChanged, nil)
	case Request, Send, Listen:
		return p.send(step, s, params)
	}
	return true
}

// close ends a session, once its requests are answered.
func (p *play) close(number int, s *driver.Session) {
	for _, step := range p.steps {
		if q := p.sent[step.Number]; q != nil && q.session == s {
			p.await(q)
		}
	}
	p.pool.CloseSession(s)
	delete(p.open, number)
}

// send sends the request of a step.
func (p *play) send(step Step, s *driver.Session, params check.M) bool {
	var id any = step.ID
	if step.ID == nil {
		id = s.NextID()
	} else if p.isUsed(s, step) {
		return false
	}
	q := &sentRequest{step: step, params: params, session: s, alone: step.Action == Request && !p.hasPending()}
	p.sent[step.Number] = q
	if step.Action == Listen {
		mark := s.Mark()
		q.pending = s.OpenStreamWithID(id, step.Method, params)
		_, err := s.Wait(mark, s.ReplyTimeout(), q.isAcknowledged)
		q.done = err != nil
		return true
	}
	message := s.NewRequest(id, step.Method, params)
	q.pending = s.SendRequest(s.NewPending(id, step.Method), encode(message, step.Order))
	if step.Action == Request || step.Action == Retry {
		p.await(q)
	}
	return true
}

// isAcknowledged reports whether a frame acknowledges the subscription of a request.
func (q *sentRequest) isAcknowledged(f *driver.Frame) bool {
	if f.Side != driver.FromServer || f.Method != "notifications/subscriptions/acknowledged" {
		return false
	}
	params, _ := f.JSON()["params"].(check.M)
	meta, _ := params["_meta"].(check.M)
	return sameID(meta[driver.MetaSubscription], q.pending.ID)
}

// hasPending reports whether a request is in flight, or was cancelled, so that the server may still be busy with it.
func (p *play) hasPending() bool {
	for _, q := range p.sent {
		if q.step.Action != Send || q.done && !q.cancelled {
			continue
		}
		if q.cancelled || !q.session.AwaitFor(q.pending, 0).Answered() {
			return true
		}
	}
	return false
}

// isUsed reports whether the session has used the id of a step, which no client may use again.
func (p *play) isUsed(s *driver.Session, step Step) bool {
	for _, q := range p.sent {
		if q.session == s && q.step.ID != nil && driver.IDKey(q.step.ID) == driver.IDKey(step.ID) {
			return true
		}
	}
	return false
}

// await waits for the response to a request. A tool may run for longer than the timeout: it is cancelled then, and the
// play ends.
func (p *play) await(q *sentRequest) {
	if q.done || q.step.Action == Listen {
		return
	}
	q.done = true
	if q.step.Method != "tools/call" && q.step.Method != "tasks/result" {
		q.reply = q.session.Await(q.pending)
		return
	}
	q.reply = q.session.AwaitLongRunning(q.pending)
	p.noteDuration(q)
	if !q.reply.Answered() && q.session.IsUsable() {
		if !q.isTask() {
			q.session.Cancel(q.pending, "it takes too long")
		}
		q.session.MarkUnusable()
		p.err = errSlow
	}
}

// slowCall is how long a call of a tool takes that is not called again.
const slowCall = time.Second

// noteDuration notes that a tool is slow.
func (p *play) noteDuration(q *sentRequest) {
	name, _ := q.params["name"].(string)
	if tool := p.x.tools[name]; tool != nil {
		tool.isSlow = tool.isSlow || !q.reply.Answered() || q.reply.Took() > slowCall
	}
}

// cancel cancels the request of another step: one that may be in flight, or a subscription that was acknowledged.
func (p *play) cancel(step Step) bool {
	q := p.sent[step.Of]
	if q == nil || q.done || !q.session.IsUsable() || q.isTask() {
		return false
	}
	if q.step.Action == Send && q.session.AwaitFor(q.pending, 0).Answered() {
		return false
	}
	q.done, q.cancelled = true, true
	q.session.Cancel(q.pending, "the client has changed its mind")
	return true
}

// isModern reports whether the revision has no handshake.
func (x *explorer) isModern() bool { return catalogue.IsModern(x.server.Revision) }
