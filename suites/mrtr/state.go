package mrtr

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// stateChecks are the checks of requestState that does not belong to the request.
var stateChecks = check.Suite{
	"mrtr/tampered-state-rejected": check.Probe(func(t *check.T) {
		all := withTwoRounds(t, "request that gives a requestState and then is done was made",
			inputLoop.isDoneAfterLastState)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			s := t.Session(check.ForInvalidInput)
			isSigned := true
			signatures := map[string]string{} // by what they sign
			places := statePlaces
			last := stateText(toolcall.RequestState(x.InputReplies[len(x.InputReplies)-1]))
			if !strings.Contains(last, ".") {
				places-- // it has no last part
			}
			for place := range places {
				asked, given := x.startAt(t, s, len(x.InputReplies)-1)
				state := stateText(toolcall.RequestState(asked))
				signed, signature := signatureIn(state)
				known, isKnown := signatures[signed]
				isSigned = isSigned && signature != "" && (!isKnown || known == signature)
				signatures[signed] = signature
				x.sendInvalid(t, s, withMember(toolcall.RetryParams(x.params, asked, given), "requestState",
					tamperedState(state, place)))
				x.expectRejected(t, "a state with another character in it", isSigned)
			}
		})
	}),

	"mrtr/state-bound-to-request": check.Probe(func(t *check.T) {
		all := requireStateLoops(t)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			a := loopRetry{inputLoop: x.inputLoop}
			other, found := otherLoop(t, a.inputLoop)
			if !found {
				t.Skip(check.NotObserved, "no other request asks for input, and it takes no other arguments")
			}
			s := t.Session(check.ForInvalidInput)
			first, _ := a.start(t, s)
			x.inputLoop = other
			asked, given := x.start(t, s)
			x.sendInvalid(t, s, withMember(toolcall.RetryParams(x.params, asked, given), "requestState",
				toolcall.RequestState(first)))
			isSigned := false
			if _, signature := signatureIn(stateText(toolcall.RequestState(first))); signature != "" &&
				x.outcome(t, x.reply) == outcomeFinal {
				reply := x.reply
				isSigned = x.rejectsOtherSignature(t, s)
				x.reply = reply
			}
			x.expectRejected(t, "the state of "+a.String(), isSigned)
		})
	}),

	"mrtr/state-bound-to-principal": check.Probe(func(t *check.T) {
		second := roundtrip.BearerHeader(t.Credentials.SecondPrincipal)
		if t.Credentials.SecondPrincipal == "" {
			t.Skip(check.NotGiven, "no second token was given (--token-env second=VARIABLE)")
		}
		s := t.Session()
		if r := roundtrip.PostRequest(s, roundtrip.ManualRequest{Header: second}).AwaitReply(); r.Result() == nil {
			t.NoVerdict(check.NotGiven, "the server does not accept the second token: %s", check.Got(r))
		}
		eachLoop(t, requireStateLoops(t), func(t *check.T, x *loopRetry) {
			first, given := x.start(t, s)
			params := toolcall.RetryParams(x.params, first, given)
			x.reply = roundtrip.PostRequest(s,
				roundtrip.ManualRequest{Method: x.Method, Params: params, Header: second}).AwaitReply()
			x.expectRejected(t, "the state of another principal", false)
		})
	}),

	"mrtr/state-expiry": check.Probe(func(t *check.T) {
		ttl := check.DeclarationsOf(t).StateTTL
		if ttl == 0 {
			t.Skip(check.NotGiven, "how long a requestState is valid is not declared (state-ttl in mcpcheck.yaml)")
		}
		all := requireStateLoops(t)
		s := t.Session(check.Exclusive) // other checks must not wait for it
		wait := ttl + timing.StateExpiry
		check.RequireTimeFor(t, s, "state-ttl", wait)
		late := map[*toolcall.InputLoop]check.M{}
		for _, a := range all {
			x := loopRetry{inputLoop: a}
			first, given := x.start(t, s)
			late[a.InputLoop] = toolcall.RetryParams(a.params, first, given)
		}
		s.Sleep(wait)
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			x.send(t, s, late[x.InputLoop])
			invalid.SkipUnlessServerRejects(t, x.reply)
			t.Expect(x.outcome(t, x.reply) != outcomeFinal).To(check.BeTrue(
				fmt.Sprintf("a state refused %v after it was given (state-ttl)", wait), "%s", x.reply))
		})
	}).InOwnSession(),

	"mrtr/state-single-use": check.Probe(func(t *check.T) {
		once := check.DeclarationsOf(t).StateOnce
		if len(once) == 0 {
			t.Skip(check.NotGiven, "nothing is declared to accept a requestState once (state-once in mcpcheck.yaml)")
		}
		all := requireContinuingLoops(t, "request of state-once that gives a requestState and then is done was made",
			func(a inputLoop) bool { return a.isDoneAfterState() && slices.Contains(once, a.name) })
		s := t.Session()
		eachLoop(t, all, func(t *check.T, x *loopRetry) {
			first, given := x.start(t, s)
			if outcome := x.retry(t, s, first, given); outcome != outcomeFinal {
				t.Retry(check.Undecided, "the first use has led to %s", outcome)
			}
			outcome := x.retry(t, s, first, given)
			invalid.SkipUnlessServerRejects(t, x.reply)
			t.Expect(outcome != outcomeFinal).To(check.BeTrue("a state refused that was used before (state-once)",
				"%s", x.reply))
		})
	}),

	"mrtr/unknown-state-tolerated": check.Probe(func(t *check.T) {

		calls := slices.DeleteFunc(toolcall.AnsweredCalls(toolcall.ValidCalls(t).List), func(c toolcall.ToolCall) bool {
			code, _ := c.Reply.Code()
			return code == errcode.InternalError
		})
		if len(calls) == 0 {
			toolcall.SkipNotObserved(t, "tool was called that has no internal error", toolcall.ValidCalls(t).Uncalled,
				toolcall.AnyTool)
		}
		params := check.M{"name": calls[0].Tool.Name, "arguments": calls[0].Arguments, "requestState": "mcpcheck"}
		r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), "tools/call",
			protocol.WithCapabilities(params, protocol.AllModernCapabilities))
		t.Expect(!protocol.IsServerExit(r)).To(check.BeTrue("an error, or the state ignored", "%s", r))
		if r.Err != nil {
			invalid.SkipUnlessServerRejects(t, r)
			t.Retry(check.Undecided, "%v", check.Explain(r.Err))
		}
		if code, _ := r.Code(); code == errcode.InternalError {
			t.Fail("error -32602, or the state ignored", "%s", r)
		}
	}),
}

