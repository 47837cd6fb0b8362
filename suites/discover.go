package suites

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// Discover learns what a plan depends on: the revision that the server grants when
// asked for one, its capabilities, and what it lists. The session it used comes
// back for others to use.
//
// An error means that the server could not be talked to at all; without a server,
// that there is no such command. A server that answers initialize with something else than a good result is described by
// Server.Failure.
func Discover(ctx context.Context, t driver.Target, requested string) (*harness.Server, *driver.Session, error) {
	server := &harness.Server{Transport: "stdio", Requested: requested, Revision: requested, Fence: "ping", Capabilities: harness.M{}}
	s, r, err := greet(ctx, t, server)
	switch {
	case s == nil && t.Site == nil:
		return nil, nil, err
	case s == nil:
		return server, nil, err
	}
	server.First = r
	if r.Err != nil {
		return server, s, instead(s, r.Err)
	}
	if server.Failure = handshakeFailure(r); server.Failure != "" {
		return server, s, nil
	}
	server.Welcome, server.Revision, server.Capabilities = s.Welcome, s.Revision, s.Capabilities
	server.Sessionless = server.Transport == "http" && s.SessionID() == ""
	s.Confirm()
	if !s.Exchange("ping", nil).Answered() {
		var answers bool
		if s, answers, err = findFence(ctx, t, s, server); err != nil || !answers {
			return server, s, err
		}
	}
	s.Fence = server.Fence
	server.Tools = listed(s, server, "tools", "tools/list", "tools")
	server.Prompts = listed(s, server, "prompts", "prompts/list", "prompts")
	server.Resources = listed(s, server, "resources", "resources/list", "resources")
	server.Templates = listed(s, server, "resources", "resources/templates/list", "resourceTemplates")
	return server, s, nil
}

// greet opens the first session of a run and sends initialize in it. Of a server at
// a URL it finds out which transport it speaks: first Streamable HTTP is tried, then
// HTTP+SSE, as the specification has clients do it.
func greet(ctx context.Context, t driver.Target, server *harness.Server) (s *driver.Session, r driver.Reply, err error) {
	for range mostRedirects {
		if s, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return nil, r, err
		}
		r = s.Initialize(driver.Hello(server.Requested))
		if t.Site == nil {
			return s, r, nil
		}
		server.Transport = t.Site.Transport()
		location, redirected := redirect(r)
		if !redirected {
			break
		}
		s.Close()
		if err := t.Site.Follow(location); err != nil {
			return nil, r, err
		}
	}
	if _, again := redirect(r); again {
		s.Close()
		return nil, r, fmt.Errorf("%s redirects more than %d times", t.Site.URL(), mostRedirects)
	}
	if !older(r) {
		return s, r, nil
	}
	t.Site.SetTransport("sse")
	old, err := driver.Start(ctx, t, driver.Options{})
	if err != nil { // neither transport: what the first one said counts
		t.Site.SetTransport("http")
		return s, r, nil
	}
	s.Close()
	server.Transport = "sse"
	return old, old.Initialize(driver.Hello(server.Requested)), nil
}

// mostRedirects bounds how far redirects are followed.
const mostRedirects = 5

// redirect is where an HTTP redirect points that keeps the method.
func redirect(r driver.Reply) (location string, redirected bool) {
	var none *driver.Unanswered
	if !errors.As(r.Err, &none) || none.HTTP == nil {
		return "", false
	}
	a := none.HTTP.Answer()
	return a.Header.Get("Location"), a.Status == http.StatusTemporaryRedirect || a.Status == http.StatusPermanentRedirect
}

// older reports whether the answer to initialize is one that makes a client try the
// transport of 2024-11-05: an HTTP error of a client, without a JSON-RPC message.
func older(r driver.Reply) bool {
	if !r.Bare() {
		return false
	}
	status := r.Frame.HTTP.Answer().Status
	return status < 500 && status != http.StatusUnauthorized && status != http.StatusForbidden
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

// instead says what a server that did not answer did.
func instead(s *driver.Session, err error) error {
	var silence *driver.Silence
	if !errors.As(err, &silence) {
		return err
	}
	cause := err.Error()
	if came := s.Since(0); len(came) > 0 {
		text := driver.Brief(came[0].Raw)
		if came[0].Shape == driver.NotJSON {
			text = strconv.Quote(text)
		}
		cause += "; instead the server wrote " + text
	}
	return &driver.Death{Cause: cause, Stderr: s.StderrTail()}
}

// findFence finds a list that a server answers which leaves ping unanswered. If
// ping has ended the server, it is started once more; if that ends it as well, it
// cannot be tested. answers reports whether the server answers anything at all.
func findFence(ctx context.Context, t driver.Target, s *driver.Session, server *harness.Server) (open *driver.Session, answers bool, err error) {
	if !s.Alive() {
		s.Close()
		if s, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return s, false, err
		}
		if err = s.Establish(driver.Hello(server.Revision)); err != nil {
			return s, false, err
		}
	}
	var asked []driver.Pending // all at once: a silent server is not waited for several times
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if server.Declares(capability) {
			asked = append(asked, s.Request(capability+"/list", nil))
		}
	}
	deadline := time.Now().Add(s.Patience())
	for _, p := range asked {
		if s.AwaitFor(p, time.Until(deadline)).Answered() {
			server.Fence = p.Method
			return s, true, nil
		}
	}
	var death *driver.Death
	if errors.As(s.Death(), &death) {
		death.Cause += " at the first request after the handshake"
		return s, false, death
	}
	return s, false, nil
}

func listed(s *driver.Session, server *harness.Server, capability, method, member string) []harness.M {
	if !server.Declares(capability) || !s.Alive() {
		return nil
	}
	items, _ := harness.ListAll(s, method, member, nil) // what is wrong with it, a check says
	return harness.Objects(items)
}
