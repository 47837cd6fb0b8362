package mrtr

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// state are the checks of requestState that is not the one that belongs to a request.
var state = Suite{
	"mrtr/tampered-state-rejected": Probe(func(t *T) {
		each(t, wantStates(t), func(t *T, x *trial) {
			s := t.Hostile()
			for _, quarter := range []int{1, 2, 3} {
				first, given := x.begin(t, s)
				params := kit.Retry(x.params, first, given)
				x.askAmiss(t, s, with(params, "requestState", tampered(kit.StateOf(first), quarter)))
				x.expectRejected(t, "a state with another character in it")
			}
		})
	}),

	"mrtr/state-bound-to-request": Probe(func(t *T) {
		all := wantStates(t)
		each(t, all, func(t *T, x *trial) {
			a := trial{asker: x.asker}
			other, found := another(t, a.asker)
			if !found {
				t.Because(NotObserved).Skip("no other request asks for input, and it takes no other arguments")
			}
			s := t.Hostile()
			first, _ := a.begin(t, s)
			x.asker = other
			asked, given := x.begin(t, s)
			x.askAmiss(t, s, with(kit.Retry(x.params, asked, given), "requestState", kit.StateOf(first)))
			x.expectRejected(t, "the state of "+a.String())
		})
	}),

	"mrtr/state-bound-to-principal": Probe(func(t *T) {
		second := kit.Bearing(t.Credentials.Second)
		if t.Credentials.Second == "" {
			t.Because(NotGiven).Skip("no second token was given (--token-env second=VARIABLE)")
		}
		s := t.Session()
		if r := kit.ByHand(s, kit.Request{Header: second}).Reply(); r.Result() == nil {
			t.Because(NotGiven).Inconclusive("the server does not accept the second token: %s", Got(r))
		}
		each(t, wantStates(t), func(t *T, x *trial) {
			first, given := x.begin(t, s)
			params := kit.Retry(x.params, first, given)
			x.reply = kit.ByHand(s, kit.Request{Method: x.Method, Params: params, Header: second}).Reply()
			x.expectRejected(t, "the state of another principal")
		})
	}),

	"mrtr/unknown-state-tolerated": Probe(func(t *T) {
		const internalError = -32603
		calls := slices.DeleteFunc(kit.Answered(kit.ValidCalls(t).List), func(c kit.ToolCall) bool {
			code, _ := c.Reply.Code()
			return code == internalError
		})
		if len(calls) == 0 {
			kit.NothingSeen(t, "tool was called that has no internal error", kit.ValidCalls(t).Uncalled, kit.AnyTool)
		}
		params := M{"name": calls[0].Tool.Name, "arguments": calls[0].Arguments, "requestState": "mcpcheck"}
		r := kit.TryAmiss(t, t.Hostile(), "tools/call", kit.Declaring(params, kit.Able))
		t.Expect(!kit.IsFatal(r)).To(Hold("an error, or the state ignored", "%s", r))
		if r.Err != nil {
			kit.WantRefuser(t, r)
			t.Again("%v", Explain(r.Err))
		}
		if code, _ := r.Code(); code == internalError {
			t.Fail("error -32602, or the state ignored", "%s", r)
		}
	}),
}

// wantStates are askers that give a state, and are done when it comes back with answers.
func wantStates(t *T) []asker {
	return wantWilling(t, "request that gives a requestState and then is done was made", func(a asker) bool {
		return stateText(kit.StateOf(a.Asked[0])) != "" && len(a.Asked) == 1
	})
}

// stateText is the text of a state as it was written; empty when there is none.
func stateText(state json.RawMessage) string {
	text, _ := driver.Decode(state).(string)
	return text
}

// tampered is a state with another character at so many quarters of it: a letter for a letter, a digit for a digit. The
// last one, of which base64 does not use all bits, stays.
func tampered(state json.RawMessage, quarter int) string {
	const alphabet = "BADCFEHGJILKNMPORQTSVUXWZYbadcfehgjilknmporqtsvuxwzy1032547698"
	const originals = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	text := stateText(state)
	for at := len(text) * quarter / 4; at < len(text); at++ {
		if i := strings.IndexByte(originals, text[at]); i >= 0 {
			return text[:at] + alphabet[i:i+1] + text[at+1:]
		}
	}
	return text + text
}

// expectRejected wants a state not taken. Whether a state is to be protected, only who knows the server can say.
func (x *trial) expectRejected(t *T, what string) {
	if x.outcome(t, x.reply) != done {
		return
	}
	kit.WantRefuser(t, x.reply)
	if !ProtectsState(t, x.name) {
		t.Because(NotGiven).Inconclusive("%s was taken, which is legal where it can do no harm; if it can, name %s in "+
			"protected-state of mcpcheck.yaml", what, x.name)
	}
	t.Fail("an error for "+what, "%s", x.reply)
}

// another is another request that asks for input: of the same tool with other arguments, or of another tool.
func another(t *T, a asker) (other asker, found bool) {
	for _, b := range wantStates(t) {
		if b.name != a.name || b.Method != a.Method {
			return b, true
		}
	}
	return a.varied(t)
}

// varied is the request with other arguments.
func (a asker) varied(t *T) (other asker, found bool) {
	for _, tool := range t.Server.Tools {
		if !a.isCall() || tool["name"] != a.name || ExampleOf(t, a.name) != nil {
			continue // what else than the example is harmless is not known
		}
		schema, err := schemas.Compile(tool["inputSchema"], t.Revision)
		if err != nil {
			return a, false
		}
		arguments, err := schemas.Valid(schema, t.Seed+1)
		a.params = with(a.params, "arguments", arguments)
		return a, err == nil && driver.Fingerprint(arguments) != driver.Fingerprint(a.Params["arguments"])
	}
	return a, false
}
