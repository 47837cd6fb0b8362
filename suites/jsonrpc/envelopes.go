package jsonrpc

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// envelopeChecks are the checks of the members of every message.
var envelopeChecks = check.Suite{
	"jsonrpc/version-field": check.Watch(func(t *check.T, w check.Wire) {
		t.Judge(w.Messages(), func(t *check.T, m check.Message) {
			t.Expect(check.Member(m.JSON(), "jsonrpc")).To(check.BeOneOf("2.0"))
		})
	}).WhenConnectRefused(),

	"jsonrpc/one-of-result-or-error": check.WatchWithSetup(requestUnknownMethod, func(t *check.T, w check.Wire) {
		t.Judge(w.Responses(), func(t *check.T, m check.Message) {
			t.Expect(outcomeMembers(m)).To(check.BeOneOf("result", "error"))
		})
	}),

	"jsonrpc/result-is-object": check.Watch(func(t *check.T, w check.Wire) {
		one := func(m check.Message) bool { return !m.HasError }
		t.Judge(w.Results().Filter("success response", one), func(t *check.T, m check.Message) {
			t.Expect(m.JSON()["result"]).To(check.BeObject())
		})
	}),

	"jsonrpc/duplicate-members": check.Watch(func(t *check.T, w check.Wire) {
		whole := func(m check.Message) bool { return !m.TooDeep }
		t.Judge(w.Messages().Filter("message", whole), func(t *check.T, m check.Message) {
			again := slices.DeleteFunc(protocol.RepeatedNames(m.Raw.Bytes()), func(path string) bool {
				key, is := strings.CutPrefix(path, "/result/inputRequests/")
				return is && !strings.Contains(key, "/") // mrtr/input-keys-unique judges it
			})
			t.Expect(again).To(check.BeEmptyList[string]("each name once in an object"))
		})
	}),

	"jsonrpc/utf8-output": check.WatchWithSetup(func(t *check.T) {
		if t.Server.Declares("tools") && check.MayCallUnknown(t) {
			for _, name := range []string{"mcpcheck-ünknown-工具", "mcpcheck-ünknown"} { // the latter is in Latin-1, too
				invalid.TryInvalid(t, t.Session(), "tools/call", check.M{"name": name, "arguments": check.M{}})
			}
		}
	}, func(t *check.T, w check.Wire) {
		conforming := func(m check.Message) bool { return !m.AfterInvalidInput && m.LooksLikeMessage() }
		t.Judge(w.Lines().Filter("message", conforming), func(t *check.T, m check.Message) {
			t.Expect(utf8.Valid(m.Raw.Bytes())).To(check.BeTrue("UTF-8", "%q", invalidUTF8(m.Raw.Bytes())))
		})
	}),
}

// outcomeMembers names which of result and error a response has, for a message.
func outcomeMembers(m check.Message) string {
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

// invalidUTF8 returns the bytes around the first one that is not UTF-8; nil if there is none.
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

// Notifications with an id, for invalid.SendMalformed.
const (
	initializedWithID  = `{"jsonrpc":"2.0","id":70011,"method":"notifications/initialized"}`
	cancellationWithID = `{"jsonrpc":"2.0","id":70011,"method":"notifications/cancelled",` +
		`"params":{"requestId":70012,"_meta":{$meta"com.example/mcpcheck":1}}}`
)
