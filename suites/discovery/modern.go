package discovery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// inspectModern asks a server in a revision without a handshake, and says so once it is shown to speak that.
func inspectModern(
	ctx context.Context, t driver.Target, server *check.Server, opened *driver.Session, spoken func(),
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
	if err := connectError(t, s, r); err != nil {
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
	spoken()
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

// measureLatency is the pace of a server that was greeted. One that has taken long for the greeting may have had to
// start: it is asked once more. The error says that it is slower than --timeout allows.
func measureLatency(s *driver.Session, greeted driver.Reply) (time.Duration, error) {
	if took := latency(greeted); took < check.SlowLatency {
		return took, nil
	}
	again := s.Call(s.NoOp())
	if again.Answered() {
		return latency(again), nil
	}
	_, slow := again.AwaitLate(s.StartTimeout())
	return 0, slow
}

// maxShownRevisions is how many revisions a message names.
const maxShownRevisions = 8

// isSupported reports whether a server speaks the revision in which it was asked server/discover. One that does not may
// answer all the same, or refuse in any way; and one that does may be wrong in what it answers, and serve the revision
// in what else it is asked. One that refuses a revision and offers the same contradicts itself: it means to speak it.
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

// isDiscoverResult reports whether a result has anything of one of server/discover. Some servers have the same for
// whatever they do not know.
func isDiscoverResult(result check.M) bool {
	return slices.ContainsFunc([]string{"supportedVersions", "capabilities", "resultType"},
		func(member string) bool { return check.HasMember(result, member) })
}

// servesModernLists reports whether the server answers a list as only servers of a revision without a handshake do.
func servesModernLists(s *driver.Session) bool {
	var asked []driver.Pending // all at once: a silent server is not waited for several times
	for _, list := range []string{"tools/list", "prompts/list", "resources/list"} {
		asked = append(asked, s.Request(list, nil))
	}
	return slices.ContainsFunc(asked, func(p driver.Pending) bool {
		return check.HasMember(s.AwaitLongRunning(p).Result(), "resultType")
	})
}

// supportedVersions are the revisions that a server names in its answer to server/discover, in a result or in an error;
// nil when it names none.
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

// publishedRevisions are those of revisions that were published, in their order and each once.
func publishedRevisions(revisions []string) (all []string) {
	for _, revision := range catalogue.Revisions {
		if slices.Contains(revisions, revision) {
			all = append(all, revision)
		}
	}
	return all
}
