package jsonrpc

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var envelopeChecks = Suite{
	"jsonrpc/version-field": Watch(func(t *T, w Wire) {
		t.Judge(spoken(w.Messages()), func(t *T, m Message) {
			t.Expect(Member(m.JSON(), "jsonrpc")).To(BeOneOf("2.0"))
		})
	}),

	"jsonrpc/one-of-result-or-error": WatchAfter(provokeError, func(t *T, w Wire) {
		t.Judge(spoken(w.Responses()), func(t *T, m Message) {
			t.Expect(outcomes(m)).To(BeOneOf("result", "error"))
		})
	}),

	"jsonrpc/result-is-object": Watch(func(t *T, w Wire) {
		one := func(m Message) bool { return !m.HasError }
		t.Judge(spoken(w.Results()).Filter("success response", one), func(t *T, m Message) {
			t.Expect(m.JSON()["result"]).To(BeObject())
		})
	}),

	"jsonrpc/utf8-output": WatchAfter(func(t *T) {
		if t.Server.Declares("tools") && t.MayCallUnknown() {
			t.Try(t.Session(), "tools/call", M{"name": "mcpcheck-ünknown-工具", "arguments": M{}})
		}
	}, func(t *T, w Wire) {
		conforming := func(m Message) bool {
			return !m.Hostile && (m.Shape == driver.Object || m.Shape == driver.Array)
		}
		t.Judge(w.Lines().Filter("message", conforming), func(t *T, m Message) {
			t.Expect(utf8.Valid(m.Raw)).To(Hold("UTF-8", "%q", invalidPart(m.Raw)))
		})
	}),
}

// spoken keeps the JSON that is meant as a message: some servers log JSON to stdout, which stdio/stdout-only-messages
// reports.
func spoken(m Messages) Messages {
	return m.Filter(m.What, func(m Message) bool {
		return m.Request != nil || isServerMethod(m.Method) || Has(m.JSON(), "jsonrpc")
	})
}

func isServerMethod(method string) bool {
	return slices.Contains([]string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"}, method) ||
		strings.HasPrefix(method, "notifications/")
}

// outcomes names the members of a response that say what it is.
func outcomes(m Message) string {
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

// invalidPart is where a text stops to be UTF-8.
func invalidPart(raw []byte) []byte {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			return raw[max(0, i-10):min(len(raw), i+10)]
		}
		i += n
	}
	return nil
}
