package progress

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/requests"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// tokenChecks are the checks of progress tokens.
var tokenChecks = check.Suite{
	"progress/known-token": check.WatchWithSetup(reportEach, func(t *check.T, w check.Wire) {
		all := reports(t, w)
		check.Each(t, all, (*transcript.ProgressNotification).Subject,
			func(t *check.T, r *transcript.ProgressNotification) {
				isOfOneWithoutToken := func(o *transcript.ProgressNotification) bool {
					return o.TokenNotRequested && check.Show(o.Token()) == check.Show(r.Token())
				}
				switch {
				case r.ForRequest != nil && r.EarlierResponse != nil:
					t.Skip(check.NotApplicable, "the request was answered before")
				case r.SimilarTokenRequest != nil:
					t.Yield("its token is of another type")
				case r.ForRequest == nil && r.OnSubscriptionStream:
					t.Skip(check.NotApplicable, "it came on the stream of a subscription, where none may come")
				case r.ForRequest == nil && slices.ContainsFunc(all, isOfOneWithoutToken):
					t.Yield("it is about a request without a token")
				}
				t.Expect(r.ForRequest != nil).To(check.BeTrue("a token that the client has given", "%s",
					check.Show(r.Token())))
			})
	}),

	"progress/token-type-preserved": check.WatchWithSetup(callWithTokens, func(t *check.T, w check.Wire) {
		stray := func(r *transcript.ProgressNotification) bool {
			return r.ForRequest == nil && r.SimilarTokenRequest == nil
		}
		given, subject := slices.DeleteFunc(reports(t, w), stray), (*transcript.ProgressNotification).Subject
		check.Judge(t, "progress for a token that was given", given, subject,
			func(t *check.T, r *transcript.ProgressNotification) {
				t.Expect(r.ForRequest != nil).To(check.BeTrue("the token as it was given", "%s", check.Show(r.Token())))
			})
		if seen := reportedTokens(t); !seen.zero && !seen.number || !seen.text {
			t.NoVerdict(check.Undecided, "no progress was reported for tokens of both types")
		}
	}),

	"progress/zero-token": check.Probe(func(t *check.T) {
		switch seen := reportedTokens(t); {
		case seen.zero:
			return
		case !seen.number:
			t.NoVerdict(check.Undecided, "no progress was reported for other integers either")
		}
		s := t.Session()
		mark := s.Mark()
		other := callWithToken(t, s, 70104)
		zero := callWithToken(t, s, 0)
		seen := tokensIn(s, mark)
		switch {
		case zero.Result() == nil:
			t.Yield("a call with the token 0 fails: %s", check.Got(zero))
		case !seen.zero && !seen.number:
			t.NoVerdict(check.Undecided, "progress is not reported each time: %s", check.Got(other))
		}
		t.DecidedBy(zero).Expect(seen.zero).To(check.BeTrue("progress for the token 0, as for 70104", "none"))
	}),

	"progress/not-without-token": check.WatchWithSetup(callWithoutToken, func(t *check.T, w check.Wire) {
		for _, r := range progressNotifications(t, w) {
			if r.TokenNotRequested && !r.OnSubscriptionStream {
				check.Each(t, []*transcript.ProgressNotification{r}, (*transcript.ProgressNotification).Subject,
					func(t *check.T, r *transcript.ProgressNotification) {
						t.Fail("no progress of a request without a token", "some for %s", check.Show(r.Token()))
					})
			}
		}
		callWithoutToken(t) // this was a call of a tool that reports its progress
	}),

	"progress/token-types-accepted": check.Probe(func(t *check.T) {
		requests.EachValid(t, func(t *check.T, request requests.Request) {
			s := t.Session()
			for _, token := range someOf(t, request, []any{"mcpcheck-a", 70101, 0, ""}) {
				r := request.SendWith(t, s, check.M{"progressToken": token})
				if r.Error() != nil && refusesOtherMeta(t, s, request) {
					t.Yield("%s is refused with any _meta", request.Method)
				}
				t.Expect(r).To(check.BeServed(), "%s with the token %s", request.Method, check.Show(token))
			}
		})
	}),
}

// refusesOtherMeta reports whether a request is refused with a _meta that has no token.
func refusesOtherMeta(t *check.T, s *driver.Session, r requests.Request) bool {
	return t.Send(s, r.Method, r.With(protocol.MetaWithoutToken), check.AllowSilence).Error() != nil
}

// tokensSeen says for which tokens there was progress, even if it came under the token of the other type.
type tokensSeen struct{ zero, number, text bool }

// tokensIn returns the tokens for which progress was reported in a session since the mark.
func tokensIn(s *driver.Session, mark int) (seen tokensSeen) {
	for _, r := range transcript.ProgressIn(s, s.FramesSince(mark)) {
		switch check.Show(r.Token()) {
		case "0", `"0"`:
			seen.zero = true
		case "70102", `"70102"`, "70104", `"70104"`:
			seen.number = true
		case "70103", `"70103"`:
			seen.text = true
		}
	}
	return seen
}

// reportedTokens calls a tool that reports its progress with tokens of both types in parallel.
func reportedTokens(t *check.T) tokensSeen {
	return check.Step(t, "calls with tokens of both types", func(t *check.T) tokensSeen {
		call, s := callWithProgress(t), t.Session()
		mark := s.Mark()
		var sent []driver.Pending
		for _, token := range []any{0, 70102, "70103"} {
			sent = append(sent, call.Repeat(s, check.M{"progressToken": token}))
		}
		for _, p := range sent {
			check.RequireServerReply(t, s.AwaitLongRunning(p))
		}
		return tokensIn(s, mark)
	})
}

// callWithToken calls the tool that reports its progress with a token.
func callWithToken(t *check.T, s *driver.Session, token any) driver.Reply {
	sent := callWithProgress(t).Repeat(s, check.M{"progressToken": token})
	return check.RequireServerReply(t, s.AwaitLongRunning(sent))
}

// callWithTokens makes sure that there are requests of each method with tokens of both types, so that watches see under
// which token the server reports their progress.
func callWithTokens(t *check.T) {
	requestWithTokens(t)
	reportedTokens(t)
}

// requestWithTokens sends a request of each method that the server serves with a number and with a string as token.
func requestWithTokens(t *check.T) {
	valid := requests.Valid(t)
	check.Step(t, "requests with tokens of both types", func(t *check.T) bool {
		s := t.Session()
		for n, request := range valid {
			for _, token := range someOf(t, request, []any{70400 + n, fmt.Sprint(70440 + n)}) {
				t.Send(s, request.Method, request.With(check.M{"progressToken": token}), check.AllowSilence)
			}
		}
		return true
	})
}

// reportEach calls tools, and sends requests of all other methods with tokens.
func reportEach(t *check.T) {
	toolcall.CallTools(t)
	requestWithTokens(t)
}

// callWithoutToken calls a tool that reports its progress, without a token.
func callWithoutToken(t *check.T) {
	check.Step(t, "a call without a token", func(t *check.T) driver.Reply {
		call, s := callWithProgress(t), t.Session()
		r := check.RequireServerReply(t, s.AwaitLongRunning(call.Repeat(s, nil)))
		if !r.Answered() {
			t.Retry(check.Undecided, "%v", check.Explain(r.Err))
		}
		return r
	})
}

// someOf returns the tokens to try with a request: all of them or, of what takes its time, one for each method.
func someOf(t *check.T, r requests.Request, tokens []any) []any {
	if !check.SavesRequests(t, r.Reply) {
		return tokens
	}
	n := len(r.Method) % len(tokens)
	return tokens[n : n+1]
}
