package handshake

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// ConnectionLists are the lists on two connections: a session that other checks have used, and a new connection whose
// first request was for a list.
type ConnectionLists struct {
	// ListMethod is the method of that first request.
	ListMethod string
	// FirstReply is the reply to that first request.
	FirstReply driver.Reply
	// UsedConnection are the lists of the used session: before the other one, twice while it is used, and at the end.
	UsedConnection []NamesByList
	// NewConnection are the lists of the new connection, before and after other requests on it.
	NewConnection []NamesByList
}

// NamesByList are the sorted names, or URIs, of all items, by list method.
type NamesByList map[string][]string

// CompareConnections requests lists on two connections alternately, and in between sends read-only requests on one of
// them.
func CompareConnections(t *check.T) ConnectionLists {
	list := protocol.RequireListMethod(t)
	if check.SharesProcess(t) {
		n := openSecondConnection(t)
		n.requireLists()
		return n.lists
	}
	return check.Step(t, "two connections", func(t *check.T) (c ConnectionLists) {
		c.compare(t, list, t.Session(check.Process))
		return c
	})
}

// compare runs CompareConnections with a connection on which nothing was sent yet.
func (c *ConnectionLists) compare(t *check.T, list string, there *driver.Session) {
	c.ListMethod, c.FirstReply = list, there.AwaitFirst(there.Request(list, nil))
	if c.FirstReply.Result() == nil {
		return
	}
	here := sessionWithoutEffects(t)
	c.UsedConnection = append(c.UsedConnection, readLists(t, here))
	c.NewConnection = append(c.NewConnection, readLists(t, there))
	c.UsedConnection = append(c.UsedConnection, readLists(t, here))
	sendReadOnlyRequests(t, there)
	c.NewConnection = append(c.NewConnection, readLists(t, there))
	c.UsedConnection = append(c.UsedConnection, readLists(t, here))
}

// sessionWithoutEffects is a session that others may have used, but in which no tool was called and nothing completed
// with a result, since that may have changed the lists.
func sessionWithoutEffects(t *check.T) *driver.Session {
	s := t.Session()
	for _, method := range []string{"tools/call", "completion/complete"} {
		if results := (check.Wire{Sessions: []*driver.Session{s}}).ResultsOf(method); len(results.List) > 0 {
			return t.Session(check.Exclusive)
		}
	}
	return s
}

// ListMember is the member of the result of a list method that holds the items.
func ListMember(method string) (member string) {
	member, _, _ = strings.Cut(method, "/")
	return member
}

// readLists are the lists of the server in a session.
func readLists(t *check.T, s *driver.Session) NamesByList {
	all := NamesByList{}
	for _, list := range protocol.ListMethods(t.Server.Capabilities) {
		key := map[bool]string{true: "uri", false: "name"}[list == "resources/list"]
		names := []string{}
		check.FollowPages(t, s, list, ListMember(list), func(page check.M) {
			for _, item := range protocol.ObjectsIn(page[ListMember(list)]) {
				name, _ := item[key].(string)
				names = append(names, name)
			}
		})
		all[list] = protocol.Sorted(names)
	}
	return all
}

// sendReadOnlyRequests sends requests that change nothing: for things that do not exist, and for reading.
func sendReadOnlyRequests(t *check.T, s *driver.Session) {
	t.Send(s, "server/discover", nil, check.AllowSilence)
	for _, r := range unlisted(t) {
		if r.Method == "tools/call" && check.KnownUnanswered(t, r.Method) == nil {
			s.AwaitLongRunning(s.Request(r.Method, r.Params))
		}
	}
	if t.Server.Declares("completions") {
		sendCompletions(t, s)
	}
	if t.Server.Declares("tools") && check.MayCallUnknown(t) {
		invalid.TryInvalid(t, s, "tools/call", check.M{"name": protocol.UnknownToolName(t), "arguments": check.M{}})
	}
	if len(t.Server.Resources) > 0 {
		t.Send(s, "resources/read", check.M{"uri": t.Server.Resources[0]["uri"]}, check.AllowSilence)
	}
	if len(t.Server.Prompts) > 0 {
		invalid.TryInvalid(t, s, "prompts/get", check.M{"name": t.Server.Prompts[0]["name"]})
	}
}

// sendCompletions completes an argument of a prompt.
func sendCompletions(t *check.T, s *driver.Session) {
	for _, prompt := range t.Server.Prompts {
		if arguments := protocol.ObjectsIn(prompt["arguments"]); len(arguments) > 0 {
			t.Send(s, "completion/complete", check.M{
				"ref":      check.M{"type": "ref/prompt", "name": prompt["name"]},
				"argument": check.M{"name": arguments[0]["name"], "value": ""},
			}, check.AllowSilence)
			break
		}
	}
}
