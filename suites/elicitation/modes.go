package elicitation

import (
	"fmt"
	"maps"
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// mostAskers is how many tools that ask are called again, in each way.
const mostAskers = 3

// asker is a tool that asks users, and what came of it with a client that declares certain modes.
type asker struct {
	usual     *kit.Inquiry // with a user who agrees
	unwilling []trial      // declined, and cancelled
	refused   []trial      // answered by errors: refusals
	misfits   []misfit     // answered with content that the form does not allow
}

// trial is a call in which all questions to the user have one answer.
type trial struct {
	answer string // as messages show it
	*kit.Inquiry
}

// refusals are the errors of a client that cannot ask its user.
var refusals = []kit.Answer{
	kit.Refused(-32602, "Invalid params: this mode is not supported"), kit.Refused(-32601, "Method not found"),
}

// The clients that declare some modes only. None means forms.
var (
	noMode   = M{}
	onlyForm = M{formMode: M{}}
	onlyURL  = M{urlMode: M{}}
)

// askInModes calls the tools that ask users as clients that do not have every mode, where there are modes.
func askInModes(t *T) {
	if len(askers(t)) == 0 {
		return
	}
	inMode(t, noMode)
	if t.Revision >= "2025-11-25" {
		inMode(t, onlyForm)
		inMode(t, onlyURL)
	}
}

// allAskers are the tools that ask users, and askers the first of them.
func allAskers(t *T) []*kit.Inquiry {
	mute := func(i *kit.Inquiry) bool { return !i.Asks(create) }
	return slices.DeleteFunc(slices.Clone(kit.Inquiries(t).Inquiries), mute)
}

func askers(t *T) []*kit.Inquiry {
	all := allAskers(t)
	return all[:min(len(all), mostAskers)]
}

// tellLeft says how many tools a verdict does not cover.
func tellLeft(t *T) {
	all := len(allAskers(t))
	if left := all - mostAskers; left > 0 {
		t.Partly("%d of %d tools that ask the user were called in one way only", left, all)
	}
}

// inMode calls them as a client that declares these modes and all else. One with a single mode is asked in it in every
// way.
func inMode(t *T, modes M) []asker {
	return Step(t, "client with elicitation "+Show(modes), func(t *T) (all []asker) {
		declared := maps.Clone(kit.AbleIn(t.Revision))
		if declared["elicitation"] = modes; len(modes) == 0 && !t.Modern() {
			declared = kit.Plain // of which there is a session already
		}
		c := &caller{t: t, declared: declared}
		for _, i := range askers(t) {
			a := asker{usual: c.call(i, agreeing(t))}
			if a.usual.Mute() {
				break
			}
			if len(modes) == 0 || Has(modes, urlMode) {
				c.vary(&a)
			}
			all = append(all, a)
		}
		return all
	})
}

// agreeing is a client whose user agrees to everything, to URLs as well. Nobody goes there: "It does not mean that the
// interaction is complete."
func agreeing(t *T) kit.Answering {
	others := kit.Willingly(t)
	return func(q kit.Question) kit.Answer {
		if q.Method == create && kit.ModeOf(q.Params) == urlMode {
			return kit.Answer{Result: M{"action": "accept"}}
		}
		return others(q)
	}
}

// ends reports whether calls of the tool come to an end with any answer. A server may wait until the user has been at a
// URL to which it has sent them, or ask until they agree.
func (a asker) ends() bool {
	ended := func(x trial) bool { return x.Reply.Answered() }
	return a.usual.Reply.Answered() || slices.ContainsFunc(slices.Concat(a.unwilling, a.refused), ended)
}

// caller is a client, and another one like it once its session has not survived a call.
type caller struct {
	t        *T
	declared M
	client   *kit.Client
}

// call makes a call once more, with other answers.
func (c *caller) call(i *kit.Inquiry, answering kit.Answering) *kit.Inquiry {
	if c.client == nil || !c.client.Session.Usable() {
		c.client = kit.ClientAgain(c.t, c.declared, kit.Willingly(c.t))
	}
	return c.client.Call(c.t, i.Tool, i.Arguments, answering)
}

// vary answers what a tool asks in every way.
func (c *caller) vary(a *asker) {
	if !a.usual.Asks(create) {
		return
	}
	try := func(answer kit.Answer) trial {
		shown := Show(answer.Result)
		if answer.Error != nil {
			shown = fmt.Sprintf("error %v", answer.Error["code"])
		}
		return trial{shown, c.call(a.usual, kit.Always(c.t, create, answer))}
	}
	for _, action := range []string{"decline", "cancel"} {
		a.unwilling = append(a.unwilling, try(kit.Answer{Result: M{"action": action}}))
	}
	if c.t.Modern() {
		return // a client says nothing else there, and mrtr/invalid-response-rejected judges content
	}
	for _, refusal := range refusals {
		a.refused = append(a.refused, try(refusal))
	}
	c.misfit(a)
}

// inEveryWay are the tools that ask forms or URLs, and what came of every answer.
func inEveryWay(t *T) (all []asker) {
	kit.WantInquiries(t, create)
	tellLeft(t)
	all = slices.Clone(inMode(t, noMode))
	if t.Revision >= "2025-11-25" {
		all = append(all, inMode(t, onlyURL)...)
	}
	all = slices.DeleteFunc(all, func(a asker) bool { return a.unwilling == nil })
	if len(all) == 0 {
		t.Because(NotObserved).Inconclusive("no tool that has asked the user did so again")
	}
	return all
}

// modeOf says which mode a question is of.
func modeOf(q kit.Question) string {
	if !Has(q.Params, "mode") {
		return "a question without a mode, which is a form"
	}
	return "a question of mode " + Show(q.Params["mode"])
}

// modesOf names the modes that a client has declared.
func modesOf(client M) string {
	return fmt.Sprintf("a client with elicitation %s", Show(client["elicitation"]))
}
