package mrtr

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// asker is a request that the server answers by asking for input, and how that went on with a client that can answer
// everything.
type asker struct {
	*kit.Conversation
	name   string // of the tool or prompt, or the URI of the resource
	params M      // with which it can be made again
}

// The bounds of what is asked for, and how often.
const (
	mostItems = 20 // prompts that are got and resources that are read, to see whether they ask
	mostTried = 3  // askers that are tried once more for a check
	mostState = 1 << 20
)

// askers are those of the run: tools that may be called, prompts and resources.
func askers(t *T) (all []asker) {
	calls := kit.ValidCalls(t)
	for _, call := range slices.Concat(calls.List, calls.Endless) {
		params := M{"name": call.Tool.Name, "arguments": call.Arguments}
		all = append(all, asker{call.Input, call.Tool.Name, kit.Declaring(params, kit.Able)})
	}
	all = append(all, Step(t, "prompts and resources", items)...)
	return slices.DeleteFunc(all, func(a asker) bool { return len(a.Asked) == 0 })
}

// items are the first prompts and resources.
func items(t *T) (all []asker) {
	add := func(method, name string, params M) {
		params = kit.Declaring(params, kit.Able)
		all = append(all, asker{kit.Converse(t, t.Session(), method, params), name, params})
	}
	for _, prompt := range t.Server.Prompts[:min(len(t.Server.Prompts), mostItems)] {
		if name, isString := prompt["name"].(string); isString {
			add("prompts/get", name, M{"name": name, "arguments": promptArguments(prompt)})
		}
	}
	for _, resource := range t.Server.Resources[:min(len(t.Server.Resources), mostItems)] {
		if uri, isString := resource["uri"].(string); isString {
			add("resources/read", uri, M{"uri": uri})
		}
	}
	return all
}

// promptArguments are those that a prompt cannot do without.
func promptArguments(prompt M) M {
	arguments := M{}
	for _, argument := range kit.ObjectsIn(prompt["arguments"]) {
		if name, _ := argument["name"].(string); argument["required"] == true {
			arguments[name] = "mcpcheck"
		}
	}
	return arguments
}

// wantAskers are the askers that a check is for, which it cannot do without; what names them in the reason.
func wantAskers(t *T, what string, keep func(asker) bool) []asker {
	all := slices.DeleteFunc(askers(t), func(a asker) bool { return !keep(a) })
	wrong := func(a asker) bool { return a.breaks(t) != nil }
	if i := slices.IndexFunc(all, wrong); i >= 0 && len(slices.DeleteFunc(slices.Clone(all), wrong)) == 0 {
		t.Yield("%s asks by a result that is not valid", all[i])
	}
	all = slices.DeleteFunc(all, wrong)
	if len(all) == 0 {
		kit.NothingSeen(t, what, kit.ValidCalls(t).Uncalled, kit.AnyTool)
	}
	return all
}

// wantWilling are the first askers that go on when they are answered as a client should.
func wantWilling(t *T, what string, keep func(asker) bool) []asker {
	all := wantAskers(t, what, keep)
	willing := slices.DeleteFunc(slices.Clone(all), func(a asker) bool {
		return !slices.Contains([]string{done, asksOn}, a.usual(t))
	})
	failing := func(a asker) bool { return a.usual(t) == toolError }
	switch {
	case len(willing) == 0 && slices.ContainsFunc(all, failing):
		t.Because(NotObserved).Skip("no %s goes on when it is answered", what)
	case len(willing) == 0:
		t.Yield("no %s goes on when it is answered", what)
	}
	handy := slices.DeleteFunc(willing, func(a asker) bool { return len(kit.StateOf(a.Asked[0])) > mostState })
	if len(handy) == 0 {
		t.Because(Limit).Inconclusive("the requestState is longer than %s, too long for mcpcheck to try it many times",
			driver.Size(mostState))
	}
	return handy[:min(len(handy), mostTried)]
}

// trial is an asker that is tried once more, and the last that came of it.
type trial struct {
	asker
	reply driver.Reply
}

func (x *trial) subject() Subject {
	return Subject{Name: x.name, Frames: []*driver.Frame{x.reply.Request, x.reply.Frame}}
}

// each tries a check on askers. What fails is shown by the last that was asked.
func each(t *T, all []asker, run func(*T, *trial)) {
	var trials []*trial
	for _, a := range all {
		trials = append(trials, &trial{asker: a})
	}
	Each(t, trials, (*trial).subject, run)
}

// requestsIn are the input requests of a reply.
func requestsIn(r driver.Reply) M {
	requests, _ := r.Result()["inputRequests"].(M)
	return requests
}