// requireStateLoops returns the loops with a state that end after one round of responses.
func requireStateLoops(t *check.T) []inputLoop {
	return requireContinuingLoops(t, "request that gives a requestState and then is done was made",
		inputLoop.isDoneAfterState)
}

// isDoneAfterState reports whether the server gave a state and asked for nothing more after one round of responses.
func (a inputLoop) isDoneAfterState() bool {
	return stateText(toolcall.RequestState(a.InputReplies[0])) != "" && len(a.InputReplies) == 1
}

// isDoneAfterLastState reports whether the server gave a state in its last round, and then a result.
func (a inputLoop) isDoneAfterLastState() bool {
	last := a.InputReplies[len(a.InputReplies)-1]
	return stateText(toolcall.RequestState(last)) != "" && a.AbortReason == "" && a.LastReply.Result() != nil
}

// stateText returns the text of a state as it was written; empty if there is none.
func stateText(state json.RawMessage) string {
	text, _ := driver.Decode(state).(string)
	return text
}

// statePlaces is the number of places at which states are changed: three quarters and the middle of the last part,
// which may be a signature.
const statePlaces = 4

// tamperedState returns a state in which the character at a place is replaced.
func tamperedState(state string, place int) string {
	if at := strings.LastIndexByte(state, '.') + 1; place == statePlaces-1 && at > 0 {
		return state[:at] + withOtherCharacter(state[at:], 2)
	}
	return withOtherCharacter(state, min(place+1, 3))
}

