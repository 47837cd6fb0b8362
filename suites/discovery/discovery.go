// Package discovery finds out what a server is: its transport, the revisions and the era that it supports, its
// capabilities and its lists.
//
// It sends only what any client sends, and judges nothing: checks report what is wrong with a server's responses. It
// returns the sessions that others can use, and ends all others that it opened.
//
// Begin with Find, which selects the revision and returns a Found, and Inspect, which does the same for a given
// revision. Both return a check.Server also for a server that answers incorrectly; its field Failure says how. An error
// means that the server cannot be tested, or not in the requested revision.
package discovery

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Inspect finds out what a plan depends on: the revision that the server grants when a client requests one, its
// capabilities, and its lists. It also returns the session in which it did, for others to use.
//
// An error means that the server did not answer, or does not support the revision (*UnsupportedRevisionError). The
// server is nil if its command cannot be started. For a server that answers the first request with something else than
// a valid result, Server.Failure says what is wrong. A server that rejects initialize and names another revision is
// asked for that one.
func Inspect(ctx context.Context, t driver.Target, requested string) (*check.Server, *driver.Session, error) {
	return inspect(ctx, t, requested, nil, func() {})
}

// inspect is Inspect in a session that was opened before, unless that is nil. It calls onSupported when a server
// without a handshake has proved to support the revision, so that only its lists are missing.
func inspect(
	ctx context.Context, t driver.Target, requested string, opened *driver.Session, onSupported func(),
) (*check.Server, *driver.Session, error) {
	if catalogue.IsModern(requested) {
		return inspectModern(ctx, t, newServer(t, requested), opened, onSupported)
	}
	server, s, err := inspectLegacy(ctx, t, newServer(t, requested), opened)
	if err != nil || server.Failure == "" {
		return server, s, err
	}
	offered := check.OfferedRevision(server.ConnectReply)
	if offered == "" || offered == requested {
		return server, s, nil
	}
	s.Close()
	return inspectLegacy(ctx, t, newServer(t, offered), nil)
}

// newServer returns a server of which only the transport is known.
func newServer(t driver.Target, requested string) *check.Server {
	server := &check.Server{
		Transport: "stdio", Requested: requested, Revision: requested,
		Era: driver.Legacy{}, Capabilities: check.M{},
	}
	if t.Site != nil {
		server.Transport = t.Site.Transport()
	}
	return server
}

// UnsupportedRevisionError says that a server does not support a revision.
type UnsupportedRevisionError struct {
	Reason string
	// Supported holds the revisions that the server supports, as far as they are known.
	Supported []string
}

func (e *UnsupportedRevisionError) Error() string { return e.Reason }

// inspectLegacy requests a revision with a handshake.
func inspectLegacy(
	ctx context.Context, t driver.Target, server *check.Server, opened *driver.Session,
) (*check.Server, *driver.Session, error) {
	s, r, err := initialize(ctx, t, server, opened)
	if s == nil {
		return serverWithoutSession(t, server), nil, err
	}
	server.ConnectReply = r
	switch {
	case server.Failure != "":
		return server, s, nil
	case r.Err != nil && answersInBody(s):
		server.Failure = "initialize was answered in the body of the POST, and not on the event stream"
		return server, s, nil
	}
	if err := cmp.Or(connectError(ctx, t, s, r), internalServerError(s, r)); err != nil {
		return server, s, err
	}
	if check.IsModernOnly(r) {
		why := fmt.Sprintf("the server speaks %s or later only: give --protocol %[1]s", catalogue.ModernRevisions[0])
		return server, s, &UnsupportedRevisionError{Reason: why}
	}
	if server.Failure = initializeFailure(r); server.Failure != "" {
		checkAuthorized(server, s)
		return server, s, nil
	}
	server.ConnectResult, server.Revision, server.Capabilities = s.ConnectResult, s.Revision, s.Capabilities
	server.Sessionless = server.Transport == "http" && s.HTTP().SessionID() == ""
	s.FinishConnect()
	pong := s.Call("ping", nil)
	server.Latency, _ = measureLatency(s, pong) // it may have been busy with what it sends after the handshake
	if server.Sessionless && requiresSessionID(server, s, pong) {
		server.Failure = "initialize brought no session id, and yet the server serves nothing without one: " +
			check.Got(pong)
		return server, s, nil
	}
	if !pong.Answered() {
		var answers bool
		asked := s
		if s, answers, err = findNoOp(ctx, t, s, server); err == nil && !answers && s == asked {
			_, err = pong.AwaitLate(s.StartTimeout())
		}
		if server.SilentAfterConnect = err == nil && !answers; err != nil || !answers {
			return server, s, err
		}
	}
	s.SetEra(server.Era)
	return listFeatures(ctx, t, s, server)
}

