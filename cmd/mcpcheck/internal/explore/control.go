package explore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// deviation is what messages show that no watch judges.
type deviation struct {
	// check is the id of the requirement.
	check string
	// decided is what shows it: a reply or a message.
	decided any
	want    string
	// got is empty for the reply.
	got string
}

// judgeDeviations returns the results of the requirements that the messages of a play violate and that no watch has
// judged.
func (x *explorer) judgeDeviations(ctx context.Context, p *play, judged []report.Result) []report.Result {
	sessions := p.judged()
	found := slices.Concat(wrongIDs(p), invalidResults(x.server.Revision, sessions), x.invalidOutputs(p))
	if d, is := x.wrongRefusal(ctx, p); is {
		found = append(found, d)
	}
	return judgeFound(x.server, x.plan, sessions, found, judged, x.o.Judge)
}

// judgeFound returns the results of the requirements that deviations violate, except those that watches have judged.
// They are made by checks, so that levels, evidence and gates are those of any other failure.
func judgeFound(
	server *check.Server, cases []engine.Case, sessions []*driver.Session, found []deviation, judged []report.Result,
	o engine.Options,
) []report.Result {
	suite, entries := check.Suite{}, catalogue.Catalogue{}
	for _, d := range found {
		at := slices.IndexFunc(cases, func(c engine.Case) bool { return c.ID == d.check })
		isJudged := slices.ContainsFunc(judged, func(r report.Result) bool {
			return r.ID == d.check && (r.Verdict == catalogue.Pass || r.Verdict == catalogue.Fail)
		})
		if _, has := suite[d.check]; has || at < 0 || isJudged {
			continue
		}
		entries = append(entries, cases[at].Requirement)
		suite[d.check] = check.Watch(func(t *check.T, _ check.Wire) { d.fail(t) })
	}
	if len(suite) == 0 {
		return nil
	}
	plan := engine.Plan(entries, suite, server, func(*catalogue.Requirement) bool { return true })
	results, _ := engine.JudgeRecorded(server, plan, sessions, o)
	return results
}

// fail ends a check with the deviation.
func (d deviation) fail(t *check.T) {
	if d.got != "" {
		t.DecidedBy(d.decided).Fail(d.want, "%s", d.got)
	}
	t.Fail(d.want, "%s", d.decided)
}

// wrongIDs returns the results that do not have the id of their request, and the requests without a response while one
// came with an id that no request has.
func wrongIDs(p *play) (found []deviation) {
	for _, step := range p.steps {
		q := p.sent[step.Number]
		if q == nil {
			continue
		}
		var timeout *driver.TimeoutError
		lost := errors.As(q.reply.Err, &timeout) && timeout.UnknownID != nil
		if lost || q.reply.Result() != nil && !sameID(q.reply.Message()["id"], q.pending.ID) {
			found = append(found, deviation{idCheck(q.pending.ID), q.reply, "the id " + driver.Brief(q.pending.ID), ""})
		}
	}
	return found
}

// sameID reports whether a decoded id is the one of a request.
func sameID(decoded any, id json.RawMessage) bool {
	text, err := json.Marshal(decoded)
	return err == nil && driver.SameID(text, id)
}

// idCheck returns the id of the requirement that ids of a form are repeated.
func idCheck(id json.RawMessage) string {
	text, isText := driver.Decode(id).(string)
	switch {
	case string(id) == "0", string(id) == `""`:
		return "jsonrpc/response-id-falsy-values"
	case !isText:
		return "jsonrpc/response-id-echo-integer"
	case strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e }):
		return "jsonrpc/response-id-unicode"
	}
	return "jsonrpc/response-id-echo-string"
}

