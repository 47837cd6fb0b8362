package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/internal/attempt"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// matcher is a Gomega matcher whose message consists of one line that says what was expected, and one that says what
// was received.
type matcher struct {
	want string
	ok   func(actual any) bool
	got  func(actual any) string
	args []any // quoted in got, as by BeTrue

	// violatedEntries returns the ids of entries each of which is about a value that does not match; may be nil.
	violatedEntries func(actual any) []string
}

func (m *matcher) Match(actual any) (ok bool, err error) { return m.ok(actual), nil }

func (m *matcher) FailureMessage(actual any) string { return failMessage(m.want, m.got(actual)) }

func (m *matcher) NegatedFailureMessage(actual any) string {
	return failMessage("anything but "+m.want, m.got(actual))
}

// failMessage returns the message of a fail.
func failMessage(want, got string) string { return "expected " + want + "\ngot " + got }

// findingOf parses the message of a fail. If it does not say what was expected, all of it is what was received.
func findingOf(message string) report.Finding {
	message = strings.TrimSpace(message)
	_, details, ok := strings.Cut("\n"+message, "\nexpected ") // the circumstances precede it
	if !ok {
		return report.Finding{Got: message}
	}
	want, got, _ := strings.Cut(details, "\ngot ")
	return report.Finding{Want: want, Got: got}
}

// Satisfy matches values of type A for which ok returns true; want describes these values in a few words.
func Satisfy[A any](want string, ok func(A) bool) types.GomegaMatcher { return satisfy(want, ok) }

func satisfy[A any](want string, ok func(A) bool) *matcher {
	return &matcher{want: want, got: Show, ok: func(actual any) bool {
		a, is := actual.(A)
		return is && ok(a)
	}}
}

// ReportedBy is a matcher whose failure is reported by one of other entries, to which that of the check yields, where
// that has failed too. These are the given one and, if the matcher has such an entry already, that one.
func ReportedBy(entry string, of types.GomegaMatcher) types.GomegaMatcher {
	m := *of.(*matcher)
	others := m.violatedEntries
	m.violatedEntries = func(actual any) []string {
		if others == nil {
			return []string{entry}
		}
		return append(others(actual), entry)
	}
	return &m
}

// satisfyReply matches replies; other values do not match. If the HTTP response contained JSON that is no response to
// any request, it ends the check as inconclusive, since another check reports that.
func satisfyReply(want string, ok func(driver.Reply) bool) *matcher {
	m := satisfy(want, func(r driver.Reply) bool {
		none := (*driver.NoResponseError)(nil)
		if errors.As(r.Err, &none) && none.RoundTrip != nil && none.RoundTrip.Response().IsOtherJSON() {
			attempt.End(attempt.Outcome{
				Verdict: catalogue.Inconclusive, Reason: report.OtherCheck, Message: r.Err.Error(),
				YieldsTo: []string{"http/json-reply-single-object"},
			})
		}
		return ok(r)
	})
	m.violatedEntries = func(actual any) []string {
		r, _ := actual.(driver.Reply)
		none, late := (*driver.NoResponseError)(nil), (*driver.TimeoutError)(nil)
		switch {
		case errors.As(r.Err, &none) && none.RoundTrip != nil && hasUnreadableEvent(none.RoundTrip.Response()):
			return []string{"http/sse-events-are-messages"}
		case none != nil && none.RoundTrip != nil && none.RoundTrip.Response().IsStream:
			return []string{"http/sse-response-eventually"}
		case none != nil && none.RoundTrip != nil && isBlankSuccess(none.RoundTrip.Response()):
			return []string{"http/request-not-202"}
		case errors.As(r.Err, &late) && late.PartialBytes > 0:
			return []string{"stdio/message-terminated-by-newline"}
		}
		return nil
	}
	return m
}

// hasUnreadableEvent reports whether a stream has an event whose data is no JSON, which may have been the response.
func hasUnreadableEvent(a driver.HTTPResponse) bool {
	return slices.ContainsFunc(a.Events, func(e driver.StreamEvent) bool {
		return e.IsDispatched() && !json.Valid(e.Data.Bytes())
	})
}

// isBlankSuccess reports whether a response has a status of success and no body.
func isBlankSuccess(a driver.HTTPResponse) bool { return a.OK() && a.Err == nil && a.Body.Len() == 0 }

// BeAnswered matches a reply with any response.
func BeAnswered() types.GomegaMatcher {
	return satisfyReply("an answer", driver.Reply.Answered)
}

// BeResult matches a response with a result object.
func BeResult() types.GomegaMatcher {
	return satisfyReply("a result", func(r driver.Reply) bool { return r.Result() != nil })
}

// BeServed matches a result that is not an error of a tool.
func BeServed() types.GomegaMatcher {
	return satisfyReply("a result", func(r driver.Reply) bool { return r.Result() != nil && !r.IsFailure() })
}

