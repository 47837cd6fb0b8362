package roots

import (
	"slices"
	"sync"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// changes are the checks of roots that change, or are not to be had.
var changes = Suite{
	"roots/error-tolerated": Fresh(func(t *T) {
		Each(t, manners, manner.subject, func(t *T, m manner) {
			c := newClient(t, m.answer)
			s := c.Session
			if m.isMute() {
				s.HostileThroughout()
			}
			if kit.LetAsk(t, s); !c.wasAsked() {
				c.askByTool(t, m)
			}
			if !c.wasAsked() {
				kit.NothingSeen(t, "request for roots came", kit.Inquiries(t).Uncalled, kit.AnyTool)
			}
			t.Expect(t.TryHarmless(s)).To(BeAnswered(), "after "+m.name)
			if method, served := kit.ListMethod(t); served {
				t.Expect(t.Try(s, method, nil)).To(BeResult(), "%s after "+m.name, method)
			}
		})
	}),

	"roots/list-changed-tolerated": Fresh(func(t *T) {
		c := newClient(t, tell("file:///mcpcheck/one"))
		s := c.Session
		kit.LetAsk(t, s)
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

// manner is how a client answers that has no roots to tell of.
type manner struct {
	name   string
	answer kit.Answer
}

func (m manner) subject() Subject { return Named(m.name) }

// isMute reports whether the client gives no answer at all, which no client may.
func (m manner) isMute() bool { return m.answer.Result == nil && m.answer.Error == nil }

var manners = []manner{
	{"error -32603 for roots/list", kit.Refused(-32603, "The roots are not to be had")},
	{"an empty list of roots", tell()},
	{"no answer to roots/list", kit.Answer{}},
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

// newClient is a client that gives one answer to who asks for its roots.
func newClient(t *T, answer kit.Answer) *client {
	c := &client{answer: answer}
	c.Client = kit.NewClientAnswering(t, M{"roots": M{"listChanged": true}}, c.answers)
	return c
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

// askByTool has the server asked for by a tool, where one does that: it is answered somehow, since the call waits.
func (c *client) askByTool(t *T, m manner) {
	all := slices.DeleteFunc(slices.Clone(kit.Inquiries(t).Inquiries), func(i *kit.Inquiry) bool {
		return !i.Asks(rootsList)
	})
	if len(all) > 0 && !m.isMute() {
		i := c.Call(t, all[0].Tool, all[0].Arguments, c.answers)
		t.Expect(i.Reply).To(BeAnswered(), "tools/call of %s with "+m.name, i.Tool.Name)
	}
}