// serverWithoutSession returns a server with which no session could be opened. It is nil over stdio, since the command
// cannot be started.
func serverWithoutSession(t driver.Target, server *check.Server) *check.Server {
	if t.Site == nil {
		return nil
	}
	return server
}

// connectError returns why nothing is known about a server to which the client has tried to connect: it did not answer,
// or is not an MCP server. It returns nil if the server answered.
func connectError(ctx context.Context, t driver.Target, s *driver.Session, r driver.Reply) error {
	if redirectErr := unfollowableRedirect(t.Site, r); redirectErr != nil {
		return redirectErr
	}
	switch reason := noEndpointReason(t.Site, r); {
	case requiresTLS(t, r): // before the others, because some web servers answer with a page
		return fmt.Errorf("the server speaks TLS at %s: is the URL https:// in place of http://?", t.Site.URL())
	case reason != "":
		return errors.New(reason)
	case r.Err != nil:
		return noAnswerError(s, r.Err, func() string {
			if r.Method != "initialize" {
				return ""
			}
			return silenceHint(ctx, t, catalogue.NewestLegacy)
		})
	}
	return nil
}

// listFeatures reads the lists of a server that serves a session, and finds out whether it serves a second one.
func listFeatures(
	ctx context.Context, t driver.Target, s *driver.Session, server *check.Server,
) (*check.Server, *driver.Session, error) {
	serves := openSecondSession(ctx, t, s)
	readLists(s, server)
	checkAuthorized(server, s)
	if serves() {
		took, refusal := sendTogether(t, s)
		server.OneRequestAtATime = server.IsSlow() && took > (requestsTogether-1)*server.Latency
		if refusal == 0 {
			return server, s, nil
		}
	}
	s.Close()
	server.OneClient = true
	s, err := reopen(ctx, t, server)
	if err == nil {
		if t.Site != nil && !isServed(s) {
			t.Site.CloseStreams() // the server serves one request at a time, and the stream of the session is one
		}
		if _, refusal := sendTogether(t, s); refusal != 0 {
			t.Site.SetOneClientStatus(refusal)
		}
		readLists(s, server) // the first session may have ended before they were read
	} else if !markRunsOnce(err) {
		err = fmt.Errorf("the server serves one session and no other: %w\n"+
			"make a server object and a transport for each session, and let go of them when it ends", err)
	}
	return server, s, err
}

// latency returns the time that a response took, or 0 if there was none.
func latency(r driver.Reply) time.Duration {
	if !r.Answered() || r.Request == nil {
		return 0
	}
	return r.Frame.At - r.Request.SentAt()
}

// initializeFailure returns what is wrong with the response to initialize, or "" if the client can continue.
func initializeFailure(r driver.Reply) string {
	if r.Result() == nil {
		return "initialize was answered with " + check.Got(r)
	}
	version := check.Member(r.Result(), "protocolVersion")
	if v, ok := version.(string); !ok || !slices.Contains(catalogue.LegacyRevisions, v) {
		return fmt.Sprintf("the server negotiated protocolVersion %s, which is not a handshake revision",
			check.Show(version))
	}
	return ""
}

