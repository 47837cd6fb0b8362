package check

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// T is what the script of a check works with: a description of the server, sessions with it, and assertions. The first
// assertion that does not hold ends the check.
type T struct {
	Server *Server
	// Revision is the revision that was negotiated.
	Revision string
	// Seed determines the random choices of checks.
	Seed int64

	Credentials Credentials

	attempt *attempt.Attempt
	// decidedBy are values that know the call which decides; see DecidedBy.
	decidedBy []any
}

// with returns a T for a part of the attempt.
func (t *T) with(part *attempt.Attempt) *T {
	inner := *t
	inner.attempt = part
	return &inner
}

// IsModern reports whether the server is judged by a revision without a handshake.
func (t *T) IsModern() bool { return catalogue.IsModern(t.Revision) }

// WithoutConfirmation returns a T whose sessions and steps are shared even in a confirmation. It is for requests that
// find out what the server is like, whose responses to other checks are good enough.
func WithoutConfirmation(t *T) *T {
	shared := *t.attempt
	shared.HasOwnSessions = false
	return t.with(&shared)
}

// OtherConnection returns an established session on another connection than Session. In revisions without a handshake,
// earlier messages on a connection have no effect on later ones: over stdio, where a connection is a process, it is
// then the session for invalid input.
func OtherConnection(t *T) *driver.Session {
	if !SharesProcess(t) {
		return t.Session(Exclusive)
	}
	return t.Session(ForInvalidInput)
}

// SharesProcess reports whether several things are tried in one process at a time: over stdio, in revisions without a
// handshake. What does not pass there is confirmed separately.
func SharesProcess(t *T) bool { return t.IsModern() && t.Site() == nil && !t.IsConfirmation() }

// KeepUnused releases a session that was opened for this attempt and was not used, for a check that wants such a
// session.
func KeepUnused(t *T, s *driver.Session) { t.setOwnership(s, attempt.Unused) }

// RequireUnconfigured ends a check that starts a process without the operator's configuration, where none may be.
func RequireUnconfigured(t *T) {
	if t.attempt.Run.Target.UnconfiguredEnv == nil {
		t.Skip(report.NotTried, "a server is started without its configuration only under --profile directory")
	}
}

// Site returns the server at its URL; nil over stdio. It ends a check of a recording over HTTP.
func (t *T) Site() *driver.Site {
	if t.Server.Transport != "stdio" {
		RequireLiveServer(t)
	}
	return t.attempt.Run.Target.Site
}

// IsConfirmation reports whether this attempt confirms a verdict. A check then tries only what its requirement is
// about.
func (t *T) IsConfirmation() bool { return t.attempt.IsConfirmation() }

// NeedsConfirmation notes that a verdict of this attempt may rest on more than what the check is about. Unless it is a
// pass, the check is tried again on a fresh session.
func NeedsConfirmation(t *T) { t.attempt.Scope.MarkReused(true, true) }

// DiscoveryReplies returns the results of a method in the session of discovery.
func DiscoveryReplies(t *T, method string) (all []driver.Reply) {
	discovery := t.attempt.Run.DiscoverySession
	if discovery == nil {
		return nil
	}
	for _, m := range (Wire{Sessions: []*driver.Session{discovery}}).ResultsOf(method).List {
		all = append(all, driver.Reply{Method: method, Request: m.Request, Frame: m.Frame})
	}
	return all
}

// SavesRequests reports whether a script leaves out what only tries more of the same, since the server is slow, or took
// long for such a request before: usual are the replies to that. A pass of the checks that rest on it says so. Where a
// recording is judged, it has no more than it has.
func SavesRequests(t *T, usual ...driver.Reply) bool {
	if IsRecording(t) {
		return true
	}
	isLong := func(r driver.Reply) bool { return r.Took() > timing.LongRequest }
	if !t.Server.IsSlow() && !slices.ContainsFunc(usual, isLong) {
		return false
	}
	t.attempt.Scope.SavedRequests = true
	return true
}

// SendsConcurrently reports whether independent requests are sent at the same time: if the server is slow, has not
// refused one because of another, and the attempt is not a confirmation. What does not pass then is confirmed one
// request at a time.
func SendsConcurrently(t *T) bool {
	concurrently := t.Server.IsSlow() && !t.Server.OneRequestAtATime && !t.IsConfirmation() &&
		t.attempt.Run.Jobs > 1 && !t.Site().IsSerial()
	if concurrently {
		NeedsConfirmation(t)
	}
	return concurrently
}

