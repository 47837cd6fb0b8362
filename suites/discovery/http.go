package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// initialize opens the first session of a run and sends initialize in it. For a server at a URL it finds out which
// transport the server supports: it tries Streamable HTTP first, then HTTP+SSE, as the specification asks of clients.
func initialize(
	ctx context.Context, t driver.Target, server *check.Server, opened *driver.Session,
) (s *driver.Session, r driver.Reply, err error) {
	s, r, err = connect(ctx, t, server, opened)
	if err != nil || t.Site == nil || !mayBeSSE(s, r) {
		return s, r, err
	}
	sse, err := driver.Start(ctx, t, driver.Options{SSE: true})
	var broken *driver.EndpointError
	switch {
	case err == nil:
		s.Close()
		s, r = sse, sse.Connect(driver.ConnectParams(server.Requested))
	case errors.As(err, &broken) && broken.IsSSE: // the checks of the area sse report what is wrong
		server.Failure = err.Error()
	default: // neither transport works: the answer to the first one counts
		return s, r, nil
	}
	server.Transport = "sse"
	t.Site.UseSSE()
	return s, r, nil
}

// connect opens the first session of a run, unless one was opened over stdio, and sends the first request in it. For a
// server at a URL it follows redirects, and tries again while something in front of the server answers that the server
// is not ready, at most for the start timeout.
func connect(
	ctx context.Context, t driver.Target, server *check.Server, opened *driver.Session,
) (s *driver.Session, r driver.Reply, err error) {
	if opened != nil {
		opened.SetEra(t.Era)
		return opened, opened.Connect(driver.ConnectParams(server.Requested)), nil
	}
	for begin, redirects := time.Now(), 0; redirects <= maxRedirects; {
		if s, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return nil, r, err
		}
		r = s.Connect(driver.ConnectParams(server.Requested))
		if t.Site == nil {
			return s, r, nil
		}
		server.Transport = t.Site.Transport()
		isLate := time.Since(begin)+timing.ConnectRetry >= s.StartTimeout()
		location, redirected := redirectLocation(r)
		switch {
		case redirected:
			redirects++
			err = t.Site.FollowRedirect(s.HTTP().Endpoint(), location)
		case r.IsStatusOnly() && r.HTTPResponse().IsFromIntermediary() && !isLate && ctx.Err() == nil:
			time.Sleep(timing.ConnectRetry)
		default:
			return s, r, nil
		}
		if s.Close(); err != nil {
			return nil, r, err
		}
	}
	return nil, r, fmt.Errorf("%s redirects more than %d times", t.Site.URL(), maxRedirects)
}

// openSecondSession opens two more sessions at once while the first one is open. The returned function reports whether
// the server serves all. Some servers serve only the newest client, and do not answer the others or no longer know
// their sessions; some issue the same id to both, or send responses to the wrong one.
func openSecondSession(ctx context.Context, t driver.Target, first *driver.Session) (all func() bool) {
	if t.Site == nil {
		return func() bool { return true } // each session has a process of its own
	}
	served := make(chan bool, 2)
	for range cap(served) {
		go func() {
			second, err := driver.Start(ctx, t, driver.Options{})
			if err != nil {
				served <- false
				return
			}
			ok := second.Open(driver.ConnectParams(first.Revision)) == nil && isServed(second) &&
				!second.HasCrossTalk() && !haveSameSessionID(first, second)
			second.Close() // this ends some servers
			served <- ok
		}()
	}
	return func() bool {
		one, other := <-served, <-served
		return one && other && isServed(first) && !first.HasCrossTalk()
	}
}

func haveSameSessionID(a, b *driver.Session) bool {
	id := a.HTTP().SessionID()
	return id != "" && id == b.HTTP().SessionID()
}

// isServed reports whether a session gets a response to a no-op request. HTTP 404, which means that there is no such
// session, does not count, nor does 500, as of a server object that serves another client, whatever their bodies say.
func isServed(s *driver.Session) bool {
	r := s.Call(s.NoOp())
	status := r.HTTPResponse().StatusCode
	return r.Answered() && status != http.StatusNotFound && status != http.StatusInternalServerError
}

// reopen opens another session of a server that is known.
func reopen(ctx context.Context, t driver.Target, server *check.Server) (*driver.Session, error) {
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return nil, err
	}
	return s, openKnown(s, server, check.M{})
}

