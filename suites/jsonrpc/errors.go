package jsonrpc

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var errorChecks = Suite{
	"jsonrpc/error-echoes-request-id": WatchAfter(func(t *T) {
		kit.UnknownMethod(t)
		if kit.IntegerIDs(t); kit.StringIDs(t).Served() {
			s := t.Session()
			kit.Await(s, s.Mark(), s.RequestID("mcpcheck-error", kit.NoMethod, nil), kit.Shortly)
		}
	}, func(t *T, w Wire) {
		errors := func(r *kit.Response) bool { return r.HasError }
		kit.JudgeResponses(t, "error response", kit.Dialogues(w), errors, func(t *T, r *kit.Response) {
			if r.Of == nil && (r.Meant == nil || r.Meant.Cancelled || isHarmless(r.Session, r.Meant.Request)) ||
				r.Request != nil && kit.IsTried(r.Request.ID) {
				t.Skip("it answers no request, or one whose id another check judges")
			}
			if r.Misnamed() && !isServed(t, ID(r.Request)) {
				t.Yield("results have other ids, too")
			}
			t.Expect(r.Frame).To(kit.HaveID(r.Request.ID))
		})
	}),

	"jsonrpc/error-code-integer": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			e := errorObject(t, m)
			if hasCodeOutside(m, e) {
				t.Yield("the code is not inside the error")
			}
			t.Expect(Member(e, "code")).To(BeInteger())
		})
	}).WhenRefused(),

	"jsonrpc/error-message-string": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			message := Member(errorObject(t, m), "message")
			t.Expect(message).To(BeString())
			t.Warn(message).To(That("some text", func(s string) bool { return s != "" }))
		})
	}).WhenRefused(),

	"jsonrpc/error-object-shape": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			t.Expect(m.JSON()["error"]).To(BeObject())
			outside := hasCodeOutside(m, errorObject(t, m))
			t.Expect(!outside).To(Hold("the code inside error", "it next to error"))
		})
	}).WhenRefused(),

	"jsonrpc/error-message-concise": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			message, ok := errorObject(t, m)["message"].(string)
			if !ok {
				t.Yield("the message is not a string")
			}
			if m.Request == nil && !kit.IsBare(m.ID) {
				t.Yield("nothing waits for it")
			}
			if m.Request != nil && bytes.Contains(m.Request.Raw.Bytes(), []byte(`\n`)) {
				t.Skip("it may repeat the line breaks that it was sent")
			}
			if m.Request != nil {
				message = withoutTexts(message, m.Request.JSON())
			}
			t.Expect(strings.TrimSpace(message)).To(That("one line of at most about 200 characters", isConcise))
		})
	}),

	"jsonrpc/error-code-reserved-range": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(errorsIn(w), func(t *T, m Message) {
			code, ok := errorObject(t, m)["code"].(json.Number)
			if !ok {
				t.Yield("the code is not a number")
			}
			t.Expect(code).To(That("a code that JSON-RPC defines or leaves free", isUsable))
		})
	}),
}

// isServed reports whether ids of the kind of this one are repeated.
func isServed(t *T, id any) bool {
	if _, ok := id.(string); ok {
		return kit.StringIDs(t).Served()
	}
	return kit.IntegerIDs(t).Served()
}

// isHarmless reports whether a request is the session's harmless one.
func isHarmless(s *driver.Session, request *driver.Frame) bool {
	method, _ := s.Harmless()
	return request.Method == method
}

// provokeError sees to it that there is an error to judge.
func provokeError(t *T) { kit.UnknownMethod(t) }

// errorsIn are the responses that have an error and no result.
func errorsIn(w Wire) Messages {
	return w.Errors().Filter("error response", func(m Message) bool { return !m.HasResult })
}

// errorObject is the error of a response; without an object the check ends.
func errorObject(t *T, m Message) M {
	e, ok := m.JSON()["error"].(M)
	if !ok {
		t.Yield("the error is not an object")
	}
	return e
}

// hasCodeOutside reports whether the code is a member of the response, next to error.
func hasCodeOutside(m Message, e M) bool { return !Has(e, "code") && Has(m.JSON(), "code") }

// withoutTexts is a message without the longer texts of a request, as they were sent or decoded: what it quotes of them
// is not the server's own.
func withoutTexts(message string, request any) string {
	const long = 20 // bytes, below which quoting them makes no message too long
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
			message = withoutTexts(message, item)
		}
	case M:
		for name, member := range v {
			message = withoutTexts(withoutTexts(message, name), member)
		}
	}
	return message
}

// isConcise reports whether a text may count as one short sentence; 250 is what "about 200" leaves room for.
func isConcise(text string) bool {
	return !strings.ContainsAny(text, "\r\n") && utf8.RuneCountInString(text) <= 250
}

// isUsable reports whether a code is none of those that JSON-RPC keeps for later.
func isUsable(code json.Number) bool {
	n, ok := driver.Integer(code)
	return !ok || n < -32768 || n >= -32099 || n == -32700 || -32603 <= n && n <= -32600
}
