package explore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Handshake is what is not the plainest in a handshake.
type Handshake struct {
	// Revision is requested instead of that of the script. Where the server grants another one than that of the script,
	// the session is ended at once.
	Revision string `json:"revision,omitempty"`
	// Ping pings the server before the handshake is finished.
	Ping bool `json:"ping,omitempty"`
	// Meta is _meta of initialize; nil sends none.
	Meta check.M `json:"_meta,omitempty"`
}

// capabilities are those of a client that supports what servers may ask of it.
func (x *explorer) capabilities() check.M {
	all := check.M{"roots": check.M{"listChanged": true}, "sampling": check.M{}}
	if x.isModern() {
		all["roots"] = check.M{}
	}
	if x.server.Revision >= "2025-06-18" {
		all["elicitation"] = check.M{}
	}
	return all
}

// connect draws how a session begins.
func (g *generator) connect() Step {
	s := Step{Action: Connect, Session: g.session}
	if g.IntN(4) != 0 {
		s.Params = g.x.capabilities()
	}
	if g.IntN(3) == 0 {
		if s.Params == nil {
			s.Params = check.M{}
		}
		s.Params["experimental"] = check.M{"com.example/mcpcheck": check.M{"a": true}}
	}
	if g.x.isModern() {
		return s
	}
	if g.IntN(3) == 0 {
		s.Order = g.Uint64()>>11 + 1
	}
	if g.IntN(4) == 0 {
		s.Handshake.Meta = oneOf(g, metas)
	}
	s.Handshake.Ping = g.IntN(4) == 0
	if others := g.x.otherRevisions(); len(others) > 0 && g.IntN(4) == 0 {
		s.Handshake.Revision = oneOf(g, others)
	}
	return s
}

// otherRevisions returns the revisions that a client may request besides the one that is explored: over HTTP all with a
// handshake. Over stdio, where a session of another revision ends its process, it is the one that was requested and not
// granted.
func (x *explorer) otherRevisions() []string {
	is := func(revision string) bool { return revision == x.server.Revision }
	if x.target.Site == nil {
		is = func(revision string) bool { return revision != x.server.Requested || revision == x.server.Revision }
	} else if x.server.OneClient {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(catalogue.LegacyRevisions), is)
}

// connect connects a session. Without a handshake it opens no stream.
func (p *play) connect(s *driver.Session, step Step, capabilities check.M) error {
	params, h := driver.ConnectParams(p.x.server.Revision), Handshake{}
	params["capabilities"] = capabilities
	if p.x.isModern() {
		return resultError(s.Connect(params))
	}
	if step.Action == Connect {
		h = step.Handshake
		p.unusual[s] = h.Revision != "" || h.Ping || h.Meta != nil || step.Order != 0
		s.EncodeInitialize = func(message check.M) []byte { return encode(message, step.Order) }
	}
	if params["protocolVersion"] = cmp.Or(h.Revision, p.x.server.Revision); h.Meta != nil {
		params["_meta"] = h.Meta
	}
	if h.Revision == "" && !h.Ping {
		return s.Open(params)
	}
	if err := resultError(s.Connect(params)); err != nil {
		return err
	}
	if h.Ping {
		s.Call("ping", nil)
	}
	if s.FinishConnect(); s.NegotiatedRevision() != p.x.server.Revision {
		p.pool.CloseSession(s)
		delete(p.open, step.Session)
	}
	return nil
}

// resultError returns an error if a session was not connected.
func resultError(r driver.Reply) error {
	if r.Err == nil && r.Result() == nil {
		return fmt.Errorf("%s was not answered with a result", r.Method)
	}
	return r.Err
}