// OpenWithCapabilities opens another session of a server that is known, for a client with these capabilities.
func OpenWithCapabilities(
	ctx context.Context, t driver.Target, server *check.Server, capabilities check.M,
) (*driver.Session, error) {
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return nil, err
	}
	if err := openKnown(s, server, capabilities); err != nil {
		s.Close()
		return nil, err
	}
	s.Call(s.NoOp()) // after its response, the server has handled the end of the handshake
	return s, nil
}

// ToolsForCapabilities returns the tools that a server lists only to clients with these capabilities.
func ToolsForCapabilities(
	ctx context.Context, t driver.Target, server *check.Server, capabilities check.M,
) (others []check.M) {
	if server.OneClient || !server.Declares("tools") {
		return nil
	}
	s, err := OpenWithCapabilities(ctx, t, server, capabilities)
	if err != nil {
		return nil
	}
	defer s.Close()
	all, _ := listedObjects(s, server, "tools", "tools/list", "tools")
	return slices.DeleteFunc(all, func(tool check.M) bool {
		return slices.ContainsFunc(server.Tools, func(known check.M) bool { return known["name"] == tool["name"] })
	})
}

// openKnown opens a session in the era and revision in which the server is known.
func openKnown(s *driver.Session, server *check.Server, capabilities check.M) error {
	s.SetEra(server.Era)
	params := driver.ConnectParams(server.Revision)
	params["capabilities"] = capabilities
	return s.Open(params)
}

// noEndpointReason returns why there is no MCP server at the URL, and what to do: the path does not exist, or a web
// page or an API of another kind is there. It returns "" if there may be a server.
func noEndpointReason(site *driver.Site, r driver.Reply) string {
	a := httpResponseOf(r)
	var found string
	switch page := a.MediaType() == "text/html" && !a.IsFromIntermediary(); {
	case a.StatusCode == http.StatusUnauthorized: // whatever its body is, it may be an MCP server
		return ""
	case page && a.OK():
		found = "but a web page"
	case page:
		found = "but a web server"
	case isNotFound(r):
		found = "there is nothing at this path"
	case r.Err != nil && a.IsOtherJSON() && !looksLikeMessage(a.Body.Bytes()):
		found = "but something that answers other JSON"
	default:
		return ""
	}
	const remedy = "give --url the endpoint with its path, which is often /mcp"
	return fmt.Sprintf("there is no MCP endpoint at %s, %s: %s\n%s", site.URL(), found, a, remedy)
}

// looksLikeMessage reports whether a body may be meant as a message, or as the beginning of one.
func looksLikeMessage(body []byte) bool {
	return slices.ContainsFunc([]string{`"jsonrpc"`, `"result"`, `"error"`}, func(member string) bool {
		return bytes.Contains(body, []byte(member))
	})
}

// httpResponseOf returns the HTTP response to a request, or the zero value over stdio and for a response that carried a
// message.
func httpResponseOf(r driver.Reply) (none driver.HTTPResponse) {
	var unanswered *driver.NoResponseError
	switch {
	case r.IsStatusOnly():
		return r.HTTPResponse()
	case errors.As(r.Err, &unanswered) && unanswered.RoundTrip != nil:
		return unanswered.RoundTrip.Response()
	}
	return none
}

// isNotFound reports whether the response is HTTP 404 without a message.
func isNotFound(r driver.Reply) bool {
	return r.IsStatusOnly() && r.HTTPResponse().StatusCode == http.StatusNotFound
}

const maxRedirects = 5

// redirectLocation returns the target of an HTTP redirect that keeps the method (307, 308).
func redirectLocation(r driver.Reply) (location string, redirected bool) {
	a := httpResponseOf(r)
	redirected = a.StatusCode == http.StatusTemporaryRedirect || a.StatusCode == http.StatusPermanentRedirect
	return a.Header.Get("Location"), redirected
}

// unfollowableRedirect returns the error for a redirect that no client follows: to another origin, or with a status
// that turns the POST into a GET. It returns nil for any other response.
func unfollowableRedirect(site *driver.Site, r driver.Reply) error {
	a := httpResponseOf(r)
	location := a.Header.Get("Location")
	if a.StatusCode < 300 || a.StatusCode >= 400 || location == "" {
		return nil
	}
	var elsewhere *driver.RedirectError
	switch to, err := site.RedirectTarget(location); {
	case errors.As(err, &elsewhere):
		return elsewhere
	case err != nil:
		return nil
	default:
		return &driver.RedirectError{Reason: "no answer to initialize: " + a.String(), To: to}
	}
}

