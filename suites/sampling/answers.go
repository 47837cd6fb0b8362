package sampling

import (
	"slices"
	"sync/atomic"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// answers are the checks of what a server makes of what a model says.
var answers = Suite{
	"sampling/iteration-limit": Probe(func(t *T) {
		eachTrial(t, func(t *T, x *trial) {
			switch {
			case x.turns == 0:
				t.Because(NotObserved).Skip("it offers no tools")
			case x.turns < mostTurns && !x.endless.Reply.Answered():
				t.Because(Limit).Inconclusive("it was asked %d times, and then there was no more time", x.turns)
			case x.turns == 1:
				t.Because(NotObserved).Skip("it does not go on once the model has used a tool")
			}
			t.Expect(x.turns < mostTurns).To(Hold("an end of its own, whatever the model wants to use",
				"a request with tools after %d uses of tools", x.turns))
		})
	}),

	"sampling/rejection-handled": Probe(func(t *T) {
		eachTrial(t, func(t *T, x *trial) {
			switch {
			case !x.Reply.Answered():
				t.Yield("it has no answer either when it gets a message")
			case !x.rejected.Asks(createMessage):
				t.Again("it asked for a message before, and now there is %s", Got(x.rejected.Reply))
			}
			x.rejected.WantHeard(t, createMessage)
			t.Expect(x.rejected.Reply).To(BeAnswered(), "tools/call whose request for a message was refused")
		})
	}),
}

// The bounds of what is tried.
const (
	mostTried = 3   // tools that sample
	mostTurns = 100 // in which a model wants to use a tool
)

// trial is a tool that samples, called again by a client whose model answers otherwise.
type trial struct {
	*kit.Inquiry // of a willing client

	uses     *kit.Inquiry // the model uses two tools at once
	rejected *kit.Inquiry // the user does not allow it
	endless  *kit.Inquiry // the model uses a tool whenever it may
	turns    int          // how often it did
}

func (x *trial) subject() Subject {
	if x.rejected == nil {
		return x.Inquiry.Subject()
	}
	return x.rejected.Subject()
}

// samplers are the first tools that ask a willing client for messages: of those that there are, first those that let
// the model use tools, or want more context.
func samplers(t *T) []*kit.Inquiry {
	a := kit.Inquiries(t)
	all := slices.DeleteFunc(slices.Clone(a.Inquiries), func(i *kit.Inquiry) bool { return !i.Asks(createMessage) })
	if len(all) == 0 {
		kit.NothingSeen(t, "tool that asks for messages was called", a.Uncalled, kit.AnyTool)
	}
	more := func(i *kit.Inquiry) int {
		if slices.ContainsFunc(i.For(createMessage), having("tools", "toolChoice", "includeContext")) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *kit.Inquiry) int { return more(a) - more(b) })
	return all[:min(len(all), mostTried)]
}

// eachTrial tries a check on the trials.
func eachTrial(t *T, run func(*T, *trial)) {
	Each(t, trials(t), (*trial).subject, run)
}

// answerOtherwise sees to it that the tools that sample have been answered otherwise than usual.
func answerOtherwise(t *T) { trials(t) }

// trials call the tools that sample again.
func trials(t *T) []*trial {
	all := samplers(t)
	return Step(t, "client whose model answers otherwise", func(t *T) (trials []*trial) {
		c := kit.ClientAgain(t, kit.AbleIn(t.Revision), kit.Willingly(t))
		c.Rounds = mostTurns + kit.MostRounds
		call := func(i *kit.Inquiry, answering kit.Answering) *kit.Inquiry {
			if !c.Session.Usable() {
				c = kit.NewClient(t, c.Declared)
			}
			return c.Call(t, i.Tool, i.Arguments, answering)
		}
		for _, i := range all {
			x := &trial{Inquiry: i}
			trials = append(trials, x)
			if slices.ContainsFunc(i.For(createMessage), mayUseTools) {
				once, always := using(t, 2, 1), using(t, 1, mostTurns)
				x.uses, x.endless = call(i, once.answer), call(i, always.answer)
				x.turns = int(always.turns.Load())
			}
			if !t.Modern() {
				rejection := kit.Refused(-1, "User rejected sampling request")
				x.rejected = call(i, kit.Always(t, createMessage, rejection))
			}
		}
		return trials
	})
}

// user is a model that uses tools where it may, so many at once, in so many turns.
type user struct {
	t        *T
	at, most int
	turns    atomic.Int32
	others   kit.Answering
}

func using(t *T, at, most int) *user {
	return &user{t: t, at: at, most: most, others: kit.Willingly(t)}
}

func (u *user) answer(q kit.Question) kit.Answer {
	if q.Method != createMessage || !mayUseTools(q) || int(u.turns.Load()) == u.most {
		return u.others(q)
	}
	u.turns.Add(1)
	return kit.Answer{Result: kit.UseTools(u.t, q.Params, u.at)}
}

// mayUseTools reports whether the model is let use tools.
func mayUseTools(q kit.Question) bool {
	choice, _ := q.Params["toolChoice"].(M)
	return len(kit.ObjectsIn(q.Params["tools"])) > 0 && choice["mode"] != "none"
}

// samplePlainly sees to it that the tools that sample have been called by a client that can do no more than that. Where
// there is a handshake, the client with tasks is one.
func samplePlainly(t *T) {
	all := samplers(t)
	if !t.Modern() {
		kit.LetDelegate(t)
		return
	}
	Step(t, "client that samples, and no more", func(t *T) bool {
		c := kit.NewClient(t, kit.Plain)
		for _, i := range all {
			if c.Call(t, i.Tool, i.Arguments, kit.Willingly(t)).Mute() || !c.Session.Usable() {
				break
			}
		}
		return true
	})
}

// judgePlain tries a check on the requests for messages of clients that sample, but not with something more. A server
// that wants that of other clients only has passed.
func judgePlain(t *T, w Wire, more string, wants func(kit.Question) bool, run func(*T, kit.Question)) {
	lacks := func(q kit.Question) bool {
		sampling, declared := q.Client()["sampling"].(M)
		return declared && !Has(sampling, more)
	}
	refrains := func(i *kit.Inquiry) bool { return slices.ContainsFunc(i.For(createMessage), wants) }
	if asked := slices.ContainsFunc(kit.Questions(t, w, createMessage), lacks); !asked &&
		slices.ContainsFunc(samplers(t), refrains) {
		return
	}
	judge(t, w, "request for a message came to a client without sampling."+more, lacks, run)
}
