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

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// greet opens the first session of a run and sends initialize in it. Of a server at a URL it finds out which transport
// it speaks: first Streamable HTTP is tried, then HTTP+SSE, as the specification has clients do it.
func greet(
	ctx context.Context,
	t driver.Target,
	server *harness.Server,
	opened *driver.Session,
) (s *driver.Session, r driver.Reply, err error) {
	s, r, err = knock(ctx, t, server, opened)
	if err != nil || t.Site == nil || !older(s, r) {
		return s, r, err
	}
	old, err := driver.Start(ctx, t, driver.Options{SSE: true})
	var broken *driver.NoEndpoint
	switch {
	case err == nil:
		s.Close()
		s, r = old, old.Greet(driver.Hello(server.Requested))
	case errors.As(err, &broken) && broken.Speaks: // the checks of the area sse say what is wrong
		server.Failure = err.Error()
	default: // neither transport: what the first one said counts
		return s, r, nil
	}
	server.Transport = "sse"
	t.Site.SetTransport("sse")
	return s, r, nil
}

// knock opens the first session of a run, unless one was opened over stdio, and greets the server. It goes where a
// server at a URL redirects it, and waits until that is there.
func knock(
	ctx context.Context,
	t driver.Target,
	server *harness.Server,
	opened *driver.Session,
) (s *driver.Session, r driver.Reply, err error) {
	if opened != nil {
		opened.SetEra(t.Era)
		return opened, opened.Greet(driver.Hello(server.Requested)), nil
	}
	for range mostRedirects {
		if s, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return nil, r, err
		}
		r = s.Greet(driver.Hello(server.Requested))
		if t.Site == nil {
			return s, r, nil
		}
		server.Transport = t.Site.Transport()
		location, redirected := redirect(r)
		if !redirected {
			return whenReady(ctx, t, server, s, r)
		}
		s.Close()
		if err := t.Site.Follow(s.HTTP().Endpoint(), location); err != nil {
			return nil, r, err
		}
	}
	return nil, r, fmt.Errorf("%s redirects more than %d times", t.Site.URL(), mostRedirects)
}

// whenReady greets the server again while something in front of the server says that it is not there yet, at most as
// long as a server may take to start.
func whenReady(
	ctx context.Context,
	t driver.Target,
	server *harness.Server,
	s *driver.Session,
	r driver.Reply,
) (*driver.Session, driver.Reply, error) {
	const interval = 200 * time.Millisecond
	deadline := time.Now().Add(s.StartPatience())
	for r.Bare() && r.Frame.HTTP.Answer().Foreign() && time.Now().Add(interval).Before(deadline) && ctx.Err() == nil {
		time.Sleep(interval)
		s.Close()
		var err error
		if s, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return nil, r, err
		}
		r = s.Greet(driver.Hello(server.Requested))
	}
	return s, r, nil
}

// serveTwo opens a second session beside the first one; the returned function reports whether the server serves both.
// Some serve the newest client only, and do not answer the others or do not know their sessions any more; some give
// both the same id, or send each what is for the other.
func serveTwo(ctx context.Context, t driver.Target, first *driver.Session) (both func() bool) {
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
		well := second.Establish(driver.Hello(first.Revision)) == nil && isServed(second) &&
			!second.Crossed() && !haveSameID(first, second)
		second.Close() // which ends some servers
		served <- well
	}()
	return func() bool { return <-served && isServed(first) && !first.Crossed() }
}

// haveSameID reports whether the server has issued one session id for two sessions.
func haveSameID(a, b *driver.Session) bool {
	id := a.HTTP().SessionID()
	return id != "" && id == b.HTTP().SessionID()
}

// isServed reports whether a session gets an answer; that there is no such session is none, whatever the words.
func isServed(s *driver.Session) bool {
	r := s.Exchange(s.Harmless())
	return r.Answered() && (r.Frame.HTTP == nil || r.Frame.HTTP.Answer().Status != http.StatusNotFound)
}

// again opens a session once more, as the one before.
func again(ctx context.Context, t driver.Target, server *harness.Server) (*driver.Session, error) {
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return nil, err
	}
	return s, asBefore(s, server)
}

