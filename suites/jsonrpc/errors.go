package jsonrpc

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// errorChecks are the checks of error responses.
var errorChecks = check.Suite{
	"jsonrpc/error-echoes-request-id": check.WatchWithSetup(func(t *check.T) {
		invalid.SendUnknownMethod(t)
		if invalid.IntegerIDs(t); invalid.StringIDs(t).AllServed() {
			s := t.Session()
			invalid.AwaitWithBarrier(s, s.Mark(), s.RequestWithID("mcpcheck-error", invalid.UnknownMethodName, nil),
				timing.ShortWait)
		}
	}, func(t *check.T, w check.Wire) {
		errors := func(r *transcript.Response) bool { return r.HasError }
		judgeResponses(t, "error response", transcript.Transcripts(w), errors,
			func(t *check.T, r *transcript.Response) {
				if r.Call == nil && (r.GuessedCall == nil || r.GuessedCall.Cancelled ||
					isNoOp(r.Session, r.GuessedCall.Request)) ||
					r.Request != nil && invalid.IsProbeID(r.Request.ID) {
					t.Skip(check.NotApplicable, "it answers no request, or one whose id another check judges")
				}
				if hasWrongID(r) && !areIDsRepeated(t, check.FrameID(r.Request)) {
					t.Yield("other responses have other ids, too")
				}
				t.Expect(r.Frame).To(haveID(r.Request.ID))
			})
	}),

	"jsonrpc/error-code-integer": check.WatchWithSetup(requestWhatIsRefused, func(t *check.T, w check.Wire) {
		t.Judge(allErrors(w), func(t *check.T, m check.Message) {
			e := requireErrorObject(t, m)
			if hasCodeOutside(m, e) {
				t.Yield("the code is not inside the error")
			}
			t.Expect(check.Member(e, "code")).To(check.BeInteger())
		})
	}).WhenConnectRefused(),

	"jsonrpc/error-message-string": check.WatchWithSetup(requestWhatIsRefused, func(t *check.T, w check.Wire) {
		t.Judge(allErrors(w), func(t *check.T, m check.Message) {
			message := check.Member(requireErrorObject(t, m), "message")
			t.Expect(message).To(check.BeString())
			t.ExpectShould(message).To(check.Satisfy("some text", func(s string) bool { return s != "" }))
		})
	}).WhenConnectRefused(),

	"jsonrpc/error-object-shape": check.WatchWithSetup(requestWhatIsRefused, func(t *check.T, w check.Wire) {
		t.Judge(allErrors(w), func(t *check.T, m check.Message) {
			t.Expect(m.JSON()["error"]).To(check.BeObject())
			outside := hasCodeOutside(m, requireErrorObject(t, m))
			t.Expect(!outside).To(check.BeTrue("the code inside error", "it next to error"))
		})
	}).WhenConnectRefused(),

	"jsonrpc/error-message-concise": check.WatchWithSetup(requestUnknownMethod, func(t *check.T, w check.Wire) {
		t.Judge(errorsIn(w), func(t *check.T, m check.Message) {
			message, ok := requireErrorObject(t, m)["message"].(string)
			if !ok {
				t.Yield("the message is not a string")
			}
			if m.Request == nil && !protocol.IsMissingID(m.ID) {
				t.Yield("nothing waits for it")
			}
			if m.Request != nil && bytes.Contains(m.Request.Raw.Bytes(), []byte(`\n`)) {
				t.Skip(check.NotApplicable, "it may repeat the line breaks that it was sent")
			}
			if m.Request != nil {
				message = withoutRequestTexts(message, m.Request.JSON())
			}
			t.Expect(strings.TrimSpace(message)).To(check.Satisfy("one line of at most about 200 characters",
				isConcise))
		})
	}),

	"jsonrpc/error-code-reserved-range": check.WatchWithSetup(requestUnknownMethod, func(t *check.T, w check.Wire) {
		t.Judge(errorsIn(w), func(t *check.T, m check.Message) {
			code, ok := requireErrorObject(t, m)["code"].(json.Number)
			if !ok {
				t.Yield("the code is not a number")
			}
			t.Expect(code).To(check.Satisfy("a code that JSON-RPC defines or leaves free", isUnreservedCode))
		})
	}),
}

