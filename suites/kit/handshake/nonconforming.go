package handshake

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// nonconformingClient is the outcome of a process of a modern server whose client sends versions that no server
// supports, and then requests that name no version. No valid request precedes these.
//
// A request that was refused for its version must not affect later ones, so one process is enough for both. If a
// version was not refused, failures are confirmed in a process for each.
type nonconformingClient struct {
	versionProbes []VersionProbe
	withoutMeta   []IncompleteRequest
	unlisted      []UnlistedRequest
}

func probeNonconforming(t *check.T) *nonconformingClient {
	return check.Step(t, "a nonconforming client", func(t *check.T) *nonconformingClient {
		s := t.Session(check.Process)
		s.MarkInvalidInputFromStart()
		n := &nonconformingClient{versionProbes: probeFirstVersions(t, s)}
		if slices.ContainsFunc(n.versionProbes, func(c VersionProbe) bool { return !c.IsRefused() }) {
			check.NeedsConfirmation(t)
		}
		n.withoutMeta = sendWithoutMeta(t, s)
		n.unlisted = sendUnlisted(t, s)
		connectUnlessChanged(t, s, n.withoutMeta)
		return n
	})
}

// IncompleteRequest is a request that lacks required members, with its reply.
type IncompleteRequest struct {
	Missing, Method string
	Params          check.M
	Reply           driver.Reply
}

// Subject shows the request and its reply.
func (r IncompleteRequest) Subject() check.Subject {
	return check.Subject{Name: r.Method + " " + r.Missing, Frames: []*driver.Frame{r.Reply.Request, r.Reply.Frame}}
}

// RequestsWithoutMeta are requests that do not name their version: the first has no params, the second no
// protocolVersion, the others no _meta. Over stdio they are the first messages to their process. The session serves
// others for invalid input afterwards, unless the server answers such requests differently than at first.
func RequestsWithoutMeta(t *check.T) []IncompleteRequest {
	if check.SharesProcess(t) {
		return probeNonconforming(t).withoutMeta
	}
	return check.Step(t, "requests without _meta", func(t *check.T) []IncompleteRequest {
		s := t.Session(check.Process)
		s.MarkInvalidInputFromStart()
		all := sendWithoutMeta(t, s)
		connectUnlessChanged(t, s, all)
		return all
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
	return all
}

// connectUnlessChanged connects the session of sendWithoutMeta for further use, unless the server answers requests
// differently than at first.
func connectUnlessChanged(t *check.T, s *driver.Session, all []IncompleteRequest) {
	if protocol.SameKind(all[0].Reply, all[2].Reply) {
		invalid.ConnectAfterInvalid(t, s)
	}
}

// FirstVersionProbes are server/discover requests in versions that no server supports, each as one of the first
// requests to a process over stdio. Over HTTP, where requests have no order, there are none.
func FirstVersionProbes(t *check.T) []VersionProbe {
	switch {
	case t.Site() != nil:
		return nil
	case check.SharesProcess(t):
		return probeNonconforming(t).versionProbes
	}
	return probeVersionsAlone(t).versionProbes
}

// probeVersionsAlone is probeNonconforming without the requests that name no version.
func probeVersionsAlone(t *check.T) *nonconformingClient {
	return check.Step(t, "unknown versions at first", func(t *check.T) *nonconformingClient {
		s := t.Session(check.Process)
		s.MarkInvalidInputFromStart()
		return &nonconformingClient{versionProbes: probeFirstVersions(t, s), unlisted: sendUnlisted(t, s)}
	})
}

// probeFirstVersions sends the requests of FirstVersionProbes until one is left unanswered.
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
