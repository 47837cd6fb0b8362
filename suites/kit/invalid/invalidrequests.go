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
)

// Some servers refuse nothing: whatever is amiss with a request, they answer with the same result, or with silence.
// That is one fault, which jsonrpc/unknown-method-is-error reports, and not one in each check of what is to be refused.

// UnknownMethodName is a method that no server has.
const UnknownMethodName = "mcpcheck" + unknownMethodSuffix

const unknownMethodSuffix = "/no-such-method"

// UnknownMethodOf is a method of a feature, such as tools, that no server has.
func UnknownMethodOf(feature string) string { return feature + unknownMethodSuffix }

// IsUnknownMethod reports whether a method is one of those that no server has.
func IsUnknownMethod(method string) bool { return strings.HasSuffix(method, unknownMethodSuffix) }

// SendUnknownMethod is what comes of a method that no server has.
func SendUnknownMethod(t *check.T) IDProbeResult {
	return check.Step(t, "unknown method", func(t *check.T) IDProbeResult {
		s := t.Session()
		mark := s.Mark()
		return AwaitWithBarrier(s, mark, s.Request(UnknownMethodName, nil), s.ReplyTimeout())
	})
}

// SendInvalid makes a request that may be refused, as s.Exchange does. It does not wait for long where the server is
// known to leave such requests unanswered.
func SendInvalid(t *check.T, s *driver.Session, method string, params check.M) (r driver.Reply) {
	s.RetryWhileBusy(func() (busy bool) {
		p := s.Request(method, params)
		r = AwaitInvalid(t, s, p, func() driver.Reply { return s.Await(p) })
		return r.IsBusy()
	})
	return r
}

// AwaitInvalidRoundTrip is the answer to a request that was made by hand and may be refused.
func AwaitInvalidRoundTrip(t *check.T, s *driver.Session, x *driver.RoundTrip) driver.Reply {
	return AwaitInvalid(t, s, x.Pending(), x.AwaitReply)
}

// AwaitInvalid is wait, but where the server is known to leave unanswered what is to be refused: there not for long.
func AwaitInvalid(t *check.T, s *driver.Session, p driver.Pending, wait func() driver.Reply) driver.Reply {
	if r := s.AwaitFor(p, max(protocol.ShortWait, 2*t.Server.Latency)); IsTimeout(r) && AcceptsAnything(t, r) {
		return r
	}
	return wait()
}

// TryInvalid is t.Try with a request that may be refused, as SendInvalid makes it.
func TryInvalid(t *check.T, s *driver.Session, method string, params check.M) driver.Reply {
	return check.RequireServerReply(t, SendInvalid(t, s, method, params))
}

// RequestInvalid is t.Ask with a request that is to be refused. It ends the check when the server refuses nothing.
func RequestInvalid(t *check.T, s *driver.Session, method string, params check.M) driver.Reply {
	if check.KnownUnanswered(t, method) != nil {
		return t.Request(s, method, params) // which does not wait for it
	}
	r := TryInvalid(t, s, method, params)
	SkipUnlessServerRejects(t, r)
	if r.Err != nil {
		t.Retry("%v", check.Explain(r.Err))
	}
	return r
}

// SkipUnlessServerRejects ends a check of something that may be refused, and was not, when the server refuses nothing.
func SkipUnlessServerRejects(t *check.T, r driver.Reply) {
	if AcceptsAnything(t, r) {
		t.Yield("an unknown method brings the same, %s", check.Got(r))
	}
}

// SkipUnlessServed ends a check whose request has no answer at all, when an ordinary one of the method has none either.
func SkipUnlessServed(t *check.T, r driver.Reply, ordinary check.M) {
	if !IsTimeout(r) && !protocol.IsConnectionLost(r) {
		return
	}
	check.RequireNotLate(t, r)
	other := check.Step(t, "ordinary "+r.Method,
		func(t *check.T) driver.Reply { return t.TryRequest(t.Session(), r.Method, ordinary) })
	if IsTimeout(other) || protocol.IsConnectionLost(other) {
		t.Yield("no request of %s has an answer", r.Method)
	}
}

// SkipUnlessAnswersInvalid ends a check of errors when the server leaves unanswered what is to be refused.
func SkipUnlessAnswersInvalid(t *check.T) {
	if r := SendUnknownMethod(t).Reply; !r.Answered() {
		SkipUnlessServerRejects(t, r)
	}
}

// AcceptsAnything reports whether a reply is what comes of a method that no server has as well, though it is no
// refusal: the same result, or silence.
func AcceptsAnything(t *check.T, r driver.Reply) bool {
	switch {
	case IsTimeout(r):
		return IsTimeout(SendUnknownMethod(check.WithoutConfirmation(t)).Reply)
	case r.Result() == nil || r.IsFailure():
		return false
	}
	other := SendUnknownMethod(check.WithoutConfirmation(t)).Reply
	return other.Result() != nil && !other.IsFailure() && bytes.Equal(comparableContent(r.Result()),
		comparableContent(other.Result()))
}

// IsTimeout reports whether nothing came in place of an answer, in a session that goes on.
func IsTimeout(r driver.Reply) bool {
	return errors.Is(r.Err, errIgnored) || errors.As(r.Err, new(*driver.TimeoutError))
}

// NeverAnswersWithErrors reports whether what is to be refused has no answer, as far as unknown methods tell. That the
// server knew the session no more, once the client had ended it, is none.
func NeverAnswersWithErrors(all []*transcript.Transcript) bool {
	return slices.ContainsFunc(all, func(d *transcript.Transcript) bool {
		return slices.ContainsFunc(d.CallsOf(UnknownMethodName), func(x *transcript.Call) bool {
			return (x.Response == nil || x.Response.AfterShutdown) && !x.SessionEnded()
		})
	})
}

// SameAsUnknownMethod tells results that came of a method that no server has as well, which is no refusal.
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

// comparableContent is a result without what may be in any, whatever was asked for.
func comparableContent(result check.M) []byte {
	own := maps.Clone(result)
	for _, member := range []string{"_meta", "resultType", "ttlMs", "cacheScope"} {
		delete(own, member)
	}
	return text.CompactJSON(own)
}

// CallUnknownTool is the name of a tool that no server has, and the answer to a call of it.
func CallUnknownTool(t *check.T) (name string, r driver.Reply) {
	RequireCallsAllowed(t)
	name = protocol.UnknownToolName(t)
	return name, check.Step(t, "unknown tool", func(t *check.T) driver.Reply {
		return TryInvalid(t, t.Session(), "tools/call", check.M{"name": name, "arguments": check.M{}})
	})
}

// RequireCallsAllowed ends a check that calls no tool that exists, when not even such calls may be made.
func RequireCallsAllowed(t *check.T) {
	if !check.MayCallUnknown(t) {
		t.WithReason(check.CallsOff).Inconclusive("tools are not called (--calls none)")
	}
}
