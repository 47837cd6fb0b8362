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
		if r := TryHarmless(t, s); !r.Answered() { // it may end by itself when nothing has come for a while
			t.Again("the session did not last until the roots changed: %v", Explain(r.Err))
		}
		c.tells(tell("file:///mcpcheck/two"))
		mark := s.Mark()
		sent := s.Notify(listChanged, nil)
		_, err := s.Settle(mark)
		kit.ExpectAlive(t, err)
		kit.ExpectIgnored(t, s, mark)
		t.Expect(TryHarmless(t, s)).To(BeAnswered(), "after "+listChanged)
		if asked {
			_, err = s.Wait(mark, Late, isForRoots)
			t.By(sent).Inform(err == nil).To(Hold("a request for the roots that have changed", "none"))
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

// manner is how a client answers that has no roots to tell of.
type manner struct {
	name   string
	answer kit.Answer
}

func (m manner) subject() Subject { return Named(m.name) }

var (
	refusing = manner{"error -32601 for roots/list", kit.Refused(-32601, "Method not found")}
	lacks    = []manner{
		{"error -32603 for roots/list", kit.Refused(-32603, "The roots are not to be had")},
		{"an empty list of roots", tell()},
	}
	unanswered = manner{"no answer to roots/list", kit.Answer{}}
)

// lacking answers requests for roots with errors, and then with none. Where the server does not ask by itself, a tool
// may.
func lacking(t *T) (l lack) {
	o := refused(t)
	if l.asks = isAsked(o); l.asks {
		first := trial{manner: refusing, asked: true, pong: o.LastPong, list: o.List}
		l.trials = append([]trial{first}, without(t)...)
	} else if tool := asker(t); tool != nil {
		l.trials = called(t, tool)
	}
	return l
}

// refused is what came of a client that has roots, and answers requests for them with an error.
func refused(t *T) kit.Opened {
	o := kit.Begin(t, kit.Opening{Client: true})
	o.WantWelcome(t)
	return o
}

// isAsked reports whether the server has asked for roots by itself.
func isAsked(o kit.Opened) bool { return slices.ContainsFunc(o.Asked, isForRoots) }

// without is what came of a client that has lost its roots. What goes wrong then, the change may have caused: a client
// that had none from the beginning shows that.
func without(t *T) []trial {
	return Step(t, "client without roots", func(t *T) (all []trial) {
		c := clientAgain(t, lacks[0].answer)
		for i, m := range lacks {
			x := trial{manner: m, asked: true}
			if i == 0 || c.changes(m.answer) {
				x = c.after(t, x)
			}
			if !x.pong.Answered() || x.list.Error() != nil {
				c = newClient(t, m.answer)
				x = c.after(t, x)
			}
			all = append(all, x)
		}
		return all
	})
}

// called is what came of clients that are asked by a tool.
func called(t *T, tool *kit.Inquiry) []trial {
	return Step(t, "client without roots that a tool asks", func(t *T) (all []trial) {
		c := clientAgain(t, lacks[0].answer)
		for _, m := range lacks {
			c.tells(m.answer)
			call := c.Call(t, tool.Tool, tool.Arguments, c.answering(t))
			all = append(all, c.after(t, trial{manner: m, asked: true, call: call}))
		}
		return all
	})
}

// mute is what comes of a client that gives no answer, which no client may, of a server that asks by itself.
func (l lack) mute(t *T) trial {
	if !l.asks {
		return trial{manner: unanswered}
	}
	o := kit.Begin(t, kit.Opening{Deaf: true})
	o.WantWelcome(t)
	if !isAsked(o) {
		t.Again("the server did not ask for roots this time, before the session was left")
	}
	return trial{manner: unanswered, asked: true, pong: o.LastPong, list: o.List}
}

// after sees what the server serves after an answer, once that was sent.
func (c *client) after(t *T, x trial) trial {
	for _, f := range slices.Backward(c.Session.Record(0)) {
		if isForRoots(f) {
			c.Session.Wait(0, Late, func(sent *driver.Frame) bool {
				return sent.Side == driver.FromClient && sent.IsResponse() && driver.SameID(sent.ID, f.ID)
			})
			break
		}
	}
	c.Session.Settle(0) // over HTTP what is sent next may overtake the answer
	x.pong = TryHarmless(t, c.Session)
	if method, served := kit.ListMethod(t); served {
		x.list = t.Try(c.Session, method, nil)
	}
	return x
}

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

// newClient is a client that gives one answer to who asks for its roots, and which the server has had time to ask.
func newClient(t *T, answer kit.Answer) *client {
	c := &client{answer: answer}
	c.Client = kit.NewClientAnswering(t, kit.AbleIn(t.Revision), c.answering(t))
	kit.LetAsk(t, c.Session)
	return c
}

// clientAgain is newClient, or one that had others before, of which a server that asks by itself knows.
func clientAgain(t *T, answer kit.Answer) *client {
	asks := isAsked(refused(t))
	c := &client{answer: answer}
	c.Client = kit.ClientAgain(t, kit.AbleIn(t.Revision), c.answering(t))
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

// answering answers what is asked for roots, and all else willingly.
func (c *client) answering(t *T) kit.Answering {
	others := kit.Willingly(t)
	return func(q kit.Question) kit.Answer {
		if q.Method != rootsList {
			return others(q)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.answer
	}
}

// tells has the client give another answer from now on.
func (c *client) tells(answer kit.Answer) {
	c.mu.Lock()
	c.answer = answer
	c.mu.Unlock()
}

// wasAsked reports whether the server has asked for roots.
func (c *client) wasAsked() bool { return slices.ContainsFunc(c.Session.Since(0), isForRoots) }

// asker is a call of a tool that asks for roots; nil when there is none.
func asker(t *T) *kit.Inquiry {
	all := kit.Inquiries(t).Inquiries
	if i := slices.IndexFunc(all, func(i *kit.Inquiry) bool { return i.Asks(rootsList) }); i >= 0 {
		return all[i]
	}
	return nil
}