// withOtherCharacter returns a text in which the character after a number of quarters is replaced: a letter by a
// letter, a digit by a digit. The last character is never replaced, since base64 does not use all of its bits.
func withOtherCharacter(text string, quarter int) string {
	const alphabet = "BADCFEHGJILKNMPORQTSVUXWZYbadcfehgjilknmporqtsvuxwzy1032547698"
	const originals = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	for at := len(text) * quarter / 4; at < len(text); at++ {
		if i := strings.IndexByte(originals, text[at]); i >= 0 {
			return text[:at] + alphabet[i:i+1] + text[at+1:]
		}
	}
	return text + text
}

// signatureIn returns the signature in a state that evidently has one, with what it signs: JSON in base64, a dot, and
// the digest of a MAC; or a JSON Web Signature. The signature is empty for all other states, which may be protected as
// well.
func signatureIn(state string) (signed, signature string) {
	parts := strings.Split(state, ".")
	last := parts[len(parts)-1]
	head, isObject := driver.Decode(decodeBase64(parts[0])).(check.M)
	algorithm, _ := head["alg"].(string)
	digest, err := hex.DecodeString(last)
	if err != nil {
		digest = decodeBase64(last)
	}
	isDigest := slices.Contains([]int{sha1.Size, sha256.Size, sha512.Size384, sha512.Size}, len(digest))
	isJWS := len(parts) == 3 && algorithm != "" && algorithm != "none" && last != ""
	if !isObject || !isJWS && (len(parts) != 2 || !isDigest) {
		return state, ""
	}
	return strings.TrimSuffix(state, "."+last), last
}

// decodeBase64 decodes either alphabet of base64, with padding or without it.
func decodeBase64(text string) []byte {
	text = strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return decoded
}

// rejectsOtherSignature reports whether the server refuses the request with a state whose signature was changed.
func (x *loopRetry) rejectsOtherSignature(t *check.T, s *driver.Session) bool {
	asked, given := x.start(t, s)
	state := stateText(toolcall.RequestState(asked))
	x.sendInvalid(t, s, withMember(toolcall.RetryParams(x.params, asked, given), "requestState",
		tamperedState(state, statePlaces-1)))
	return x.reply.Answered() && x.outcome(t, x.reply) != outcomeFinal
}

// expectRejected requires a state to be rejected. Whether the state has to be protected depends on what the server does
// with it. A server that signs it takes it for worth that.
func (x *loopRetry) expectRejected(t *check.T, what string, isSigned bool) {
	if x.outcome(t, x.reply) != outcomeFinal {
		return
	}
	invalid.SkipUnlessServerRejects(t, x.reply)
	level := catalogue.Must
	switch isDeclared := slices.Contains(check.DeclarationsOf(t).ProtectedState, x.name); {
	case isDeclared:
	case isSigned:
		level = catalogue.Should
	default:
		t.NoVerdict(check.NotGiven, "%s was taken, which is legal where it can do no harm; if it can, name %s in "+
			"protected-state of mcpcheck.yaml", what, x.name)
	}
	t.FailAt(level, "an error for "+what, "%s", x.reply)
}

// otherLoop returns another loop: of the same tool with other arguments, or of another tool.
func otherLoop(t *check.T, a inputLoop) (other inputLoop, found bool) {
	for _, b := range requireStateLoops(t) {
		if b.name != a.name || b.Method != a.Method {
			return b, true
		}
	}
	return a.withOtherArguments(t)
}

// withOtherArguments returns the loop of the same tool with other arguments.
func (a inputLoop) withOtherArguments(t *check.T) (other inputLoop, found bool) {
	for _, tool := range t.Server.Tools {
		if !a.isToolCall() || tool["name"] != a.name || check.ExampleArguments(t, a.name) != nil {
			continue // only the example is known to be harmless
		}
		schema, err := schemas.Compile(tool["inputSchema"], t.Revision)
		if err != nil {
			return a, false
		}
		arguments, err := schemas.ValidArguments(schema, t.Seed+1)
		a.params = withMember(a.params, "arguments", arguments)
		return a, err == nil && driver.Fingerprint(arguments) != driver.Fingerprint(a.Params["arguments"])
	}
	return a, false
}
