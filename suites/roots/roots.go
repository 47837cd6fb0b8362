// Package roots holds the checks of how servers go by the roots of their client.
package roots

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Merge(requests, changes, boundaries)

// rootsList is the request that the area is about, and listChanged says that another answer is to be had.
const (
	rootsList   = "roots/list"
	listChanged = "notifications/roots/list_changed"
)

// mostTried is how many tools are tried for a check.
const mostTried = 3

// requests are the checks of requests for roots.
var requests = Suite{
	"roots/requires-capability": WatchAfter(lackRoots, func(t *T, w Wire) {
		all := kit.Questions(t, w, rootsList)
		undeclared := slices.ContainsFunc(all, func(q kit.Question) bool { return !isDeclared(q) })
		switch {
		case undeclared && t.Modern():
			t.Yield("a client without roots is asked for them")
		case undeclared && t.Revision >= "2025-06-18":
			t.Yield("a client without roots is asked for them")
		}
		kit.JudgeQuestions(t, "request for roots came, not even to a client that has some", all,
			func(t *T, q kit.Question) {
				t.Expect(isDeclared(q)).To(Hold("no request for the roots of a client without them", "one"))
			})
	}),

	"roots/request-schema": WatchAfter(askForRoots, func(t *T, w Wire) {
		kit.JudgeQuestions(t, "request for roots came", kit.Questions(t, w, rootsList), func(t *T, q kit.Question) {
			t.Expect(kit.Broken(t, "roots/request-schema", "ListRootsRequest", q.Value())).To(
				BeEmptyList[string]("no params, or an object"))
		})
	}),
}

// isDeclared reports whether a client that was asked for roots has said that it has some.
func isDeclared(q kit.Question) bool { return q.Client()["roots"] != nil }

// askForRoots sees to it that a server that asks for roots has asked a client that has some: most do so once the
// session is established, others when a tool is called.
func askForRoots(t *T) {
	if !t.Modern() {
		kit.Begin(t, kit.Opening{Client: true})
	}
	kit.LetInquire(t)
}

// lackRoots sees to it that it has met a client that has none, too.
func lackRoots(t *T) {
	askForRoots(t)
	kit.CallTools(t)
	if !t.Modern() {
		return
	}
	c := kit.NewClient(t, kit.Without(kit.AbleIn(t.Revision), "roots"))
	all := kit.WantInquiries(t, rootsList)
	for _, i := range all[:min(len(all), mostTried)] {
		if c.Call(t, i.Tool, i.Arguments, kit.Willingly(t)).Mute() {
			return
		}
	}
}

// isForRoots reports whether a message of the server is a request for roots.
func isForRoots(f *driver.Frame) bool {
	return f.Side == driver.FromServer && f.IsRequest() && f.Method == rootsList
}