// asksFor reports whether a reply has an input request of a method.
func asksFor(r driver.Reply, method string) bool {
	for _, v := range requestsIn(r) {
		if request, _ := v.(M); request["method"] == method {
			return true
		}
	}
	return false
}

// asks reports whether the server asks for a method in some round.
func (a asker) asks(method string) bool {
	return slices.ContainsFunc(a.Asked, func(r driver.Reply) bool { return asksFor(r, method) })
}

// breaks are the checks that find fault with what the request is answered with, as long as it asks for input.
func (a asker) breaks(t *T) (checks []string) {
	for _, r := range a.Asked {
		for _, broken := range schemas.ValidateMessage(t.Revision, "InputRequiredResult", r.Result()) {
			checks = append(checks, kit.OwnerOf(broken, t.Revision))
		}
	}
	slices.Sort(checks)
	return slices.Compact(checks)
}

// requests reports whether the first round has requests.
func (a asker) requests() bool { return len(requestsIn(a.Asked[0])) > 0 }

// isCall reports whether a tool asks.
func (a asker) isCall() bool { return a.Method == "tools/call" }

// after is what came when a round was answered; the zero value where it was not.
func (a asker) after(round int) driver.Reply {
	switch {
	case round+1 < len(a.Asked):
		return a.Asked[round+1]
	case a.GivenUp != "":
		return driver.Reply{}
	}
	return a.Last
}

// stuck reports whether the server has asked for the same until mcpcheck gave up.
func (a asker) stuck() bool {
	other := func(r driver.Reply) bool { return !a.isFirst(r) }
	return len(a.Asked) > kit.MostRounds && !slices.ContainsFunc(a.Asked, other)
}

// isFirst reports whether a reply asks for what the first round asks for. Keys may be new ones, and URLs.
func (a asker) isFirst(r driver.Reply) bool { return slices.Equal(questions(r), questions(a.Asked[0])) }

// questions are what a reply asks for, in short and sorted.
func questions(r driver.Reply) (all []string) {
	for _, v := range requestsIn(r) {
		request, _ := v.(M)
		params, _ := request["params"].(M)
		all = append(all, Show(request["method"])+" "+Show(params["message"]))
	}
	slices.Sort(all)
	return all
}

// What a request comes to that was made again with answers.
const (
	refused   = "an error"
	toolError = "isError"
	asksAgain = "a result that asks for the same again"
	asksOn    = "a result that asks for something else"
	done      = "a final result"
	nothing   = "no answer"
)

// outcome is what a reply to a retry of the first round is.
func (a asker) outcome(t *T, r driver.Reply) string {
	switch {
	case !r.Answered():
		return nothing
	case r.Result() == nil:
		return refused
	case !kit.AsksForInput(t, r):
		if r.Refuses() {
			return toolError
		}
		return done
	case a.isFirst(r):
		return asksAgain
	}
	return asksOn
}

// begin makes the request once more, up to where it asks, and returns the answers to that, too.
func (x *trial) begin(t *T, s *driver.Session) (first driver.Reply, responses M) {
	first = x.ask(t, s, x.params)
	return first, x.responses(t, first)
}

// responses are the answers to a first reply, which is to ask for input.
func (x *trial) responses(t *T, first driver.Reply) M {
	if x.reply = first; !kit.AsksForInput(t, first) {
		t.Again("it asked for input before, and now there is %s", Got(first))
	}
	responses, err := kit.Responses(t, first)
	if err != nil {
		t.Again("%v", err)
	}
	return responses
}

// ask makes the request with params.
func (x *trial) ask(t *T, s *driver.Session, params M) driver.Reply {
	x.reply = t.Ask(s, x.Method, params)
	return x.reply
}

// askAmiss makes the request with params that are to be refused.
func (x *trial) askAmiss(t *T, s *driver.Session, params M) driver.Reply {
	x.reply = kit.AskAmiss(t, s, x.Method, params)
	return x.reply
}

// retry makes the request again with answers, and says what that comes to.
func (x *trial) retry(t *T, s *driver.Session, first driver.Reply, responses M) string {
	return x.outcome(t, x.ask(t, s, kit.Retry(x.params, first, responses)))
}

// usual is what the request came to when the first round was answered.
func (a asker) usual(t *T) string { return a.outcome(t, a.after(0)) }

// with is an object with a member more, or another one.
func with(object M, name string, value any) M {
	changed := maps.Clone(object)
	changed[name] = value
	return changed
}

// String names the request.
func (a asker) String() string { return a.Method + " of " + a.name }
