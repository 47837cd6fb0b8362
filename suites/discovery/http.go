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
)

// initialize opens the first session of a run and sends initialize in it. Of a server at a URL it finds out which
// transport it speaks: first Streamable HTTP is tried, then HTTP+SSE, as the specification has clients do it.
func initialize(
	ctx context.Context,
	t driver.Target,
	server *check.Server,
	opened *driver.Session,
) (s *driver.Session, r driver.Reply, err error) {
	s, r, err = connect(ctx, t, server, opened)
	if err != nil || t.Site == nil || !mayBeSSE(s, r) {
		return s, r, err
	}
	old, err := driver.Start(ctx, t, driver.Options{SSE: true})
	var broken *driver.EndpointError
	switch {
	case err == nil:
		s.Close()
		s, r = old, old.Connect(driver.ConnectParams(server.Requested))
	case errors.As(err, &broken) && broken.IsSSE: // the checks of the area sse say what is wrong
		server.Failure = err.Error()
	default: // neither transport: what the first one said counts
		return s, r, nil
	}
	server.Transport = "sse"
	t.Site.SetTransport("sse")
	return s, r, nil
}

// connect opens the first session of a run, unless one was opened over stdio, and greets the server. It goes where a
// server at a URL redirects it, and waits until that is there.
func connect(
	ctx context.Context,
	t driver.Target,
	server *check.Server,
	opened *driver.Session,
) (s *driver.Session, r driver.Reply, err error) {
	if opened != nil {
		opened.SetEra(t.Era)
		return opened, opened.Connect(driver.ConnectParams(server.Requested)), nil
	}
	for range maxRedirects {
		if s, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return nil, r, err
		}
		r = s.Connect(driver.ConnectParams(server.Requested))
		if t.Site == nil {
			return s, r, nil
		}
		server.Transport = t.Site.Transport()
		location, redirected := redirectLocation(r)
		if !redirected {
			return connectWhenReady(ctx, t, server, s, r)
		}
		s.Close()
		if err := t.Site.FollowRedirect(s.HTTP().Endpoint(), location); err != nil {
			return nil, r, err
		}
	}
	return nil, r, fmt.Errorf("%s redirects more than %d times", t.Site.URL(), maxRedirects)
}

// connectWhenReady greets the server again while something in front of the server says that it is not there yet, at
// most as long as a server may take to start.
func connectWhenReady(
	ctx context.Context,
	t driver.Target,
	server *check.Server,
	s *driver.Session,
	r driver.Reply,
) (*driver.Session, driver.Reply, error) {
	const interval = 200 * time.Millisecond
	deadline := time.Now().Add(s.StartTimeout())
	for r.IsStatusOnly() && r.Frame.RoundTrip.Response().IsFromIntermediary() &&
		time.Now().Add(interval).Before(deadline) && ctx.Err() == nil {
		time.Sleep(interval)
		s.Close()
		var err error
		if s, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return nil, r, err
		}
		r = s.Connect(driver.ConnectParams(server.Requested))
	}
	return s, r, nil
}

// openSecondSession opens a second session beside the first one; the returned function reports whether the server
// serves both. Some serve the newest client only, and do not answer the others or do not know their sessions any more;
// some give both the same id, or send each what is for the other.
func openSecondSession(ctx context.Context, t driver.Target, first *driver.Session) (both func() bool) {
	if t.Site == nil {
		return func() bool { return true } // each session has a process of its own
	}
	served := make(chan bool, 1)
	go func() {
		second, err := driver.Start(ctx, t, driver.Options{})
		if err != nil {
			served <- false
			return
		}
		well := second.Open(driver.ConnectParams(first.Revision)) == nil && isServed(second) &&
			!second.HasCrossTalk() && !haveSameSessionID(first, second)
		second.Close() // which ends some servers
		served <- well
	}()
	return func() bool { return <-served && isServed(first) && !first.HasCrossTalk() }
}

// haveSameSessionID reports whether the server has issued one session id for two sessions.
func haveSameSessionID(a, b *driver.Session) bool {
	id := a.HTTP().SessionID()
	return id != "" && id == b.HTTP().SessionID()
}

// isServed reports whether a session gets an answer; that there is no such session is none, whatever the words.
func isServed(s *driver.Session) bool {
	r := s.Call(s.NoOp())
	return r.Answered() && (r.Frame.RoundTrip == nil || r.Frame.RoundTrip.Response().StatusCode != http.StatusNotFound)
}

// reopen opens a session once more, as the one before.
func reopen(ctx context.Context, t driver.Target, server *check.Server) (*driver.Session, error) {
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return nil, err
	}
	return s, openKnown(s, server)
}

// OpenWithCapabilities opens a further session of a server that is known, of a client with these capabilities.
func OpenWithCapabilities(
	ctx context.Context, t driver.Target, server *check.Server, capabilities check.M,
) (*driver.Session, error) {
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return nil, err
	}
	s.SetEra(server.Era)
	hello := driver.ConnectParams(server.Revision)
	hello["capabilities"] = capabilities
	if err := s.Open(hello); err != nil {
		s.Close()
		return nil, err
	}
	s.Call(s.NoOp()) // what the server does once the session is established, it has done then
	return s, nil
}

// ToolsForCapabilities are the tools that a server lists to a client with these capabilities, and has not listed
// without.
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

// openKnown establishes a session as the one by which the server was learnt to know.
func openKnown(s *driver.Session, server *check.Server) error {
	s.SetEra(server.Era)
	return s.Open(driver.ConnectParams(server.Revision))
}

