package roots

import (
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// changes are the checks of roots that change, or are not to be had.
var changes = Suite{
	"roots/error-tolerated": Fresh(func(t *T) {
		l := lacking(t)
		Each(t, append(l.trials, l.mute(t)), trial.subject, func(t *T, x trial) {
			if !x.asked {
				kit.NothingSeen(t, "request for roots came", kit.Inquiries(t).Uncalled, kit.AnyTool)
			}
			if x.call != nil {
				t.Expect(x.call.Reply).To(BeAnswered(), "tools/call of %s with "+x.name, x.call.Tool.Name)
			}
			t.Expect(x.pong).To(BeAnswered(), "after "+x.name)
			if method, served := kit.ListMethod(t); served {
				t.Expect(x.list).To(BeResult(), "%s after "+x.name, method)
			}
		})
	}),

	"roots/list-changed-tolerated": Fresh(func(t *T) {
		c := clientAgain(t, tell("file:///mcpcheck/one"))
		s := c.Session
		asked := c.wasAsked()
		c.tells(tell("file:///mcpcheck/two"))
		mark := s.Mark()
		s.Notify(listChanged, nil)
		_, err := s.Settle(mark)
		kit.ExpectAlive(t, err)
		kit.ExpectIgnored(t, s, mark)
		t.Expect(t.TryHarmless(s)).To(BeAnswered(), "after "+listChanged)
		if asked {
			_, err = s.Wait(mark, Late, isForRoots)
			t.Inform(err == nil).To(Hold("a request for the roots that have changed", "none"))
		}
	}),
}

// lack is what came of clients whose roots are not to be had.
type lack struct {
	trials []trial
	asks   bool // the server asks for roots by itself once the session is established
}

// trial is what came of a client that answers in a manner.
type trial struct {
	manner
	asked      bool
	call       *kit.Inquiry // of the tool that has asked; nil: the server did so by itself
	pong, list driver.Reply // afterwards
}

// lacking answers requests for roots with an error, and then with none.
func lacking(t *T) lack {
	return Shared(t, "client whose roots are not to be had", func(t *T) (l lack) {
		c := newClient(t, manners[0].answer)
		l.asks = c.wasAsked()
		l.trials = []trial{c.try(t, manners[0])}
		var then trial
		asked := !l.asks || c.changes(manners[1].answer)
		if c.tells(manners[1].answer); asked {
			then = c.try(t, manners[1])
		}
		if !then.pong.Answered() || then.list.Error() != nil { // which the change may have caused
			then = newClient(t, manners[1].answer).try(t, manners[1])
		}
		l.trials = append(l.trials, then)
		return l
	})
}

// mute is what comes of a client that gives no answer, which no client may, of a server that asks by itself.
func (l lack) mute(t *T) trial {
	x := trial{manner: unanswered}
	if !l.asks {
		return x
	}
	o := kit.Begin(t, kit.Opening{Deaf: true})
	o.WantWelcome(t)
	if x.asked = slices.ContainsFunc(o.Asked, isForRoots); !x.asked {
		t.Again("the server did not ask for roots this time, before the session was left")
	}
	x.pong, x.list = o.LastPong, o.List
	return x
}

// try sees what comes of the answer. Where the server has not asked by itself, a tool may.
func (c *client) try(t *T, m manner) trial {
	x := trial{manner: m, asked: c.wasAsked()}
	if !x.asked {
		x.call = c.askByTool(t)
		x.asked = x.call != nil
	}
	x.pong = t.TryHarmless(c.Session)
	if method, served := kit.ListMethod(t); served {
		x.list = t.Try(c.Session, method, nil)
	}
	return x
}

// manner is how a client answers that has no roots to tell of.
type manner struct {
	name   string
	answer kit.Answer
}

func (m manner) subject() Subject { return Named(m.name) }

var (
	manners = []manner{
		{"error -32603 for roots/list", kit.Refused(-32603, "The roots are not to be had")},
		{"an empty list of roots", tell()},
	}
	unanswered = manner{"no answer to roots/list", kit.Answer{}}
)

// tell is an answer with roots.
func tell(uris ...string) kit.Answer {
	roots := []any{}
	for _, uri := range uris {
		roots = append(roots, M{"uri": uri, "name": "mcpcheck"})
	}
	return kit.Answer{Result: M{"roots": roots}}
}

// client is one that has roots, which may change.
type client struct {
	*kit.Client

	mu     sync.Mutex
	answer kit.Answer
}

// changing is what a client has declared whose roots may change.
var changing = M{"roots": M{"listChanged": true}}

// newClient is a client that gives one answer to who asks for its roots, and which the server has had time to ask.
func newClient(t *T, answer kit.Answer) *client {
	c := &client{answer: answer}
	c.Client = kit.NewClientAnswering(t, changing, c.answers)
	kit.LetAsk(t, c.Session)
	return c
}

// clientAgain is newClient, or one that had others before, of which a server that asks by itself knows.
func clientAgain(t *T, answer kit.Answer) *client {
	asks := lacking(t).asks
	c := &client{answer: answer}
	c.Client = kit.ClientAgain(t, changing, c.answers)
	switch {
	case c.Session.Used == 0:
		kit.LetAsk(t, c.Session)
	case asks && !c.changes(answer):
		return newClient(t, answer)
	}
	return c
}

// changes has the client give another answer, and reports whether the server asks when it is told so.
func (c *client) changes(answer kit.Answer) bool {
	c.tells(answer)
	mark := c.Session.Mark()
	c.Session.Notify(listChanged, nil)
	_, err := c.Session.Wait(mark, Late, isForRoots)
	return err == nil
}

func (c *client) answers(kit.Question) kit.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer
}

// tells has the client give another answer from now on.
func (c *client) tells(answer kit.Answer) {
	c.mu.Lock()
	c.answer = answer
	c.mu.Unlock()
}

// wasAsked reports whether the server has asked for roots.
func (c *client) wasAsked() bool { return slices.ContainsFunc(c.Session.Since(0), isForRoots) }

// askByTool is a call of a tool that asks, which is answered somehow, since the call waits; nil when there is none.
func (c *client) askByTool(t *T) *kit.Inquiry {
	all := slices.DeleteFunc(slices.Clone(kit.Inquiries(t).Inquiries), func(i *kit.Inquiry) bool {
		return !i.Asks(rootsList)
	})
	if len(all) == 0 {
		return nil
	}
	return c.Call(t, all[0].Tool, all[0].Arguments, c.answers)
}