// areIDsRepeated reports whether the server repeats ids of the type of this one in its responses.
func areIDsRepeated(t *check.T, id any) bool {
	if _, ok := id.(string); ok {
		return invalid.StringIDs(t).AllServed()
	}
	return repeatsIntegers(t)
}

// isNoOp reports whether a request is the no-op of the session.
func isNoOp(s *driver.Session, request *driver.Frame) bool {
	method, _ := s.NoOp()
	return request.Method == method
}

// requestUnknownMethod makes sure that there is an error to judge.
func requestUnknownMethod(t *check.T) { invalid.SendUnknownMethod(t) }

// requestWhatIsRefused sends requests that bring errors: with an unknown method, with names that the server does not
// have, and with an invalid cursor for each list.
func requestWhatIsRefused(t *check.T) {
	requestUnknownMethod(t)
	refused := requests.Refused(t)
	for _, list := range protocol.DeclaredLists(t) {
		refused = append(refused, requests.Request{Method: list.Method, Params: check.M{"cursor": "mcpcheck-none"}})
	}
	if len(refused) == 0 {
		return
	}
	check.Step(t, "refused requests", func(t *check.T) bool {
		s := t.Session(check.ForInvalidInput)
		for _, r := range requests.Affordable(t, refused, 1) {
			if check.KnownUnanswered(t, r.Method) == nil && s.IsUsable() {
				invalid.SendInvalid(t, s, r.Method, r.Params)
			}
		}
		return true
	})
}

// errorsIn returns the responses that have an error and no result.
func errorsIn(w check.Wire) check.Messages {
	return w.Errors().Filter("error response", func(m check.Message) bool { return !m.HasResult })
}

// allErrors are errorsIn, and the errors that answer what no conforming client sends.
func allErrors(w check.Wire) check.Messages {
	all := errorsIn(w)
	for _, m := range w.ErrorsToRequests().List {
		if m.AfterInvalidInput {
			all.List = append(all.List, m)
		}
	}
	return all
}

// requireErrorObject returns the error of a response; if that is not an object, it ends the check.
func requireErrorObject(t *check.T, m check.Message) check.M {
	e, ok := m.JSON()["error"].(check.M)
	if !ok {
		t.Yield("the error is not an object")
	}
	return e
}

// hasCodeOutside reports whether the code is a member of the response instead of its error.
func hasCodeOutside(m check.Message, e check.M) bool {
	return !check.HasMember(e, "code") && check.HasMember(m.JSON(), "code")
}

// withoutRequestTexts returns an error message without the longer texts that it quotes from the request, as sent or
// URL-decoded: the server did not write these.
func withoutRequestTexts(message string, request any) string {
	// Shorter quotes, in bytes, do not make a message too long.
	const long = 20
	switch v := request.(type) {
	case string:
		decoded, _ := url.PathUnescape(v)
		for _, quoted := range []string{v, decoded} {
			if len(quoted) > long {
				message = strings.ReplaceAll(message, quoted, "…")
			}
		}
	case []any:
		for _, item := range v {
			message = withoutRequestTexts(message, item)
		}
	case check.M:
		for name, member := range v {
			message = withoutRequestTexts(withoutRequestTexts(message, name), member)
		}
	}
	return message
}

// isConcise reports whether a text is short enough for one sentence: 250 characters tolerate some more than the "about
// 200" of a short sentence.
func isConcise(text string) bool {
	return !strings.ContainsAny(text, "\r\n") && utf8.RuneCountInString(text) <= 250
}

// isUnreservedCode reports whether a code is outside of the range that JSON-RPC reserves.
func isUnreservedCode(code json.Number) bool {
	n, ok := driver.Integer(code)
	return !ok || n < -32768 || n >= -32099 || n == errcode.ParseError || errcode.InternalError <= n &&
		n <= errcode.InvalidRequest
}
