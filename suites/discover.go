package suites

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// Discover learns what a plan depends on: the revision that the server grants when
// asked for one, its capabilities, and what it lists. The session it used comes
// back for others to use.
//
// An error means that the server could not be talked to at all. A server that
// answers initialize with something else than a good result is described by
// Server.Failure.
func Discover(ctx context.Context, t driver.Target, requested string) (*harness.Server, *driver.Session, error) {
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return nil, nil, err
	}
	server := &harness.Server{Transport: "stdio", Requested: requested, Revision: requested, Fence: "ping", Capabilities: harness.M{}}
	r := s.Initialize(driver.Hello(requested))
	server.First = r
	if r.Err != nil {
		return server, s, r.Err
	}
	if server.Failure = handshakeFailure(r); server.Failure != "" {
		return server, s, nil
	}
	server.Welcome, server.Revision, server.Capabilities = s.Welcome, s.Revision, s.Capabilities
	s.Confirm()
	server.Fence = findFence(s)
	s.Fence = server.Fence
	server.Tools = listed(s, server, "tools", "tools/list", "tools")
	server.Prompts = listed(s, server, "prompts", "prompts/list", "prompts")
	server.Resources = listed(s, server, "resources", "resources/list", "resources")
	server.Templates = listed(s, server, "resources", "resources/templates/list", "resourceTemplates")
	return server, s, nil
}

// handshakeFailure says what is wrong with the answer to initialize; empty when a
// session can be had.
func handshakeFailure(r driver.Reply) string {
	if r.Result() == nil {
		return "initialize was answered with " + harness.Got(r)
	}
	version := harness.Member(r.Result(), "protocolVersion")
	if v, ok := version.(string); !ok || !slices.Contains(harness.Handshake, v) {
		return fmt.Sprintf("the server negotiated protocolVersion %s, which is no handshake revision", harness.Show(version))
	}
	return ""
}

// findFence is a request that the server answers: ping, and a list for the server
// that leaves ping unanswered.
func findFence(s *driver.Session) string {
	if s.Exchange("ping", nil).Answered() {
		return "ping"
	}
	for _, family := range []string{"tools", "prompts", "resources"} {
		if method := family + "/list"; s.Capabilities[family] != nil && s.Exchange(method, nil).Answered() {
			return method
		}
	}
	return "ping"
}

func listed(s *driver.Session, server *harness.Server, capability, method, member string) []harness.M {
	if !server.Declares(capability) || !s.Alive() {
		return nil
	}
	items, _ := harness.ListAll(s, method, member, nil) // what is wrong with it, a check says
	return harness.Objects(items)
}
