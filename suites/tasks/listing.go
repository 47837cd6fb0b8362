package tasks

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// listing are the checks of tasks/list, and of who may see which tasks.
var listing = Suite{
	"tasks/list-invalid-cursor": Probe(func(t *T) {
		wantList(t)
		if list := listed(t); list.Error() != nil {
			t.Yield("tasks/list is answered with %s", Got(list))
		}
		r := kit.AskAmiss(t, t.Hostile(), "tasks/list", M{"cursor": "mcpcheck-invalid-cursor"})
		t.Expect(r).To(BeError(-32602))
	}),

	"tasks/list-schema": Probe(func(t *T) {
		wantList(t)
		r := listed(t)
		kit.WantAnswer(t, r)
		t.Expect(r).To(BeResult())
		broken := kit.Broken(t, "tasks/list-schema", "ListTasksResult", r.Result())
		t.By(r).Expect(broken).To(BeEmptyList[string]("a list of tasks"))
	}),

	"tasks/list-complete": Probe(func(t *T) {
		wantList(t)
		before := longest(t) // which others wait for: who has a session in the meantime would hurry it
		c := begin(t, t.Session(), before)
		defer giveUp(t, c)
		first := c.Look()
		listed, err := c.isListed()
		after := c.Look()
		if first.Result() == nil || after.Result() == nil {
			t.Inconclusive("tasks/get was answered with %s, and later with %s", Got(first), Got(after))
		}
		if err != nil {
			t.Inconclusive("tasks/list could not be read to its end: %v", Explain(err))
		}
		t.Expect(listed).To(Hold("the task in tasks/list", "others only"))
	}),

	"tasks/auth-isolation": Probe(func(t *T) {
		if t.Credentials.Second == "" {
			t.Because(NotGiven).Skip("there is no token of another principal (--token-env second=VARIABLE)")
		}
		before := longest(t)
		c := begin(t, t.Session(), before)
		other := strangerTo(t)
		methods := []Subject{Named("tasks/get"), Named("tasks/list"), Named("tasks/cancel"), Named("tasks/result")}
		methods = slices.DeleteFunc(methods, func(m Subject) bool {
			return m.Name == "tasks/list" && !declaresList(t) || m.Name == "tasks/cancel" && !declaresCancel(t)
		})
		t.Each(methods, func(t *T, method Subject) {
			if method.Name == "tasks/result" {
				follow(c) // it might wait for the end
			}
			if method.Name == "tasks/list" {
				r, listed := other.lists(t, c.ID)
				t.Expect(!listed).To(Hold("no task of another principal", "%s", r))
				return
			}
			r := other.ask(t, method.Name, M{"taskId": c.ID})
			t.Expect(r.Result() == nil).To(Hold("no access to a task of another principal", "%s", r))
		})
	}),
}

// listed is the answer to tasks/list.
func listed(t *T) driver.Reply {
	if r := tell(t).Listed; r.Request != nil {
		return r
	}
	return t.Ask(t.Session(), "tasks/list", nil)
}

// wantList ends a check of a server that lists no tasks.
func wantList(t *T) {
	if !declaresList(t) {
		t.Because(NotDeclared).Skip("the server does not declare tasks.list")
	}
}

// namesOf are the ids of tasks.
func namesOf(tasks []M) (ids []string) {
	for _, task := range tasks {
		id, _ := task["taskId"].(string)
		ids = append(ids, id)
	}
	return ids
}

// isListed looks for the task on all pages of tasks/list, as far as it takes.
func (c *course) isListed() (listed bool, err error) {
	err = EachPage(c.Session, "tasks/list", "tasks", M{}, func(page M) {
		listed = listed || slices.Contains(namesOf(kit.ObjectsIn(page["tasks"])), c.ID)
	})
	if listed {
		err = nil
	}
	return listed, err
}

// principal is another one than the client's, in a session of its own where there are sessions.
type principal struct {
	s      *driver.Session
	header map[string][]string
}

// strangerTo begins a session as the other principal.
func strangerTo(t *T) principal {
	s := t.Start()
	header := kit.Bearing(t.Credentials.Second)
	hello := kit.HelloByHand(t, s, header)
	if r := hello.Reply(); r.Result() == nil {
		t.Again("no session for the other principal: initialize was answered with %s", hello.Answer())
	}
	header.Set(kit.VersionHeader, t.Revision)
	if id := hello.Answer().Header.Get(kit.SessionIDHeader); id != "" {
		header.Set(kit.SessionIDHeader, id)
	}
	kit.InitializedByHand(s, header).End()
	return principal{s, header}
}

// ask makes a request as the principal.
func (p principal) ask(t *T, method string, params M) driver.Reply {
	x := kit.InTurn(p.s, func() *driver.Exchange {
		return kit.ByHand(p.s, kit.Request{Method: method, Params: params, Header: p.header})
	})
	r := x.Reply()
	kit.WantRefuser(t, r)
	return Accept(t, r)
}

// mostPages is how many pages of tasks/list the other principal reads.
const mostPages = 100

// lists looks for a task on the pages that the principal may read, and returns the last of these.
func (p principal) lists(t *T, id string) (page driver.Reply, listed bool) {
	params := M{}
	for range mostPages {
		page = p.ask(t, "tasks/list", params)
		if slices.Contains(namesOf(kit.ObjectsIn(page.Result()["tasks"])), id) {
			return page, true
		}
		cursor, more := page.Result()["nextCursor"].(string)
		if !more {
			return page, false
		}
		params = M{"cursor": cursor}
	}
	t.Partly("only %d pages of tasks/list were read", mostPages)
	return page, false
}
