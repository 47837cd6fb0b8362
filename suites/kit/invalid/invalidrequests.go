package invalid

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// UnknownMethodName is a method that no server has.
const UnknownMethodName = "mcpcheck" + unknownMethodSuffix

const unknownMethodSuffix = "/no-such-method"

// UnknownMethodOf is a method that no server has, in the namespace of a feature such as "tools".
func UnknownMethodOf(feature string) string { return feature + unknownMethodSuffix }

// IsUnknownMethod reports whether method is UnknownMethodName or one of UnknownMethodOf.
func IsUnknownMethod(method string) bool { return strings.HasSuffix(method, unknownMethodSuffix) }

// SendUnknownMethod sends a request of a method that no server has.
func SendUnknownMethod(t *check.T) IDProbeResult {
	return check.Step(t, "unknown method", func(t *check.T) IDProbeResult {
		s := t.Session()
		mark := s.Mark()
		return AwaitWithBarrier(s, mark, s.Request(UnknownMethodName, nil), s.ReplyTimeout())
	})
}

// SendInvalid sends a request that may be refused. It does not wait long where the server is known to leave such
// requests unanswered.
func SendInvalid(t *check.T, s *driver.Session, method string, params check.M) (r driver.Reply) {
	s.RetryWhileBusy(func() (busy bool) {
		p := s.Request(method, params)
		r = AwaitInvalid(t, s, p, func() driver.Reply { return s.Await(p) })
		return r.IsBusy()
	})
	return r
}

// AwaitInvalid is the response to a request that may be refused: what wait returns, unless the server is known to leave
// such requests unanswered.
func AwaitInvalid(t *check.T, s *driver.Session, p driver.Pending, wait func() driver.Reply) driver.Reply {
	if r := s.AwaitFor(p, max(timing.ShortWait, 2*t.Server.Latency)); IsTimeout(r) && AcceptsAnything(t, r) {
		return r
	}
	return wait()
}

// TryInvalid is SendInvalid for a check that needs the response of the server itself.
func TryInvalid(t *check.T, s *driver.Session, method string, params check.M) driver.Reply {
	return check.RequireServerReply(t, SendInvalid(t, s, method, params))
}

// RequestInvalid sends a request that is to be refused. It ends the check when the server refuses nothing.
func RequestInvalid(t *check.T, s *driver.Session, method string, params check.M) driver.Reply {
	if check.KnownUnanswered(t, method) != nil {
		return t.Send(s, method, params) // which does not wait for it
	}
	r := TryInvalid(t, s, method, params)
	SkipUnlessServerRejects(t, r)
	if r.Err != nil {
		t.Retry(check.Undecided, "%v", check.Explain(r.Err))
	}
	return r
}

// SkipUnlessServerRejects ends a check of a request that was not refused, when the server refuses nothing.
func SkipUnlessServerRejects(t *check.T, r driver.Reply) {
	if AcceptsAnything(t, r) {
		t.Yield("an unknown method brings the same, %s", check.Got(r))
	}
}

// SkipUnlessServed ends a check whose request has no response, when an ordinary request of the method has none either.
func SkipUnlessServed(t *check.T, r driver.Reply, ordinary check.M) {
	if !IsTimeout(r) && !protocol.IsConnectionLost(r) {
		return
	}
	check.RequireNotLate(t, r)
	other := check.Step(t, "ordinary "+r.Method,
		func(t *check.T) driver.Reply { return t.Send(t.Session(), r.Method, ordinary, check.AllowSilence) })
	if IsTimeout(other) || protocol.IsConnectionLost(other) {
		t.Yield("no request of %s has an answer", r.Method)
	}
}

// SkipUnlessAnswersInvalid ends a check of errors when the server leaves invalid requests unanswered.
func SkipUnlessAnswersInvalid(t *check.T) {
	if r := SendUnknownMethod(t).Reply; !r.Answered() {
		SkipUnlessServerRejects(t, r)
	}
}

// AcceptsAnything reports whether a reply is the same non-error as for an unknown method: the same result, or none at
// all. Then the server refuses nothing.
func AcceptsAnything(t *check.T, r driver.Reply) bool {
	switch {
	case IsTimeout(r):
		other := SendUnknownMethod(check.WithoutConfirmation(t)).Reply
		return IsTimeout(other) || hasEmptyStream(other)
	case r.Result() == nil || r.IsFailure():
		return false
	}
	other := SendUnknownMethod(check.WithoutConfirmation(t)).Reply
	return other.Result() != nil && !other.IsFailure() && bytes.Equal(comparableContent(r.Result()),
		comparableContent(other.Result()))
}

// IsTimeout reports whether there was no response in a session that goes on.
func IsTimeout(r driver.Reply) bool {
	return errors.Is(r.Err, errIgnored) || errors.As(r.Err, new(*driver.TimeoutError))
}

// hasEmptyStream reports whether the event stream that answers a request over HTTP ended without the response.
func hasEmptyStream(r driver.Reply) bool {
	var none *driver.NoResponseError
	return errors.As(r.Err, &none) && none.RoundTrip.Response().IsStream && !none.RoundTrip.IsConnectionClosed()
}

// NeverAnswersWithErrors reports whether the server leaves unknown methods unanswered, and so probably everything that
// is to be refused. An error after the client ended the session does not count as a response.
func NeverAnswersWithErrors(all []*transcript.Transcript) bool {
	return slices.ContainsFunc(all, func(d *transcript.Transcript) bool {
		return slices.ContainsFunc(d.CallsOf(UnknownMethodName), func(x *transcript.Call) bool {
			return (x.Response == nil || x.Response.AfterShutdown) && !x.SessionEnded()
		})
	})
}

// SameAsUnknownMethod returns a function that reports whether a result equals the one of an unknown method, and so is
// not a real one.
func SameAsUnknownMethod(w check.Wire) func(result check.M) bool {
	known := map[string]bool{}
	for _, m := range w.ResultsOf(UnknownMethodName).List {
		if result := protocol.ResultOf(m); result != nil && result["isError"] != true {
			known[string(comparableContent(result))] = true
		}
	}
	return func(result check.M) bool {
		return len(known) > 0 && result != nil && known[string(comparableContent(result))]
	}
}

// comparableContent is a result without the members that any result may have.
func comparableContent(result check.M) []byte {
	own := maps.Clone(result)
	for _, member := range []string{"_meta", "resultType", "ttlMs", "cacheScope"} {
		delete(own, member)
	}
	return text.CompactJSON(own)
}

// CallUnknownTool calls a tool that no server has, and returns its name and the reply.
func CallUnknownTool(t *check.T) (name string, r driver.Reply) {
	RequireCallsAllowed(t)
	name = protocol.UnknownToolName(t)
	return name, check.Step(t, "unknown tool", func(t *check.T) driver.Reply {
		return TryInvalid(t, t.Session(), "tools/call", check.M{"name": name, "arguments": check.M{}})
	})
}

// RequireCallsAllowed ends a check that calls an unknown tool, when not even such calls are allowed (--calls none).
func RequireCallsAllowed(t *check.T) {
	if !check.MayCallUnknown(t) {
		t.NoVerdict(check.CallsOff, "tools are not called (--calls none)")
	}
}