// noEndpointReason says that nothing of MCP is at the URL, and what to do: there is nothing at all, a web page, or an
// API of another kind; empty when there may be.
func noEndpointReason(site *driver.Site, r driver.Reply) string {
	a := httpResponseOf(r)
	var found string
	switch page := a.MediaType() == "text/html" && !a.IsFromIntermediary(); {
	case a.StatusCode == http.StatusUnauthorized: // whatever the page says, it may be one
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

// looksLikeMessage reports whether a body may be meant as a message, if only the beginning of one.
func looksLikeMessage(body []byte) bool {
	return slices.ContainsFunc([]string{`"jsonrpc"`, `"result"`, `"error"`}, func(member string) bool {
		return bytes.Contains(body, []byte(member))
	})
}

// httpResponseOf is the HTTP answer to a request; none over stdio, or where it carried a message.
func httpResponseOf(r driver.Reply) (none driver.HTTPResponse) {
	var unanswered *driver.NoResponseError
	switch {
	case r.IsStatusOnly():
		return r.Frame.RoundTrip.Response()
	case errors.As(r.Err, &unanswered) && unanswered.RoundTrip != nil:
		return unanswered.RoundTrip.Response()
	}
	return none
}

// isNotFound reports whether the URL is the address of nothing.
func isNotFound(r driver.Reply) bool {
	return r.IsStatusOnly() && r.Frame.RoundTrip.Response().StatusCode == http.StatusNotFound
}

// maxRedirects bounds how far redirects are followed.
const maxRedirects = 5

// redirectLocation is where an HTTP redirect points that keeps the method.
func redirectLocation(r driver.Reply) (location string, redirected bool) {
	a := httpResponseOf(r)
	redirected = a.StatusCode == http.StatusTemporaryRedirect || a.StatusCode == http.StatusPermanentRedirect
	return a.Header.Get("Location"), redirected
}

// unfollowableRedirect is the error of a server that redirects where no client follows: to another origin, or in a way
// that makes a GET of the message. It is nil where the server does not.
func unfollowableRedirect(site *driver.Site, r driver.Reply) error {
	a := httpResponseOf(r)
	location := a.Header.Get("Location")
	if a.StatusCode < 300 || a.StatusCode >= 400 || location == "" {
		return nil
	}
	var elsewhere *driver.CrossOriginRedirectError
	switch to, err := site.RedirectTarget(location); {
	case errors.As(err, &elsewhere):
		return elsewhere
	case err != nil:
		return nil
	default:
		return &RedirectError{"no answer to initialize: " + a.String(), to}
	}
}

// RedirectError says that a server redirects within its origin in a way that makes a GET of the message.
type RedirectError struct{ Reason, To string }

func (e *RedirectError) Error() string { return e.Reason }

// internalServerError is the error of a server that answers the greeting with HTTP 500 and no message; nil where it
// does not.
func internalServerError(s *driver.Session, r driver.Reply) error {
	if !r.IsStatusOnly() || r.Frame.RoundTrip.Response().StatusCode != http.StatusInternalServerError {
		return nil
	}
	return &driver.SessionEndError{
		Cause:  "the server answers initialize with " + r.Frame.RoundTrip.Response().String(),
		Stderr: s.StderrTail(), Hint: "see its log",
	}
}

// mayBeSSE reports whether a server may be one of the transport of 2024-11-05: there is no JSON-RPC message in its
// answer to initialize. Clients try that transport for fewer statuses; that a server uses one of those, a check says.
func mayBeSSE(s *driver.Session, r driver.Reply) bool {
	var none *driver.NoResponseError
	var silent *driver.TimeoutError
	switch {
	case driver.AsLimitError(r.Err) != nil: // nobody knows what the rest of it is
		return false
	case r.IsStatusOnly():
		status := r.Frame.RoundTrip.Response().StatusCode
		return status != http.StatusUnauthorized && status != http.StatusForbidden
	case errors.As(r.Err, &none):
		return none.RoundTrip.Response().StatusCode != 0
	case errors.As(r.Err, &silent): // the stream is opened for a POST, too
		return slices.ContainsFunc(s.HTTP().RoundTrips(), func(x *driver.RoundTrip) bool {
			return slices.ContainsFunc(x.Response().Events, driver.StreamEvent.IsEndpoint)
		})
	}
	return false
}

// requiresTLS reports whether what came is how servers of TLS answer plain HTTP: some say so, others send a TLS alert.
func requiresTLS(t driver.Target, r driver.Reply) bool {
	if t.Site == nil || !strings.HasPrefix(t.Site.URL(), "http://") {
		return false
	}
	if r.IsStatusOnly() {
		a := r.Frame.RoundTrip.Response()
		return a.StatusCode == http.StatusBadRequest &&
			(bytes.Contains(a.Body.Bytes(), []byte("HTTPS")) || bytes.Contains(a.Body.Bytes(), []byte("SSL-enabled")))
	}
	const alert = `malformed HTTP response "\x15\x03`
	return r.Err != nil && strings.Contains(r.Err.Error(), alert)
}

// answersInBody reports whether a server of HTTP+SSE has put a message where no client looks for it: into the body of a
// POST.
func answersInBody(s *driver.Session) bool {
	return slices.ContainsFunc(s.HTTP().RoundTrips(), func(x *driver.RoundTrip) bool {
		m, _ := driver.Decode(x.Response().Body.Bytes()).(check.M)
		return x.IsAnsweredOnStream() && (check.HasMember(m, "result") || check.HasMember(m, "error"))
	})
}

// requiresSessionID reports whether a server that has issued no session id refuses all that follows initialize, as if
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

// checkAuthorized finds out whether the server has answered anything with 401. Then nothing can be said of the rest of
// it.
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

// responseProgress says how far the answer over HTTP has got.
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