// wrongRefusal returns a request that was refused, although the server serves the same request, in its plainest form,
// as the first of a session. Where it refuses the form of the request there too, the form is the cause, and else what
// came before.
//
// Only requests count whose outcome depends on nothing that a client may do, and that were the only one in flight: a
// server may refuse what comes too often, too early, or after a tool has changed something.
func (x *explorer) wrongRefusal(ctx context.Context, p *play) (d deviation, found bool) {
	for _, step := range p.steps {
		q := p.sent[step.Number]
		if q == nil || !q.alone || !isStable(q) || !isRefused(q.reply) {
			continue
		}
		c := control{x: x, ctx: ctx, client: clientOf(p, step)}
		plain := Step{Number: 1, Action: Request, Method: step.Method, Params: withoutMeta(&step)}
		if !c.serves(plain) {
			continue
		}
		form, cause := step, x.historyCheck(step, p)
		form.Number, form.Session = 1, 0
		if key([]Step{form}) != key([]Step{plain}) && isRefused(c.ask(form)) {
			cause = c.formCheck(form, plain)
		}
		if cause != "" {
			return deviation{cause, q.reply, "a result, as the same request has it in a session of its own", ""}, true
		}
	}
	return d, false
}

// clientOf returns the steps that declare what the client of a step has declared.
func clientOf(p *play, step Step) []Step {
	for _, s := range p.steps {
		if s.Action == Connect && s.Session == step.Session && s.Params != nil {
			return []Step{{Action: Connect, Params: s.Params}}
		}
	}
	return nil
}

// isStable reports whether nothing that a client does may change whether a request is served: it asks for a list from
// the beginning, for the server's description, or for nothing.
func isStable(q *sentRequest) bool {
	if q.step.Params["cursor"] != nil {
		return false
	}
	switch q.step.Method {
	case "ping", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		return true
	}
	return false
}

// isRefused reports whether a reply is an error of the server for the request itself.
func isRefused(r driver.Reply) bool {
	return r.Error() != nil && !r.IsStatusOnly() && !r.IsBusy() && !r.IsRateLimited() &&
		!r.HTTPResponse().IsFromIntermediary()
}

// control asks for the same in new sessions.
type control struct {
	x   *explorer
	ctx context.Context
	// client are steps that come first.
	client []Step
}

// ask returns the reply to a request that is the first of a session.
func (c control) ask(step Step) driver.Reply {
	p := c.x.play(c.ctx, replay(append(slices.Clone(c.client), step)))
	if q := p.sent[step.Number]; q != nil {
		return q.reply
	}
	return driver.Reply{}
}

// serves reports whether a request has a result as the first of a session. What does not is not asked again.
func (c control) serves(step Step) bool {
	known := key(append(slices.Clone(c.client), step))
	if c.x.unserved[known] {
		return false
	}
	served := c.ask(step).Result() != nil
	c.x.unserved[known] = !served
	return served
}

// formCheck returns the id of the requirement that a form of a request is served, where the server refuses this form
// alone; empty when none says so.
func (c control) formCheck(form, plain Step) string {
	family, _, isList := strings.Cut(form.Method, "/list")
	withID, withMeta, empty := plain, plain, plain
	withID.ID, withMeta.Params, empty.EmptyParams = form.ID, form.Params, form.EmptyParams
	switch {
	case form.ID != nil && isRefused(c.ask(withID)):
		return idCheck(form.ID)
	case form.Params["_meta"] != nil && isRefused(c.ask(withMeta)):
		return "schema/request-meta-tolerated"
	case !form.EmptyParams || !isRefused(c.ask(empty)):
		return ""
	case form.Method == "ping":
		return "ping/params-forms"
	case isList && family != "resources/templates" && !c.x.isModern():
		return family + "/list-params-optional"
	}
	return ""
}

// historyCheck returns the id of the requirement that a method is served whatever came before; empty when none says
// so. A tool may have changed what the server serves, unless it says that it does not.
func (x *explorer) historyCheck(refused Step, p *play) string {
	for _, step := range p.steps {
		name, _ := step.Params["name"].(string)
		tool := x.tools[name]
		if step.Method == "tools/call" && step.Number < refused.Number && tool != nil && !tool.readOnly {
			return ""
		}
	}
	switch {
	case !x.isModern():
		return "robust/repeatable-session"
	case refused.Method == "server/discover":
		return "discover/stable"
	}
	return "stateless/list-same-across-connections"
}
