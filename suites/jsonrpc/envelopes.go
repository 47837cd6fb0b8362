package jsonrpc

import (
	"unicode/utf8"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
)

var envelopeChecks = Suite{
	"jsonrpc/version-field": Watch(func(t *T, w Wire) {
		t.Judge(w.Messages(), func(t *T, m Message) {
			t.Expect(Member(m.JSON(), "jsonrpc")).To(BeOneOf("2.0"))
		})
	}).WhenConnectRefused(),

	"jsonrpc/one-of-result-or-error": WatchWithSetup(requestUnknownMethod, func(t *T, w Wire) {
		t.Judge(w.Responses(), func(t *T, m Message) {
			t.Expect(outcomeMembers(m)).To(BeOneOf("result", "error"))
		})
	}),

	"jsonrpc/result-is-object": Watch(func(t *T, w Wire) {
		one := func(m Message) bool { return !m.HasError }
		t.Judge(w.Results().Filter("success response", one), func(t *T, m Message) {
			t.Expect(m.JSON()["result"]).To(BeObject())
		})
	}),

	"jsonrpc/utf8-output": WatchWithSetup(func(t *T) {
		if t.Server.Declares("tools") && MayCallUnknown(t) {
			invalid.TryInvalid(t, t.Session(), "tools/call", M{"name": "mcpcheck-ünknown-工具", "arguments": M{}})
		}
	}, func(t *T, w Wire) {
		conforming := func(m Message) bool { return !m.AfterInvalidInput && m.LooksLikeMessage() }
		t.Judge(w.Lines().Filter("message", conforming), func(t *T, m Message) {
			t.Expect(utf8.Valid(m.Raw.Bytes())).To(BeTrue("UTF-8", "%q", invalidUTF8(m.Raw.Bytes())))
		})
	}),
}

// outcomeMembers names the members of a response that say what it is.
func outcomeMembers(m Message) string {
	switch {
	case m.HasResult && m.HasError:
		return "result and error"
	case m.HasResult:
		return "result"
	case m.HasError:
		return "error"
	}
	return "neither result nor error"
}

// invalidUTF8 is where a text stops to be UTF-8.
func invalidUTF8(raw []byte) []byte {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return raw[max(0, i-10):min(len(raw), i+10)]
		}
		i += n
	}
	return nil
}
