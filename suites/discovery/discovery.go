// Package discovery learns what a server is: its transport, its revision, its capabilities and its lists.
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

// Inspect learns what a plan depends on: the revision that the server grants when asked for one, its capabilities, and
// what it lists. The session it used comes back for others to use.
//
// An error means that the server could not be talked to at all, or not in such a revision, which is
// *UnsupportedRevisionError; without a server, that there is no such command. A server that answers the first request
// with something else than a good result is described by Inspect.Failure. One that refuses to shake hands in a revision
// and names another is asked for that.
func Inspect(ctx context.Context, t driver.Target, requested string) (*check.Server, *driver.Session, error) {
	return inspect(ctx, t, requested, nil, func() {})
}

// ask is Inspect in a session that was opened before, unless there is none. It says so once a server without a
// handshake has been shown to speak the revision: only what it lists is missing then.
func inspect(
	ctx context.Context, t driver.Target, requested string, opened *driver.Session, spoken func(),
) (*check.Server, *driver.Session, error) {
	if catalogue.IsModern(requested) {
		return inspectModern(ctx, t, newServer(t, requested), opened, spoken)
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

// newServer is a server of which nothing was learnt yet.
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

// UnsupportedRevisionError says that a server does not speak a revision, whatever else it may speak.
type UnsupportedRevisionError struct {
	Reason    string
	Supported []string // what it speaks in its place, as far as somebody has asked
}

func (e *UnsupportedRevisionError) Error() string { return e.Reason }

// inspectLegacy asks a server for a revision with a handshake.
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
	if err := cmp.Or(connectError(t, s, r), internalServerError(s, r)); err != nil {
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
	// what it sends after the handshake may have kept it
	if server.Latency = latency(pong); server.Latency >= check.SlowLatency {
		server.Latency = min(server.Latency, latency(s.Call("ping", nil)))
	}
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

// serverWithoutSession is a server with which no session could be had: over stdio there is none, since its command does
// not start.
func serverWithoutSession(t driver.Target, server *check.Server) *check.Server {
	if t.Site == nil {
		return nil
	}
	return server
}

// connectError is why nothing can be said of a server that has been greeted: it was silent, or is not one of MCP.
func connectError(t driver.Target, s *driver.Session, r driver.Reply) error {
	if away := unfollowableRedirect(t.Site, r); away != nil {
		return away
	}
	switch none := noEndpointReason(t.Site, r); {
	case requiresTLS(t, r): // which some web servers say by a page
		return fmt.Errorf("the server speaks TLS at %s: is the URL https:// in place of http://?", t.Site.URL())
	case none != "":
		return errors.New(none)
	case r.Err != nil:
		return noAnswerError(s, exitError(t, s, r.Err))
	}
	return nil
}

// exitError is how the process of a server at a URL has ended, where mcpcheck has started it and the connection was
// closed before: it may take a moment to exit. Otherwise it is the error of the connection.
func exitError(t driver.Target, s *driver.Session, err error) error {
	var unanswered *driver.NoResponseError
	switch {
	case t.Site == nil, !t.Site.OwnsProcess(), !errors.As(err, &unanswered):
		return err
	case unanswered.RoundTrip == nil, unanswered.RoundTrip.Response().StatusCode != 0:
		return err
	}
	s.Wait(s.Mark(), 2*time.Second, func(*driver.Frame) bool { return false })
	return cmp.Or(s.EndErr(), err)
}

// listFeatures learns what a server lists that serves a session, and whether it serves two.
func listFeatures(
	ctx context.Context, t driver.Target, s *driver.Session, server *check.Server,
) (*check.Server, *driver.Session, error) {
	serves := openSecondSession(ctx, t, s)
	readLists(s, server)
	checkAuthorized(server, s)
	if serves() {
		return server, s, nil
	}
	s.Close()
	server.OneClient = true
	s, err := reopen(ctx, t, server)
	if err == nil {
		readLists(s, server) // the first session may have ended before they were there
	} else if !markRunsOnce(err) {
		err = fmt.Errorf("the server serves one session and no other: %w", err)
	}
	return server, s, err
}

// latency is how long an answer took; 0 when there was none.
func latency(r driver.Reply) time.Duration {
	if !r.Answered() || r.Request == nil {
		return 0
	}
	return r.Frame.At - r.Request.SentAt()
}

// initializeFailure says what is wrong with the answer to initialize; empty when a session can be had.
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

// noAnswerError says why there was no answer to the greeting: what the server did, and what that looks like. It ends
// the session.
func noAnswerError(s *driver.Session, err error) error {
	var silence *driver.TimeoutError
	silent := errors.As(err, &silence)
	death := &driver.SessionEndError{Cause: err.Error()}
	if !silent && (!errors.As(err, &death) || death.LimitErr != nil) {
		return err
	}
	if sent := s.HTTP().RoundTrips(); silent && len(sent) > 0 {
		death.Cause += "; so far: " + responseProgress(sent)
	}
	if came := s.ReceivedSince(0); silent && len(came) > 0 {
		death.Cause += "; instead the server wrote " + lineText(came[0])
	}
	if p := s.Stdio(); p != nil {
		symptoms := p.EndAndCollectOutput()
		death.Hint = symptoms.Hint()
		switch {
		case !silent:
			death.Stdout = symptoms.StdoutLines()
			if death.Hint == "" && death.Cause == driver.CleanExit {
				death.Hint = "a server over stdio has to stay until its stdin is closed"
			}
			if !strings.HasSuffix(death.Cause, " still running") {
				death.Cause += " before it answered"
			}
		case death.Hint == "" && len(symptoms.Stdout) == 0:
			death.Hint = "it is running and wrote nothing to stdout: is it an MCP server over stdio? " +
				"If it is slow to start: --start-timeout 60s"
		case death.Hint == "" && silence.PartialBytes > 0 && !bytes.Contains(symptoms.Stdout, []byte("\n")):
			death.Cause += "; instead the server wrote " + quoted(symptoms.Stdout)
		}
	}
	death.Stderr = s.StderrTail()
	return death
}

// lineText is a line that is not the answer, for a message.
func lineText(line *driver.Frame) string {
	if line.Kind == driver.NotJSON {
		return quoted(line.Raw.Bytes())
	}
	return line.Raw.Brief()
}

func quoted(raw []byte) string { return driver.Brief([]byte(strconv.Quote(driver.Brief(raw)))) }

// findNoOp finds a list that a server answers which leaves ping unanswered. If ping has ended the server, it is
// started once more; if that ends it as well, it cannot be tested. answers reports whether the server answers anything
// at all.
func findNoOp(
	ctx context.Context,
	t driver.Target,
	s *driver.Session,
	server *check.Server,
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
	var asked []driver.Pending // all at once: a silent server is not waited for several times
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
	var death *driver.SessionEndError
	if errors.As(s.EndErr(), &death) {
		death.Cause += " at the first request after the handshake"
		return s, false, death
	}
	return s, false, nil
}

// readLists fills in what the server lists.
func readLists(s *driver.Session, server *check.Server) {
	server.Tools, server.HasAllTools = listedObjects(s, server, "tools", "tools/list", "tools")
	server.Prompts, _ = listedObjects(s, server, "prompts", "prompts/list", "prompts")
	server.Resources, _ = listedObjects(s, server, "resources", "resources/list", "resources")
	server.Templates, _ = listedObjects(s, server, "resources", "resources/templates/list", "resourceTemplates")
}

// listedObjects are the objects in a list, as far as it can be read, and whether they are all that there are.
func listedObjects(
	s *driver.Session, server *check.Server, capability, method, member string,
) (objects []check.M, all bool) {
	switch {
	case !server.Declares(capability):
		return nil, true
	case !s.IsAlive():
		return nil, false
	}
	items, err := check.ListAll(s, method, member, nil) // what is wrong with it, a check says
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

// withoutDuplicates leaves out of a list what came before.
func withoutDuplicates(items []any) []any {
	came := map[uint64]bool{}
	return slices.DeleteFunc(items, func(item any) bool {
		fingerprint := driver.Fingerprint(item)
		again := came[fingerprint]
		came[fingerprint] = true
		return again
	})
}
