package harness

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Reason is in one word why a check came to no verdict. It is given where the check ends; the message says the rest.
type Reason string

// The reasons.
const (
	NotApplicable   Reason = "not-applicable" // of a skip, unless it says more
	NotDeclared     Reason = "not-declared"
	NotOffered      Reason = "not-offered"
	NotObserved     Reason = "not-observed"
	OtherCheck      Reason = "other-check"
	NotGiven        Reason = "not-given"
	CallsOff        Reason = "calls-off"
	Undecided       Reason = "undecided" // of an inconclusive, unless it says more
	Silent          Reason = "silent"
	Died            Reason = "died"
	ForeignAnswer   Reason = "foreign-answer"
	Limit           Reason = "limit"
	NotListed       Reason = "not-listed"
	HandshakeFailed Reason = "handshake-failed"
	Stopped         Reason = "stopped"
	Budget          Reason = "budget"
	NotTried        Reason = "not-tried"
	Interrupted     Reason = "interrupted"
)

// Reasons are all reasons, in the order in which they are documented, and what they mean. The list grows, and nothing
// in it changes its meaning.
var Reasons = []struct {
	Code  Reason
	Means string
}{
	{NotApplicable, "it does not apply to this server, or to how it was reached"},
	{NotDeclared, "the server does not declare the capability"},
	{NotOffered, "the server has nothing of the kind: no tool, no session ids, no event streams"},
	{NotObserved, "nothing that this check looks at was sent"},
	{OtherCheck, "another check, which the message names, judges what stands in the way"},
	{NotGiven, "it needs something that was not given, such as a token or a permission"},
	{CallsOff, "it needs a call of a tool that may not be called"},
	{Undecided, "the responses do not decide it"},
	{Silent, "no answer came in time"},
	{Died, "the process or the connection ended, or could not be obtained"},
	{ForeignAnswer, "a proxy or a rate limiter answered in place of the server"},
	{Limit, "one of mcpcheck's own limits was reached"},
	{NotListed, "the list that it needs could not be obtained: something else was answered, or its pages do not end"},
	{HandshakeFailed, "no session could be opened, or not without a token"},
	{Stopped, "the run was stopped because the server no longer responded"},
	{Budget, "the time of the run was spent"},
	{NotTried, "a quick run does not try it"},
	{Interrupted, "the operator ended the run"},
}

// WithReason is the check with a reason for what it ends with: t.Because(NotOffered).Skip("the server lists no tool").
func (t *T) WithReason(r Reason) *T {
	inner := *t
	inner.reason = r
	return &inner
}

// open is an outcome without a verdict. Its reason is the one given, or that of a value that the message shows, or the
// general one.
func (t *T) noVerdict(v Verdict, general Reason, format string, shown []any) outcome {
	o := outcome{verdict: v, reason: t.reason, message: fmt.Sprintf(format, shown...)}
	for _, value := range shown {
		o.reason = cmp.Or(o.reason, ReasonOf(value))
	}
	o.reason = cmp.Or(o.reason, general)
	return o
}

// ReasonOf is the reason that a value itself is for no verdict: an error, an HTTP answer, whatever knows its Reason.
// Empty when it is none.
func ReasonOf(value any) Reason {
	switch v := value.(type) {
	case interface{ Reason() Reason }:
		return v.Reason()
	case driver.HTTPResponse:
		return reasonOfAnswer(v)
	case error:
		return reasonOfError(v)
	}
	return ""
}

func reasonOfError(err error) Reason {
	var silence *driver.TimeoutError
	var death *driver.SessionEndError
	var unanswered *driver.NoResponseError
	var unlisted *NotAListError
	var endless *EndlessListError
	switch {
	case driver.AsLimitError(err) != nil, errors.Is(err, ErrTooManyPages):
		return Limit
	case errors.As(err, &unlisted), errors.As(err, &endless):
		return NotListed
	case errors.As(err, &silence):
		return Silent
	case errors.As(err, &death):
		return Died
	case !errors.As(err, &unanswered):
		return ""
	case unanswered.RoundTrip == nil:
		return Silent
	}
	return cmp.Or(reasonOfAnswer(unanswered.RoundTrip.Response()), Silent)
}

func reasonOfAnswer(a driver.HTTPResponse) Reason {
	switch {
	case a.LimitErr() != nil:
		return Limit
	case a.IsFromIntermediary():
		return ForeignAnswer
	case a.StatusCode == 0 && a.Err != nil:
		return Died
	case a.StatusCode == 0:
		return Silent
	}
	return ""
}
