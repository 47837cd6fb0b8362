package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// inspectModern requests a revision without a handshake, and calls onSupported when the server has proved to support
// it.
func inspectModern(
	ctx context.Context, t driver.Target, server *check.Server, opened *driver.Session, onSupported func(),
) (*check.Server, *driver.Session, error) {
	era := driver.Modern{Revision: server.Requested}
	server.Era, t.Era = era, era
	if server.Transport == "sse" {
		return server, nil, &UnsupportedRevisionError{Reason: "the server speaks HTTP+SSE, which has no revision " +
			"without a handshake"}
	}
	s, r, err := connect(ctx, t, server, opened)
	if s == nil {
		return serverWithoutSession(t, server), nil, err
	}
	server.ConnectReply = r
	if err := connectError(ctx, t, s, r); err != nil {
		return server, s, err
	}
	server.Revisions = publishedRevisions(supportedVersions(r))
	if checkAuthorized(server, s); server.Protected {
		return server, s, nil
	}
	if !isSupported(s, r, server.Requested) {
		said := "was answered with " + check.Got(r)
		if lists := supportedVersions(r); lists != nil {
			said = "offers " + strings.Join(lists[:min(len(lists), maxShownRevisions)], ", ")
		}
		return server, s, &UnsupportedRevisionError{Reason: fmt.Sprintf(
			"the server does not speak %s: server/discover %s",
			server.Requested, said)}
	}
	if r.Result() == nil {
		server.Failure = "server/discover was answered with " + check.Got(r)
		return server, s, nil
	}
	onSupported()
	server.ConnectResult, server.Capabilities, server.Sessionless = s.ConnectResult, s.Capabilities, t.Site != nil
	server.Revisions = publishedRevisions(append(server.Revisions, server.Requested))
	s.FinishConnect()
	if server.Latency, err = measureLatency(s, r); err != nil {
		return server, s, err
	}
	server, s, err = listFeatures(ctx, t, s, server)
	if err == nil {
		era.Tools = server.Tools
		server.Era = era
		s.SetEra(era)
	}
	return server, s, err
}

// measureLatency returns the shortest time that the server takes for a response. If the first one was slow, the server
// may have had to start, or the machine may be busy, so that up to two more requests are measured. It returns an error
// if one of them takes longer than the reply timeout.
func measureLatency(s *driver.Session, first driver.Reply) (shortest time.Duration, err error) {
	const more = 2
	shortest = latency(first)
	for n := 0; n < more && shortest >= timing.SlowLatency; n++ {
		again := s.Call(s.NoOp())
		if !again.Answered() {
			_, slow := again.AwaitLate(s.StartTimeout())
			return 0, slow
		}
		shortest = min(shortest, latency(again))
	}
	return shortest, nil
}

const requestsTogether = 4

// sendTogether sends requests over HTTP at the same time, and returns how long all responses took. If some were served
// and others were rejected with an HTTP error, as by one server object for all clients, it returns the status.
func sendTogether(t driver.Target, s *driver.Session) (took time.Duration, refusal int) {
	if t.Site == nil {
		return 0, 0
	}
	method, params := s.NoOp()
	begin, sent, served := time.Now(), make([]driver.Pending, requestsTogether), 0
	for i := range sent {
		if t.Site.Transport() == "sse" {
			sent[i] = s.Request(method, params)
			continue
		} // else not by Request, which gives each the time to arrive
		raw, _ := json.Marshal(s.NewRequest(s.NextID(), method, params))
		sent[i] = s.HTTP().Do(driver.HTTPRequest{Body: raw}).Pending()
	}
	for _, p := range sent {
		r := s.Await(p)
		if r.Result() != nil {
			served++
		} else if a := r.HTTPResponse(); a.StatusCode >= 400 && !a.IsFromIntermediary() && !r.IsBusy() {
			refusal = a.StatusCode
		}
	}
	if served == 0 {
		refusal = 0
	}
	return time.Since(begin), refusal
}

const maxShownRevisions = 8

// isSupported reports whether a server supports the revision in which it was sent server/discover. A server that does
// not may nevertheless answer, or reject the request in any way; one that does may answer it wrongly and still serve
// the revision in other requests. A server that rejects a revision and names the same as supported contradicts itself,
// and counts as supporting it.
func isSupported(s *driver.Session, r driver.Reply, revision string) bool {
	lists, result := supportedVersions(r), r.Result()
	switch {
	case slices.Contains(lists, revision) && result != nil, lists == nil && isDiscoverResult(result):
		return true
	case result == nil && lists != nil:
		return slices.Contains(lists, revision)
	}
	return check.IsModernOnly(r) || servesModernLists(s)
}

// isDiscoverResult reports whether a result has a member of a server/discover result. Some servers send the same result
// for all unknown methods.
func isDiscoverResult(result check.M) bool {
	return slices.ContainsFunc([]string{"supportedVersions", "capabilities", "resultType"},
		func(member string) bool { return check.HasMember(result, member) })
}

// servesModernLists reports whether the server answers a list request as only servers of the modern era do.
func servesModernLists(s *driver.Session) bool {
	var asked []driver.Pending // all at once, to wait only once for a silent server
	for _, list := range []string{"tools/list", "prompts/list", "resources/list"} {
		asked = append(asked, s.Request(list, nil))
	}
	return slices.ContainsFunc(asked, func(p driver.Pending) bool {
		return check.HasMember(s.AwaitLongRunning(p).Result(), "resultType")
	})
}

// supportedVersions returns the revisions that a server names in its response to server/discover, in the result or in
// an error, or nil if it names none.
func supportedVersions(r driver.Reply) (revisions []string) {
	listed, _ := r.Result()["supportedVersions"].([]any)
	if data, ok := r.Error()["data"].(check.M); ok {
		listed, _ = data["supported"].([]any)
	}
	for _, item := range listed {
		if revision, ok := item.(string); ok {
			revisions = append(revisions, revision)
		}
	}
	return revisions
}

// publishedRevisions returns those of revisions that were published, in order and without duplicates.
func publishedRevisions(revisions []string) (all []string) {
	for _, revision := range catalogue.Revisions {
		if slices.Contains(revisions, revision) {
			all = append(all, revision)
		}
	}
	return all
}
