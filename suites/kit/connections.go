package kit

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// Connections are a session that others have used, and another connection beside it in which a list was the first
// request.
type Connections struct {
	List  string
	First driver.Reply // to that request
	Here  []Listing    // of the one session: twice, and after the other requests
	There []Listing    // of the other one: before and after other requests in it
}

// Listing are the names, or URIs, of all that a server lists, by list, in ascending order.
type Listing map[string][]string

// TwoConnections asks for lists on two connections by turns, and in between on one of them for what changes nothing.
func TwoConnections(t *T) Connections {
	list := WantListMethod(t)
	if SharesProcess(t) {
		n := meet(t)
		n.endLists()
		return n.lists
	}
	return Step(t, "two connections", func(t *T) (c Connections) {
		c.compare(t, list, t.Start())
		return c
	})
}

// compare does so with a connection on which nothing was said yet.
func (c *Connections) compare(t *T, list string, there *driver.Session) {
	c.List, c.First = list, there.AwaitFirst(there.Request(list, nil))
	if c.First.Result() == nil {
		return
	}
	here := untouched(t)
	c.Here = append(c.Here, listing(t, here))
	c.There = append(c.There, listing(t, there))
	c.Here = append(c.Here, listing(t, here))
	askHarmless(t, there)
	c.There = append(c.There, listing(t, there))
	c.Here = append(c.Here, listing(t, here))
}

// untouched is a session that others may have used, but in which no tool had a result, since that may have changed what
// is listed.
func untouched(t *T) *driver.Session {
	s := t.Session()
	if results := (Wire{Sessions: []*driver.Session{s}}).ResultsOf("tools/call"); len(results.List) > 0 {
		return t.Own()
	}
	return s
}

// ListOf is the member of the result of a list method that is the list.
func ListOf(method string) (member string) {
	member, _, _ = strings.Cut(method, "/")
	return member
}

// listing is what the server lists in a session.
func listing(t *T, s *driver.Session) Listing {
	all := Listing{}
	for _, list := range ListsOf(t.Server.Capabilities) {
		key := map[bool]string{true: "uri", false: "name"}[list == "resources/list"]
		names := []string{}
		FollowPages(t, s, list, ListOf(list), func(page M) {
			for _, item := range ObjectsIn(page[ListOf(list)]) {
				name, _ := item[key].(string)
				names = append(names, name)
			}
		})
		all[list] = Sorted(names)
	}
	return all
}

// askHarmless makes requests that change nothing: those for what does not exist, and readings.
func askHarmless(t *T, s *driver.Session) {
	t.Try(s, "server/discover", nil)
	if t.Server.Declares("tools") && MayCallUnknown(t) {
		TryAmiss(t, s, "tools/call", M{"name": UnknownName(t), "arguments": M{}})
	}
	if len(t.Server.Resources) > 0 {
		t.Try(s, "resources/read", M{"uri": t.Server.Resources[0]["uri"]})
	}
	if len(t.Server.Prompts) > 0 {
		TryAmiss(t, s, "prompts/get", M{"name": t.Server.Prompts[0]["name"]})
	}
}