// RequireServerReply returns a reply that was obtained by other means than T.Send, and ends the check as T.Send
// does.
func RequireServerReply(t *T, r driver.Reply) driver.Reply {
	method := r.Method
	if limitErr := driver.AsLimitError(r.Err); limitErr != nil {
		t.Retry(Undecided, "%v", limitErr)
	}
	if r.IsStatusOnly() && r.Frame.RoundTrip.Response().IsFromIntermediary() {
		t.Retry(report.ForeignAnswer, "%s was answered with %s, which is not the server's own", method,
			Got(r))
	}
	if r.IsRateLimited() {
		t.Retry(report.ForeignAnswer, "%s was answered with %s, which is a proxy's or rate limiter's response",
			method, Got(r))
	}
	return r
}

// RequestNoOp sends a request that every server answers and that changes nothing, for when any request will do. Like
// T.Send, it ends the check without a verdict when no response arrives.
func RequestNoOp(t *T, s *driver.Session) driver.Reply {
	method, params := s.NoOp()
	return t.Send(s, method, params)
}

// TryNoOp is RequestNoOp that allows silence.
func TryNoOp(t *T, s *driver.Session) driver.Reply {
	method, params := s.NoOp()
	return t.Send(s, method, params, AllowSilence)
}

// FollowPages reads all pages of a list in a session and calls visit with each result; see EachPage. It ends the check
// as inconclusive when that fails.
func FollowPages(t *T, s *driver.Session, method, member string, visit func(result M)) {
	FollowPagesWith(t, s, method, member, M{}, visit)
}

// FollowPagesWith is FollowPages with params besides the cursor. A list that had too many pages is not read again: that
// would take minutes and end in the same way.
func FollowPagesWith(t *T, s *driver.Session, method, member string, params M, visit func(result M)) {
	t.requireAnswered(method)
	err := t.Server.TooLongLists[method] // found by discovery
	if known, _ := t.attempt.Run.TooLongLists.Load(method); known != nil {
		err = known.(error)
	}
	if err == nil {
		err = EachPage(s, method, member, params, visit)
	}
	if errors.Is(err, ErrTooManyPages) {
		t.attempt.Run.TooLongLists.Store(method, err)
	}
	if err != nil {
		t.Retry(Undecided, "%v", Explain(err))
	}
}

// Barrier waits until the server has reacted to everything that it was sent since the mark, and returns the frames
// received since then. It ends the check as inconclusive when the session does not survive.
func Barrier(t *T, s *driver.Session, mark int) []*driver.Frame {
	frames, err := s.Barrier(mark)
	if err != nil {
		t.Retry(Undecided, "%v", Explain(err))
	}
	return frames
}

// Explain returns an error that says why a server could not be reached, with the last lines that it wrote before it
// exited.
func Explain(err error) error { return explainedError{err, explain(err, 10)} }

// ExplainAll is Explain with all of these lines that were kept.
func ExplainAll(err error) error { return explainedError{err, explain(err, math.MaxInt)} }

// explainedError is an error with a longer text.
type explainedError struct {
	error
	text string
}

func (e explainedError) Error() string { return e.text }

func (e explainedError) Unwrap() error { return e.error }

// maxLogLine is how many characters of a line that a server wrote an explanation has: some log all messages there.
const maxLogLine = 400

func explain(err error, most int) string {
	if err == nil {
		return "nothing wrong"
	}
	var ended *driver.SessionEndError
	if !errors.As(err, &ended) {
		return err.Error()
	}
	explanation := ended.Cause
	for _, words := range []struct {
		where string
		lines []string
	}{{"it wrote to stdout", ended.Stdout}, {"its last lines on stderr", ended.Stderr}} {
		if len(words.lines) > 0 {
			lines := text.Map(text.Excerpt(words.lines, most), func(line string) string {
				return text.Shorten(line, text.Characters, maxLogLine*3/4, maxLogLine/4, " … ")
			})
			explanation += "; " + words.where + ":\n  " + strings.Join(lines, "\n  ")
		}
	}
	if ended.Hint != "" {
		explanation += "\n" + ended.Hint
	}
	return explanation
}
