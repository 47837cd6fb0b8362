package check

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// M is a JSON object.
type M = driver.M

// MaxServerFile is how much of server.json is read, in bytes.
const MaxServerFile = 1 << 20

// Server is what discovery learnt of the server: all that a plan may depend on.
type Server struct {
	Transport          string       // "stdio", "http" (Streamable HTTP) or "sse" (HTTP+SSE)
	OneClient          bool         // it serves one session at a time only or, over HTTP, mixes several up
	SilentAfterConnect bool         // it has answered the greeting, and nothing after it
	Sessionless        bool         // over HTTP: there is no session id
	Protected          bool         // over HTTP: the first request or a list was answered with 401
	Requested          string       // revision that was asked for
	Revision           string       // revision that was negotiated
	Revisions          []string     // revisions that the server is known to speak, in order
	DiscoverError      string       // how server/discover was answered, if neither with a result nor as what is unknown
	ConnectReply       driver.Reply // to initialize or server/discover
	ConnectResult      M            // its result
	// to initialize in a process of its own, of a server that is judged without; may be none
	InitializeReply driver.Reply
	Capabilities    M
	Era             driver.Era    // how its sessions go
	Latency         time.Duration // in which it answers a harmless request

	// File is server.json, with which the server is published, up to a byte beyond MaxServerFile; nil when there is
	// none.
	File []byte

	Tools       []M
	HasAllTools bool // the list of tools could be read, all of it
	Prompts     []M
	Resources   []M
	Templates   []M

	TooLongLists map[string]error // by the method of a list, why it was given up: it has more pages than are followed

	// Failure is why the first request failed, or no list could be had of a protected server; empty when neither is so.
	// Nothing else can be tried then, but what a protected server says to those without a good token.
	Failure string
}

// IsModernOnly reports whether initialize was refused by a server of the revisions without a handshake: with one of the
// errors that came up with them, unless it names a revision with one.
func IsModernOnly(r driver.Reply) bool {

	code, _ := r.Code()
	return errcode.UnsupportedProtocolVersion <= code && code <= errcode.HeaderMismatch && OfferedRevision(r) == ""
}

// OfferedRevision is the newest revision with a handshake that the refusal of another one names; empty when it names
// none.
func OfferedRevision(r driver.Reply) (newest string) {
	data, _ := r.Error()["data"].(M)
	supported, _ := data["supported"].([]any)
	for _, v := range supported {
		if revision, _ := v.(string); slices.Contains(catalogue.LegacyRevisions, revision) {
			newest = max(newest, revision)
		}
	}
	return newest
}

// SlowLatency is that of a server of which a run does little but wait for its answers.
const SlowLatency = 500 * time.Millisecond

// IsSlow reports whether the server takes its time for each answer.
func (s *Server) IsSlow() bool { return s.Latency >= SlowLatency }

// Declares reports whether the server declared a capability.
func (s *Server) Declares(capability string) bool { return s.Capabilities[capability] != nil }

// CanNotify reports whether the server has a way to say something by itself: over HTTP it needs a session for that
// or, without a handshake, a stream that the client asks for.
func (s *Server) CanNotify() bool { return !s.Sessionless || catalogue.IsModern(s.Revision) }

// Extension are the settings with which the server declares an extension; nil when it does not.
func (s *Server) Extension(id string) M {
	extensions, _ := s.Capabilities["extensions"].(M)
	settings, _ := extensions[id].(M)
	return settings
}

// Instructions are those that the server gives for its use; empty when there are none.
func (s *Server) Instructions() string {
	text, _ := s.ConnectResult["instructions"].(string)
	return text
}

// ConnectMethod is the method of the request that a session with the server begins with.
func (s *Server) ConnectMethod() string {
	if catalogue.IsModern(s.Revision) {
		return "server/discover"
	}
	return "initialize"
}

// connectName names what a session begins with, in the revision of the server.
func (s *Server) connectName() string {
	if catalogue.IsModern(s.Revision) {
		return "server/discover"
	}
	return "the handshake"
}

// Identity is how the server names itself: in the result of initialize or, without a handshake, in _meta; nil when it
// does not.
func (s *Server) Identity() M {
	if !catalogue.IsModern(s.Revision) {
		info, _ := s.ConnectResult["serverInfo"].(M)
		return info
	}
	meta, _ := s.ConnectResult["_meta"].(M)
	info, _ := meta[driver.MetaServer].(M)
	return info
}

// Info is how the server names itself.
func (s *Server) Info() report.ServerInfo {
	info := s.Identity()
	text := func(key string) string { v, _ := info[key].(string); return v }
	out := report.ServerInfo{Name: text("name"), Version: text("version"), Tools: len(s.Tools), Revisions: s.Revisions}
	out.DiscoverError, out.OneClient = s.DiscoverError, s.OneClient
	out.Empty = s.ConnectResult != nil && s.HasAllTools && len(s.Tools) == 0 &&
		!s.Declares("resources") && !s.Declares("prompts")
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
