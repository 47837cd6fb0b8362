package harness

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// M is a JSON object.
type M = driver.M

// Server is what discovery learnt of the server: all that a plan may depend on.
type Server struct {
	Transport    string       // "stdio", "http" (Streamable HTTP) or "sse" (HTTP+SSE)
	OneClient    bool         // over HTTP: it serves one session at a time only
	Sessionless  bool         // over HTTP: initialize brought no session id
	Protected    bool         // over HTTP: initialize or a list was answered with 401
	Requested    string       // revision that was asked for
	Revision     string       // revision that was negotiated
	First        driver.Reply // to initialize
	Welcome      M            // its result
	Capabilities M
	Era          driver.Era // how its sessions go

	Tools     []M
	Prompts   []M
	Resources []M
	Templates []M

	// Failure is why the handshake failed, or no list could be had of a protected server; empty when neither is so.
	// Nothing else can be tried then, but what a protected server says to those without a good token.
	Failure string
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

// maxPages bounds how far a list is followed.
const maxPages = 2000

// EachPage follows a paginated list to its end and visits the results, whose member is the array. Asked in a session of
// any state; it fails on the first page that is not a list.
func EachPage(s *driver.Session, method, member string, params M, visit func(result M)) error {
	cursors := map[string]bool{}
	for range maxPages {
		r := s.Exchange(method, params)
		switch {
		case r.Err != nil:
			return r.Err
		case r.Result() == nil:
			return fmt.Errorf("%s was answered with %s", method, Got(r))
		}
		if _, ok := r.Result()[member].([]any); !ok {
			return fmt.Errorf("the result of %s has no array %q", method, member)
		}
		visit(r.Result())
		cursor, _ := r.Result()["nextCursor"].(string)
		if cursor == "" || cursors[cursor] {
			return nil
		}
		cursors[cursor] = true
		next := M{"cursor": cursor}
		for k, v := range params {
			if k != "cursor" {
				next[k] = v
			}
		}
		params = next
	}
	return fmt.Errorf("%s has more than %d pages", method, maxPages)
}

// ListAll returns the items of all pages of a list.
func ListAll(s *driver.Session, method, member string, params M) (items []any, err error) {
	err = EachPage(s, method, member, params, func(result M) {
		page, _ := result[member].([]any)
		items = append(items, page...)
	})
	return items, err
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
