package check

import (
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// M is a JSON object.
type M = driver.M

// MaxServerFile is how much of server.json is read, in bytes.
const MaxServerFile = 1 << 20

// Server is what discovery has found out about the server: everything that a plan depends on.
type Server struct {
	Transport string // "stdio", "http" (Streamable HTTP) or "sse" (HTTP+SSE)
	// OneClient says that it serves one session at a time or, over HTTP, mixes several sessions up.
	OneClient bool
	// SilentAfterConnect says that it has answered the connect request, and nothing after it.
	SilentAfterConnect bool
	// Sessionless says that it uses no session id over HTTP.
	Sessionless bool
	// Protected says that it answered the connect request or a list with HTTP status 401.
	Protected bool
	// Requested is the revision that was requested.
	Requested string
	// Revision is the revision that was negotiated.
	Revision string
	// Revisions are the revisions that it is known to support, in order.
	Revisions []string
	// DiscoverError describes its response to server/discover if that is neither a result nor the error for an unknown
	// method.
	DiscoverError string
	// ConnectReply is the reply to the connect request, which is initialize or server/discover.
	ConnectReply driver.Reply
	// ConnectResult is the result in ConnectReply.
	ConnectResult M
	// InitializeReply is the reply to initialize in a process of its own, for a server judged by a modern revision; it
	// may be the zero Reply.
	InitializeReply driver.Reply
	Capabilities    M
	Era             driver.Era // decides how its sessions begin
	// Latency is how long it takes to answer a no-op.
	Latency time.Duration
	// OneRequestAtATime says that it is slow and serves the requests of all clients one after the other, over HTTP.
	OneRequestAtATime bool

	// File is the content of the server.json that it is published with, up to one byte more than MaxServerFile; nil
	// when there is none.
	File []byte

	Tools []M
	// HasAllTools says that its list of tools could be read completely.
	HasAllTools bool
	Prompts     []M
	Resources   []M
	Templates   []M

	// TooLongLists has, by the method of a list, the error with which it was given up because it has too many pages.
	TooLongLists map[string]error

	// Failure says why the connect request failed, or why a protected server's lists could not be obtained; empty when
	// neither is so. With a failure, only the responses to the connect request, or to requests without a valid token,
	// can be tested.
	Failure string
}

// IsModernOnly reports whether initialize was refused because the server supports only revisions without a handshake:
// with one of the error codes that these revisions introduced, and without naming a revision with a handshake.
func IsModernOnly(r driver.Reply) bool {
	code, _ := r.Code()
	return errcode.UnsupportedProtocolVersion <= code && code <= errcode.HeaderMismatch && OfferedRevision(r) == ""
}

// OfferedRevision returns the newest revision with a handshake that an error response names as supported; empty when it
// names none.
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

// IsSlow reports whether the server takes SlowLatency or longer for each response.
func (s *Server) IsSlow() bool { return s.Latency >= timing.SlowLatency }

// Declares reports whether the server has declared a capability.
func (s *Server) Declares(capability string) bool { return s.Capabilities[capability] != nil }

// CanNotify reports whether the server can send messages on its own initiative. Over HTTP it needs a session for that
// or, without a handshake, a stream that the client opens.
func (s *Server) CanNotify() bool { return !s.Sessionless || catalogue.IsModern(s.Revision) }

// Extension returns the settings with which the server declares an extension; nil when it does not.
func (s *Server) Extension(id string) M {
	extensions, _ := s.Capabilities["extensions"].(M)
	settings, _ := extensions[id].(M)
	return settings
}

// Instructions returns the server's instructions from the result of the connect request; empty when there are none.
func (s *Server) Instructions() string {
	text, _ := s.ConnectResult["instructions"].(string)
	return text
}

// ConnectMethod returns the method of the connect request, initialize or server/discover, in the server's revision.
func (s *Server) ConnectMethod() string {
	if catalogue.IsModern(s.Revision) {
		return "server/discover"
	}
	return "initialize"
}

// Identity returns the implementation info of the server: serverInfo of initialize or, without a handshake, its
// counterpart in _meta; nil when there is none.
func (s *Server) Identity() M {
	if !catalogue.IsModern(s.Revision) {
		info, _ := s.ConnectResult["serverInfo"].(M)
		return info
	}
	meta, _ := s.ConnectResult["_meta"].(M)
	info, _ := meta[driver.MetaServer].(M)
	return info
}

// Info returns the description of the server for reports.
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

// Objects returns the items that are JSON objects.
func Objects(items []any) (objects []M) {
	for _, item := range items {
		if m, ok := item.(M); ok {
			objects = append(objects, m)
		}
	}
	return objects
}
