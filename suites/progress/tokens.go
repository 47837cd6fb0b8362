package progress

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// tokens are the checks of the tokens by which reports say what they are about.
var tokens = Suite{
	"progress/known-token": WatchAfter(kit.CallTools, func(t *T, w Wire) {
		Each(t, reports(t, w), (*kit.ProgressReport).Subject, func(t *T, r *kit.ProgressReport) {
			switch {
			case r.Of != nil && r.Done != nil:
				t.Skip("the request was answered before")
			case r.Like != nil:
				t.Yield("its token is of another type")
			case r.Plain:
				t.Yield("it is about a request without a token")
			}
			t.Expect(r.Of != nil).To(Hold("a token that the client has given", "%s", Show(r.Token())))
		})
	}),

	"progress/token-type-preserved": WatchAfter(callWithTokens, func(t *T, w Wire) {
		stray := func(r *kit.ProgressReport) bool { return r.Of == nil && r.Like == nil }
		given, subject := slices.DeleteFunc(reports(t, w), stray), (*kit.ProgressReport).Subject
		Judge(t, "progress for a token that was given", given, subject, func(t *T, r *kit.ProgressReport) {
			t.Expect(r.Of != nil).To(Hold("the token as it was given", "%s", Show(r.Token())))
		})
		if !typed(t) {
			t.Inconclusive("no progress was reported for tokens of both types")
		}
	}),

	"progress/not-without-token": WatchAfter(callWithoutToken, func(t *T, w Wire) {
		for _, r := range kit.Reports(t, w) {
			if r.Plain {
				Each(t, []*kit.ProgressReport{r}, (*kit.ProgressReport).Subject, func(t *T, r *kit.ProgressReport) {
					t.Fail("no progress of a request without a token", "some for %s", Show(r.Token()))
				})
			}
		}
		callWithoutToken(t) // there was one, of what reports its progress
	}),

	"progress/token-types-accepted": Probe(func(t *T) {
		s := t.Session()
		method, params := s.Harmless()
		if t.Ask(s, method, params).Result() == nil {
			t.Yield("it is not served without a token either")
		}
		for _, token := range []any{"mcpcheck-a", 70101} {
			r := t.Ask(s, method, M{"_meta": M{"progressToken": token}})
			t.Expect(r).To(BeResult(), "%s with the token %v", method, token)
		}
	}),
}

// typed calls a tool that reports its progress with tokens of both types, side by side, and tells whether it did so
// for each type, be the token of another one.
func typed(t *T) bool {
	return Step(t, "calls with tokens of both types", func(t *T) bool {
		call, s := kit.Reporter(t), t.Session()
		mark := s.Mark()
		var sent []driver.Pending
		for _, token := range []any{0, 70102, "70103"} {
			sent = append(sent, call.Again(s, M{"progressToken": token}))
		}
		for _, p := range sent {
			Accept(t, s.AwaitCall(p))
		}
		var number, text bool
		for _, r := range kit.ReportsIn(s, s.Record(mark)) {
			switch Show(r.Token()) {
			case "0", "70102", `"0"`, `"70102"`:
				number = true
			case "70103", `"70103"`:
				text = true
			}
		}
		return number && text
	})
}

func callWithTokens(t *T) { typed(t) }

// callWithoutToken calls a tool that reports its progress without a token.
func callWithoutToken(t *T) {
	Step(t, "a call without a token", func(t *T) driver.Reply {
		call, s := kit.Reporter(t), t.Session()
		r := Accept(t, s.AwaitCall(call.Again(s, nil)))
		if !r.Answered() {
			t.Again("%v", Explain(r.Err))
		}
		return r
	})
}
