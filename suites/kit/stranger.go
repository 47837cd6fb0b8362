package kit

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// stranger is what a process of a server without a handshake has made of a client that does not know it: one that asks
// in versions that no server has, and then without naming any. Nothing ordinary was said before.
//
// A request that is refused for its version is not to matter to the next one, so one process shows both. Where it was
// answered otherwise, what does not pass is tried once more, in a process for either.
type stranger struct {
	claims    []Claim
	undressed []Incomplete
}

func accost(t *T) *stranger {
	return Step(t, "a stranger", func(t *T) *stranger {
		s := t.Start()
		s.HostileThroughout()
		n := &stranger{claims: claimAtFirst(t, s)}
		if slices.ContainsFunc(n.claims, func(c Claim) bool { return !c.IsRefused() }) {
			NeedsConfirmation(t)
		}
		n.undressed = undress(t, s)
		return n
	})
}

// Incomplete is a request that does not say all that it has to say, and the answer to it.
type Incomplete struct {
	What, Method string
	Params       M
	Reply        driver.Reply
}

// Subject is the request, and its answer.
func (r Incomplete) Subject() Subject {
	return Subject{Name: r.Method + " " + r.What, Frames: []*driver.Frame{r.Reply.Request, r.Reply.Frame}}
}

// WithoutCapabilities is what a request says that leaves out what its client can do.
var WithoutCapabilities = M{"_meta": M{driver.MetaCapabilities: driver.Omitted}}

// Undressed are requests that do not name their version: the first has no params, the second no protocolVersion, the
// others no _meta. Over stdio nothing ordinary was said before in their process. Others have it afterwards as a hostile
// session, unless the server has come to treat such requests otherwise than at first.
func Undressed(t *T) []Incomplete {
	if SharesProcess(t) {
		return accost(t).undressed
	}
	return Step(t, "requests without _meta", func(t *T) []Incomplete {
		s := t.Start()
		s.HostileThroughout()
		return undress(t, s)
	})
}

func undress(t *T, s *driver.Session) []Incomplete {
	const discover = "server/discover"
	id := s.NextID()
	p := s.Expecting(id, discover)
	sent := s.SendJSON(M{"jsonrpc": "2.0", "id": id, "method": discover})
	first := AwaitAmiss(t, s, p, func() driver.Reply { return s.AwaitFirst(p) })
	first.Request = sent
	all := []Incomplete{{What: "without params", Method: discover, Reply: first}}
	ask := func(what, method string, meta any) {
		r := ExchangeAmiss(t, s, method, M{"_meta": meta})
		all = append(all, Incomplete{What: what, Method: method, Reply: r})
	}
	ask("without protocolVersion", discover, M{driver.MetaRevision: driver.Omitted})
	ask("without _meta", discover, driver.Omitted)
	if list, _ := ListMethod(t); list != "" {
		ask("without _meta", list, driver.Omitted)
	}
	if SameKind(all[0].Reply, all[2].Reply) {
		Regain(t, s)
	}
	return all
}

// FirstClaims are server/discover in versions that no server has, as a client over stdio begins with it: as the first
// that a process is asked. Over HTTP, where requests have no order, there are none.
func FirstClaims(t *T) []Claim {
	switch {
	case t.Site() != nil:
		return nil
	case SharesProcess(t):
		return accost(t).claims
	}
	return Step(t, "unknown versions at first", func(t *T) []Claim {
		s := t.Start()
		s.HostileThroughout()
		return claimAtFirst(t, s)
	})
}

// claimAtFirst makes them, as long as they are answered.
func claimAtFirst(t *T, s *driver.Session) (all []Claim) {
	const discover = "server/discover"
	for _, version := range []string{NewerVersion, OlderVersion, NoDate} {
		r := Accept(t, s.AwaitFirst(s.Request(discover, claiming(version))))
		all = append(all, Claim{Method: discover, Version: version, When: " as the first request", Reply: r})
		if r.Err != nil {
			break
		}
	}
	return all
}
