package handshake

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// nonconformingClient is what a process of a server without a handshake has made of a client that does not know it: one
// that asks in versions that no server has, and then without naming any. Nothing ordinary was said before.
//
// A request that is refused for its version is not to matter to the next one, so one process shows both. Where it was
// answered otherwise, what does not pass is tried once more, in a process for either.
type nonconformingClient struct {
	versionProbes []VersionProbe
	withoutMeta   []IncompleteRequest
}

func probeNonconforming(t *check.T) *nonconformingClient {
	return check.Step(t, "a stranger", func(t *check.T) *nonconformingClient {
		s := t.NewProcess()
		s.MarkInvalidInputFromStart()
		n := &nonconformingClient{versionProbes: probeFirstVersions(t, s)}
		if slices.ContainsFunc(n.versionProbes, func(c VersionProbe) bool { return !c.IsRefused() }) {
			check.NeedsConfirmation(t)
		}
		n.withoutMeta = sendWithoutMeta(t, s)
		return n
	})
}

// Incomplete is a request that does not say all that it has to say, and the answer to it.
type IncompleteRequest struct {
	Missing, Method string
	Params          check.M
	Reply           driver.Reply
}

// Subject is the request, and its answer.
func (r IncompleteRequest) Subject() check.Subject {
	return check.Subject{Name: r.Method + " " + r.Missing, Frames: []*driver.Frame{r.Reply.Request, r.Reply.Frame}}
}

// OmittedCapabilities is what a request says that leaves out what its client can do.
var OmittedCapabilities = check.M{"_meta": check.M{driver.MetaCapabilities: driver.Omitted}}

// RequestsWithoutMeta are requests that do not name their version: the first has no params, the second no
// protocolVersion, the others no _meta. Over stdio nothing ordinary was said before in their process. Others have it
// afterwards as a hostile session, unless the server has come to treat such requests otherwise than at first.
func RequestsWithoutMeta(t *check.T) []IncompleteRequest {
	if check.SharesProcess(t) {
		return probeNonconforming(t).withoutMeta
	}
	return check.Step(t, "requests without _meta", func(t *check.T) []IncompleteRequest {
		s := t.NewProcess()
		s.MarkInvalidInputFromStart()
		return sendWithoutMeta(t, s)
	})
}

func sendWithoutMeta(t *check.T, s *driver.Session) []IncompleteRequest {
	const discover = "server/discover"
	id := s.NextID()
	p := s.NewPending(id, discover)
	sent := s.SendJSON(check.M{"jsonrpc": "2.0", "id": id, "method": discover})
	first := invalid.AwaitInvalid(t, s, p, func() driver.Reply { return s.AwaitFirst(p) })
	first.Request = sent
	all := []IncompleteRequest{{Missing: "without params", Method: discover, Reply: first}}
	ask := func(what, method string, meta any) {
		r := invalid.SendInvalid(t, s, method, check.M{"_meta": meta})
		all = append(all, IncompleteRequest{Missing: what, Method: method, Reply: r})
	}
	ask("without protocolVersion", discover, check.M{driver.MetaRevision: driver.Omitted})
	ask("without _meta", discover, driver.Omitted)
	if list, _ := protocol.ListMethod(t); list != "" {
		ask("without _meta", list, driver.Omitted)
	}
	if protocol.SameKind(all[0].Reply, all[2].Reply) {
		invalid.ConnectAfterInvalid(t, s)
	}
	return all
}

// FirstVersionProbes are server/discover in versions that no server has, as a client over stdio begins with it: as the
// first that a process is asked. Over HTTP, where requests have no order, there are none.
func FirstVersionProbes(t *check.T) []VersionProbe {
	switch {
	case t.Site() != nil:
		return nil
	case check.SharesProcess(t):
		return probeNonconforming(t).versionProbes
	}
	return check.Step(t, "unknown versions at first", func(t *check.T) []VersionProbe {
		s := t.NewProcess()
		s.MarkInvalidInputFromStart()
		return probeFirstVersions(t, s)
	})
}

// probeFirstVersions makes them, as long as they are answered.
func probeFirstVersions(t *check.T, s *driver.Session) (all []VersionProbe) {
	const discover = "server/discover"
	for _, version := range []string{NewerVersion, OlderVersion, NonDateVersion} {
		r := check.RequireServerReply(t, s.AwaitFirst(s.Request(discover, versionParams(version))))
		all = append(all, VersionProbe{Method: discover, Version: version, Position: " as the first request", Reply: r})
		if r.Err != nil {
			break
		}
	}
	return all
}
