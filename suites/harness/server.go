package harness

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// M is a JSON object.
type M = driver.M

// Server is what discovery learnt of the server: all that a plan may depend on.
type Server struct {
	Transport    string       // "stdio", "http" (Streamable HTTP) or "sse" (HTTP+SSE)
	OneClient    bool         // over HTTP: it serves one session at a time only, or mixes several up
	Sessionless  bool         // over HTTP: initialize brought no session id
	Protected    bool         // over HTTP: initialize or a list was answered with 401
	Requested    string       // revision that was asked for
	Revision     string       // revision that was negotiated
	First        driver.Reply // to initialize
	Welcome      M            // its result
	Capabilities M
	Era          driver.Era // how its sessions go

	Tools     []M
	AllTools  bool // the list of tools could be read, all of it
	Prompts   []M
	Resources []M
	Templates []M

	// Failure is why the handshake failed, or no list could be had of a protected server; empty when neither is so.
	// Nothing else can be tried then, but what a protected server says to those without a good token.
	Failure string
}

// OnlyModern reports whether initialize was refused by a server of the revisions without a handshake: with one of the
// errors that came up with them, unless it names a revision with one.
func OnlyModern(r driver.Reply) bool {
	const headerMismatch, unsupportedVersion = -32020, -32022
	code, _ := r.Code()
	data, _ := r.Error()["data"].(M)
	supported, _ := data["supported"].([]any)
	return unsupportedVersion <= code && code <= headerMismatch && !slices.ContainsFunc(supported, func(v any) bool {
		revision, _ := v.(string)
		return slices.Contains(Handshake, revision)
	})
}

// Declares reports whether the server declared a capability.
func (s *Server) Declares(capability string) bool { return s.Capabilities[capability] != nil }

// Info is how the server names itself.
func (s *Server) Info() ServerInfo {
	info, _ := s.Welcome["serverInfo"].(M)
	text := func(key string) string { v, _ := info[key].(string); return v }
	out := ServerInfo{Name: text("name"), Version: text("version"), Tools: len(s.Tools)}
	for name, v := range s.Capabilities {
		if v != nil {
			out.Capabilities = append(out.Capabilities, name)
		}
	}
	slices.Sort(out.Capabilities)
	return out
}

// Objects keeps the items that are JSON objects.
func Objects(items []any) (objects []M) {
	for _, item := range items {
		if m, ok := item.(M); ok {
			objects = append(objects, m)
		}
	}
	return objects
}