// noAnswerError returns an error that says why there was no response to the first request: what the server did, and a
// hint. It ends the session. furtherHint is asked for one if there is nothing that the server wrote.
func noAnswerError(s *driver.Session, err error, furtherHint func() string) error {
	var timeout *driver.TimeoutError
	silent := errors.As(err, &timeout)
	ended := &driver.SessionEndError{Cause: err.Error()}
	if !silent && (!errors.As(err, &ended) || ended.LimitErr != nil) {
		return err
	}
	if sent := s.HTTP().RoundTrips(); silent && len(sent) > 0 {
		ended.Cause += "; so far: " + responseProgress(sent)
	}
	if received := s.ReceivedSince(0); silent && len(received) > 0 {
		ended.Cause += "; instead the server wrote " + lineText(received[0])
	}
	if p := s.Stdio(); p != nil {
		symptoms := p.EndAndCollectOutput()
		ended.Hint = symptoms.Hint()
		switch {
		case !silent:
			ended.Stdout = symptoms.StdoutLines()
			if ended.Hint == "" && ended.Cause == driver.CleanExit {
				ended.Hint = "a server over stdio has to stay until its stdin is closed"
			}
			if !strings.HasSuffix(ended.Cause, " still running") {
				ended.Cause += " before it answered"
			}
		case ended.Hint == "" && len(symptoms.Stdout) == 0:
			ended.Hint = cmp.Or(furtherHint(), "it is running and wrote nothing to stdout: is it an MCP server over "+
				"stdio? If it is slow to start: --start-timeout 60s")
		case ended.Hint == "" && timeout.PartialBytes > 0 && !bytes.Contains(symptoms.Stdout, []byte("\n")):
			ended.Cause += "; instead the server wrote " + quoted(symptoms.Stdout)
		}
	}
	ended.Stderr = s.StderrTail()
	return ended
}

// lineText returns a line that is not the response, for a message to people.
func lineText(line *driver.Frame) string {
	if line.Kind == driver.NotJSON {
		return quoted(line.Raw.Bytes())
	}
	return line.Raw.Brief()
}

func quoted(raw []byte) string { return driver.Brief([]byte(strconv.Quote(driver.Brief(raw)))) }

// findNoOp finds a list request that a server answers which leaves ping unanswered. If ping ended the server, it starts
// the server again; a server that ends again cannot be tested. It returns the session that is open then. answers
// reports whether the server answers any request.
func findNoOp(
	ctx context.Context, t driver.Target, s *driver.Session, server *check.Server,
) (open *driver.Session, answers bool, err error) {
	if !s.IsAlive() {
		s.Close()
		if s, err = driver.Start(ctx, t, driver.Options{}); err != nil {
			return s, false, err
		}
		if err = s.Open(driver.ConnectParams(server.Revision)); err != nil {
			return s, false, err
		}
	}
	var asked []driver.Pending // all at once, to wait only once for a silent server
	for _, capability := range []string{"tools", "prompts", "resources"} {
		if server.Declares(capability) {
			asked = append(asked, s.Request(capability+"/list", nil))
		}
	}
	deadline := time.Now().Add(s.ReplyTimeout())
	for _, p := range asked {
		if s.AwaitFor(p, time.Until(deadline)).Answered() {
			server.Era = driver.Legacy{NoOpMethod: p.Method}
			return s, true, nil
		}
	}
	var ended *driver.SessionEndError
	if errors.As(s.EndErr(), &ended) {
		ended.Cause += " at the first request after the handshake"
		return s, false, ended
	}
	return s, false, nil
}

func readLists(s *driver.Session, server *check.Server) {
	server.Tools, server.HasAllTools = listedObjects(s, server, "tools", "tools/list", "tools")
	server.Prompts, _ = listedObjects(s, server, "prompts", "prompts/list", "prompts")
	server.Resources, _ = listedObjects(s, server, "resources", "resources/list", "resources")
	server.Templates, _ = listedObjects(s, server, "resources", "resources/templates/list", "resourceTemplates")
}

// listedObjects returns the objects in a list, as far as it can be read. all reports whether there are no others.
func listedObjects(
	s *driver.Session, server *check.Server, capability, method, member string,
) (objects []check.M, all bool) {
	switch {
	case !server.Declares(capability):
		return nil, true
	case !s.IsAlive():
		return nil, false
	}
	items, err := check.ListAll(s, method, member, nil) // checks report an invalid list
	if errors.Is(err, check.ErrTooManyPages) {
		if server.TooLongLists == nil {
			server.TooLongLists = map[string]error{}
		}
		server.TooLongLists[method] = err
	}
	if endless := (*check.EndlessListError)(nil); errors.As(err, &endless) {
		items = withoutDuplicates(items)
	}
	objects = check.Objects(items)
	return objects, err == nil && len(objects) == len(items)
}

func withoutDuplicates(items []any) []any {
	seen := map[uint64]bool{}
	return slices.DeleteFunc(items, func(item any) bool {
		fingerprint := driver.Fingerprint(item)
		again := seen[fingerprint]
		seen[fingerprint] = true
		return again
	})
}