// As opens a further session of a server that is known, of a client with these capabilities.
func As(
	ctx context.Context, t driver.Target, server *harness.Server, capabilities harness.M,
) (*driver.Session, error) {
	s, err := driver.Start(ctx, t, driver.Options{})
	if err != nil {
		return nil, err
	}
	s.SetEra(server.Era)
	hello := driver.Hello(server.Revision)
	hello["capabilities"] = capabilities
	if err := s.Establish(hello); err != nil {
		s.Close()
		return nil, err
	}
	s.Exchange(s.Harmless()) // what the server does once the session is established, it has done then
	return s, nil
}

// OtherTools are the tools that a server lists to a client with these capabilities, and has not listed without.
func OtherTools(
	ctx context.Context, t driver.Target, server *harness.Server, capabilities harness.M,
) (others []harness.M) {
	if server.OneClient || !server.Declares("tools") {
		return nil
	}
	s, err := As(ctx, t, server, capabilities)
	if err != nil {
		return nil
	}
	defer s.Close()
	all, _ := listed(s, server, "tools", "tools/list", "tools")
	return slices.DeleteFunc(all, func(tool harness.M) bool {
		return slices.ContainsFunc(server.Tools, func(known harness.M) bool { return known["name"] == tool["name"] })
	})
}

// asBefore establishes a session as the one by which the server was learnt to know.
func asBefore(s *driver.Session, server *harness.Server) error {
	s.SetEra(server.Era)
	return s.Establish(driver.Hello(server.Revision))
}

// noEndpoint says that nothing of MCP is at the URL, and what to do: there is nothing at all, a web page, or an API of
// another kind; empty when there may be.
func noEndpoint(site *driver.Site, r driver.Reply) string {
	a := answerTo(r)
	var found string
	switch page := a.MediaType() == "text/html" && !a.Foreign(); {
	case a.Status == http.StatusUnauthorized: // whatever the page says, it may be one
		return ""
	case page && a.OK():
		found = "but a web page"
	case page:
		found = "but a web server"
	case isNotFound(r):
		found = "there is nothing at this path"
	case r.Err != nil && a.IsOtherJSON() && !meantForClients(a.Body.Bytes()):
		found = "but something that answers other JSON"
	default:
		return ""
	}
	const remedy = "give --url the endpoint with its path, which is often /mcp"
	return fmt.Sprintf("there is no MCP endpoint at %s, %s: %s\n%s", site.URL(), found, a, remedy)
}

// meantForClients reports whether a body may be meant as a message, if only the beginning of one.
func meantForClients(body []byte) bool {
	return slices.ContainsFunc([]string{`"jsonrpc"`, `"result"`, `"error"`}, func(member string) bool {
		return bytes.Contains(body, []byte(member))
	})
}

// answerTo is the HTTP answer to a request; none over stdio, or where it carried a message.
func answerTo(r driver.Reply) (none driver.Answer) {
	var unanswered *driver.Unanswered
	switch {
	case r.Bare():
		return r.Frame.HTTP.Answer()
	case errors.As(r.Err, &unanswered) && unanswered.HTTP != nil:
		return unanswered.HTTP.Answer()
	}
	return none
}

// isNotFound reports whether the URL is the address of nothing.
func isNotFound(r driver.Reply) bool {
	return r.Bare() && r.Frame.HTTP.Answer().Status == http.StatusNotFound
}

// mostRedirects bounds how far redirects are followed.
const mostRedirects = 5

// redirect is where an HTTP redirect points that keeps the method.
func redirect(r driver.Reply) (location string, redirected bool) {
	a := answerTo(r)
	redirected = a.Status == http.StatusTemporaryRedirect || a.Status == http.StatusPermanentRedirect
	return a.Header.Get("Location"), redirected
}

// sentAway is the error of a server that redirects where no client follows: to another origin, or in a way that makes a
// GET of the message. It is nil where the server does not.
func sentAway(site *driver.Site, r driver.Reply) error {
	a := answerTo(r)
	location := a.Header.Get("Location")
	if a.Status < 300 || a.Status >= 400 || location == "" {
		return nil
	}
	var elsewhere *driver.Elsewhere
	switch to, err := site.Target(location); {
	case errors.As(err, &elsewhere):
		return elsewhere
	case err != nil:
		return nil
	default:
		return &Redirected{"no answer to initialize: " + a.String(), to}
	}
}

// Redirected says that a server redirects within its origin in a way that makes a GET of the message.
type Redirected struct{ Why, To string }

func (e *Redirected) Error() string { return e.Why }