// internalServerError returns the error for a server that answers the first request with HTTP 500 and no message, and
// nil for any other response.
func internalServerError(s *driver.Session, r driver.Reply) error {
	if !r.IsStatusOnly() || r.HTTPResponse().StatusCode != http.StatusInternalServerError {
		return nil
	}
	cause := "the server answers initialize with " + r.HTTPResponse().String()
	return &driver.SessionEndError{Cause: cause, Stderr: s.StderrTail(), Hint: "see its log"}
}

// mayBeSSE reports whether a server may support only the transport of 2024-11-05: its response to initialize has no
// JSON-RPC message. Clients try that transport for fewer statuses; a check reports a server that uses another one.
func mayBeSSE(s *driver.Session, r driver.Reply) bool {
	var none *driver.NoResponseError
	var silent *driver.TimeoutError
	switch {
	case driver.AsLimitError(r.Err) != nil: // the rest is unknown
		return false
	case r.IsStatusOnly():
		status := r.HTTPResponse().StatusCode
		return status != http.StatusUnauthorized && status != http.StatusForbidden
	case errors.As(r.Err, &none):
		return none.RoundTrip.Response().StatusCode != 0
	case errors.As(r.Err, &silent): // some servers open the stream for a POST, too
		return slices.ContainsFunc(s.HTTP().RoundTrips(), func(x *driver.RoundTrip) bool {
			return slices.ContainsFunc(x.Response().Events, driver.StreamEvent.IsEndpoint)
		})
	}
	return false
}

// requiresTLS reports whether the response is that of a TLS server to plain HTTP: some explain it, others send a TLS
// alert.
func requiresTLS(t driver.Target, r driver.Reply) bool {
	if t.Site == nil || !strings.HasPrefix(t.Site.URL(), "http://") {
		return false
	}
	if r.IsStatusOnly() {
		a := r.HTTPResponse()
		return a.StatusCode == http.StatusBadRequest &&
			(bytes.Contains(a.Body.Bytes(), []byte("HTTPS")) || bytes.Contains(a.Body.Bytes(), []byte("SSL-enabled")))
	}
	const alert = `malformed HTTP response "\x15\x03`
	return r.Err != nil && strings.Contains(r.Err.Error(), alert)
}

// answersInBody reports whether a server over HTTP+SSE has put a message into the body of the response to a POST, where
// no client looks for it.
func answersInBody(s *driver.Session) bool {
	return slices.ContainsFunc(s.HTTP().RoundTrips(), func(x *driver.RoundTrip) bool {
		m, _ := driver.Decode(x.Response().Body.Bytes()).(check.M)
		return x.IsAnsweredOnStream() && (check.HasMember(m, "result") || check.HasMember(m, "error"))
	})
}

// requiresSessionID reports whether a server that has issued no session id rejects everything after initialize, as if
// it had.
func requiresSessionID(server *check.Server, s *driver.Session, pong driver.Reply) bool {
	refused := func(a driver.HTTPResponse) bool {
		return a.StatusCode == http.StatusBadRequest || a.StatusCode == http.StatusNotFound
	}
	if !pong.IsStatusOnly() && pong.Error() == nil {
		return false
	}
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if server.Declares(capability) {
			s.Call(capability+"/list", nil)
		}
	}
	return !slices.ContainsFunc(s.HTTP().RoundTrips()[1:], func(x *driver.RoundTrip) bool {
		return x.Method == http.MethodPost && !refused(x.AwaitEnd())
	})
}

// checkAuthorized notes whether the server has answered any request with 401, so that nothing more can be found out
// about it.
func checkAuthorized(server *check.Server, s *driver.Session) {
	for _, x := range s.HTTP().RoundTrips() {
		switch {
		case x.Method != http.MethodPost || x.Response().StatusCode != http.StatusUnauthorized:
			continue
		case x.Header.Get("Authorization") == "":
			server.Failure = "the server wants authorization: give a token with --bearer-env, or a key with --header"
		default:
			server.Failure = "the server does not take the token that was given: it answers with HTTP 401"
		}
		server.Protected = true
	}
}

func responseProgress(sent []*driver.RoundTrip) string {
	last := sent[len(sent)-1]
	a := last.Response()
	switch {
	case a.StatusCode == 0:
		return "no HTTP answer to " + last.Method + " " + last.URL
	case a.IsStream:
		return a.String() + ", a stream without the response"
	case !a.Ended:
		return a.String() + ", whose body does not end"
	}
	return a.String()
}