// BeError matches a JSON-RPC error response with one of the codes, or with any code when none is given. An HTTP error
// status without a JSON-RPC response is an error without a code: if codes are given, it ends the check as inconclusive,
// since another check reports it.
func BeError(codes ...int) types.GomegaMatcher {
	names := make([]string, len(codes))
	for i, c := range codes {
		names[i] = fmt.Sprint(c)
	}
	want := "an error"
	if len(codes) > 0 {
		want = "error " + strings.Join(names, " or ")
	}
	m := satisfyReply(want, func(r driver.Reply) bool {
		if r.Answered() && r.Member("error") != nil && len(codes) == 0 {
			return true
		}
		code, ok := r.Code()
		if !ok && r.IsStatusOnly() {
			attempt.End(attempt.Outcome{
				Verdict: catalogue.Inconclusive, Reason: report.OtherCheck,
				Message:  "there is no code to judge: " + Got(r),
				YieldsTo: []string{"http/request-errors-are-jsonrpc"},
			})
		}
		return ok && slices.Contains(codes, code)
	})
	lacksResponse := m.violatedEntries
	m.violatedEntries = func(actual any) []string {
		r, _ := actual.(driver.Reply)
		code, ok := r.Code()
		switch number, isNumber := r.Error()["code"].(json.Number); {
		case r.Error() == nil:
			return lacksResponse(actual)
		case !isNumber || !driver.IsInteger(number):
			return []string{"jsonrpc/error-code-integer"}
		case ok && -32768 <= code && code <= -32100:
			return []string{"jsonrpc/error-code-reserved-range"}
		case ok && -32099 <= code && code <= -32023:
			return []string{"jsonrpc/reserved-error-codes"}
		}
		return lacksResponse(actual)
	}
	return m
}

// BeRefused matches a JSON-RPC error response, or a tool result with isError true.
func BeRefused() types.GomegaMatcher {
	return satisfyReply("an error, or a result with isError true", driver.Reply.IsFailure)
}

// BeToolError matches a result with isError true.
func BeToolError() types.GomegaMatcher {
	return satisfyReply("a result with isError true",
		func(r driver.Reply) bool { return r.Result()["isError"] == true })
}

// BeOneOf matches any of the values.
func BeOneOf[V comparable](values ...V) types.GomegaMatcher {
	shown := make([]string, len(values))
	for i, v := range values {
		shown[i] = Show(v)
	}
	return Satisfy(strings.Join(shown, " or "), func(v V) bool { return slices.Contains(values, v) })
}

// BeString matches a JSON string.
func BeString() types.GomegaMatcher { return Satisfy("a string", func(string) bool { return true }) }

// BeObject matches a JSON object.
func BeObject() types.GomegaMatcher { return Satisfy("an object", func(m M) bool { return m != nil }) }

// BeArray matches a JSON array.
func BeArray() types.GomegaMatcher {
	return Satisfy("an array", func(a []any) bool { return a != nil })
}

// BeBoolean matches true and false.
func BeBoolean() types.GomegaMatcher { return Satisfy("a boolean", func(bool) bool { return true }) }

// BeInteger matches a JSON number without a fraction, of any size.
func BeInteger() types.GomegaMatcher {
	return Satisfy("an integer", driver.IsInteger)
}

// BeEmptyList matches a list without items. Its message shows the first items.
func BeEmptyList[V any](want string) types.GomegaMatcher {
	empty := func(actual any) bool { list, _ := actual.([]V); return len(list) == 0 }
	return &matcher{want: want, ok: empty, got: func(actual any) string {
		const most = 3
		list, _ := actual.([]V)
		var shown []string
		for _, item := range list[:min(len(list), most)] {
			shown = append(shown, Show(item))
		}
		return strings.Join(shown, ", ")
	}}
}

// BeTrue matches true. It is for conditions that a sentence describes better than a value: want and got say what was
// expected and what was received, as those of T.Fail do.
func BeTrue(want, got string, args ...any) types.GomegaMatcher {
	holds := func(actual any) bool { return actual == true }
	return &matcher{want: want, ok: holds, got: func(any) string { return formatGot(got, args) }, args: args}
}

// Absent stands for a member that is missing, to tell it from null in messages.
type Absent struct{}

// Member returns a member of an object; Absent when it is missing.
func Member(m M, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return Absent{}
}

// HasMember reports whether an object has a member, which may be null.
func HasMember(m M, key string) bool {
	_, ok := m[key]
	return ok
}

// Got describes a reply in a few words: "result {…}", "error -32601: …", "no answer within 5s".
func Got(r driver.Reply) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.IsStatusOnly():
		return r.Frame.Raw.String()
	case r.Error() != nil:
		message := strings.Join(strings.Fields(fmt.Sprint(r.Error()["message"])), " ")
		code := "without a code"
		if HasMember(r.Error(), "code") {
			code = Show(r.Error()["code"])
		}
		return fmt.Sprintf("error %s: %s", code, driver.Brief([]byte(message)))
	case HasMember(r.Message(), "result"):
		return "result " + Show(r.Member("result"))
	}
	return r.Frame.Raw.Brief()
}

// Show returns a value as one short line.
func Show(v any) string {
	switch v := v.(type) {
	case driver.Reply:
		return Got(v)
	case Absent:
		return "nothing: the member is missing"
	case *driver.Frame:
		return v.Raw.Brief()
	case error:
		return v.Error()
	case fmt.Stringer:
		if reflect.TypeOf(v).Kind() != reflect.Pointer {
			if _, number := v.(json.Number); !number {
				return v.String()
			}
		}
	}
	return driver.Brief(text.CompactJSON(shortenValue(v)))
}

// shortenValue returns a value without the middle of its long texts and lists, which Show does not show anyway.
func shortenValue(v any) any {
	const end = 200 // more than Show keeps of either
	switch v := v.(type) {
	case string:
		return text.Shorten(v, text.Bytes, end, end, "…")
	case []string:
		return shortenList(v, end, func(s string) string { return shortenValue(s).(string) })
	case []any:
		return shortenList(v, end, shortenValue)
	case M:
		short := maps.Clone(v)
		for name, member := range v {
			short[name] = shortenValue(member)
		}
		return short
	}
	return v
}

// shortenList returns the first and the last end items of a list, each shortened by short.
func shortenList[V any](list []V, end int, short func(V) V) []V {
	if len(list) > 2*end {
		list = slices.Concat(list[:end], list[len(list)-end:])
	} else {
		list = slices.Clone(list)
	}
	for i := range list {
		list[i] = short(list[i])
	}
	return list
}