// failing is the error of a server that answers the greeting with HTTP 500 and no message; nil where it does not.
func failing(s *driver.Session, r driver.Reply) error {
	if !r.Bare() || r.Frame.HTTP.Answer().Status != http.StatusInternalServerError {
		return nil
	}
	return &driver.Death{
		Cause:  "the server answers initialize with " + r.Frame.HTTP.Answer().String(),
		Stderr: s.StderrTail(), Hint: "see its log",
	}
}

// older reports whether a server may be one of the transport of 2024-11-05: there is no JSON-RPC message in its answer
// to initialize. Clients try that transport for fewer statuses; that a server uses one of those, a check says.
func older(s *driver.Session, r driver.Reply) bool {
	var none *driver.Unanswered
	var silent *driver.Silence
	switch {
	case driver.ExcessOf(r.Err) != nil: // nobody knows what the rest of it is
		return false
	case r.Bare():
		status := r.Frame.HTTP.Answer().Status
		return status != http.StatusUnauthorized && status != http.StatusForbidden
	case errors.As(r.Err, &none):
		return none.HTTP.Answer().Status != 0
	case errors.As(r.Err, &silent): // the stream is opened for a POST, too
		return slices.ContainsFunc(s.HTTP().Exchanges(), func(x *driver.Exchange) bool {
			return slices.ContainsFunc(x.Answer().Events, driver.StreamEvent.IsEndpoint)
		})
	}
	return false
}

// wantsTLS reports whether what came is how servers of TLS answer plain HTTP: some say so, others send a TLS alert.
func wantsTLS(t driver.Target, r driver.Reply) bool {
	if t.Site == nil || !strings.HasPrefix(t.Site.URL(), "http://") {
		return false
	}
	if r.Bare() {
		a := r.Frame.HTTP.Answer()
		return a.Status == http.StatusBadRequest &&
			(bytes.Contains(a.Body.Bytes(), []byte("HTTPS")) || bytes.Contains(a.Body.Bytes(), []byte("SSL-enabled")))
	}
	const alert = `malformed HTTP response "\x15\x03`
	return r.Err != nil && strings.Contains(r.Err.Error(), alert)
}

// inBody reports whether a server of HTTP+SSE has put a message where no client looks for it: into the body of a POST.
func inBody(s *driver.Session) bool {
	return slices.ContainsFunc(s.HTTP().Exchanges(), func(x *driver.Exchange) bool {
		m, _ := driver.Decode(x.Answer().Body.Bytes()).(harness.M)
		return x.Elsewhere() && (harness.Has(m, "result") || harness.Has(m, "error"))
	})
}

// wantsSession reports whether a server that has issued no session id refuses all that follows initialize, as if it
// had.
func wantsSession(server *harness.Server, s *driver.Session, pong driver.Reply) bool {
	refused := func(a driver.Answer) bool {
		return a.Status == http.StatusBadRequest || a.Status == http.StatusNotFound
	}
	if !pong.Bare() && pong.Error() == nil {
		return false
	}
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if server.Declares(capability) {
			s.Exchange(capability+"/list", nil)
		}
	}
	return !slices.ContainsFunc(s.HTTP().Exchanges()[1:], func(x *driver.Exchange) bool {
		return x.Method == http.MethodPost && !refused(x.End())
	})
}

// checkAuthorized finds out whether the server has answered anything with 401. Then nothing can be said of the rest of
// it.
func checkAuthorized(server *harness.Server, s *driver.Session) {
	for _, x := range s.HTTP().Exchanges() {
		switch {
		case x.Method != http.MethodPost || x.Answer().Status != http.StatusUnauthorized:
			continue
		case x.Header.Get("Authorization") == "":
			server.Failure = "the server wants authorization: give a token with --bearer-env, or a key with --header"
		default:
			server.Failure = "the server does not take the token that was given: it answers with HTTP 401"
		}
		server.Protected = true
	}
}

// unfinished says how far the answer over HTTP has got.
func unfinished(sent []*driver.Exchange) string {
	last := sent[len(sent)-1]
	a := last.Answer()
	switch {
	case a.Status == 0:
		return "no HTTP answer to " + last.Method + " " + last.URL
	case a.IsStream:
		return a.String() + ", a stream without the response"
	case !a.Ended:
		return a.String() + ", whose body does not end"
	}
	return a.String()
}
