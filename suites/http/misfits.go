package http

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// misfits makes a request with the right headers, and then with those of each form. Unless all of these are refused for
// their headers, the first one is made once more: where that is not answered as before, then a limit, or time, may have
// made the answers, and the check ends as inconclusive.
func misfits(t *T, request kit.Request, forms []form) (all []misfitted) {
	s := t.Hostile()
	usual := askRightly(t, s, request)
	for _, f := range forms {
		odd := request
		odd.Header = f.Header
		all = append(all, misfitted{kit.AttemptOf(s, f.Name, askOddly(t, s, odd)), usual})
	}
	if !slices.ContainsFunc(all, func(x misfitted) bool { return !isMismatch(x.Reply()) }) {
		return all
	}
	again := func() *driver.Exchange { return kit.ByHand(s, request) }
	twice := []*driver.Exchange{again(), again()} // a limit may take one by now
	for _, x := range twice {
		if x.Reply(); x.IsBusy() {
			x = kit.InTurn(s, again)
		}
		now := answerRightly(t, s, request, x)
		if !kit.SameKind(usual, now) || usual.Refuses() && !kit.SayAlike(usual, now) {
			t.Again("the request with the right headers is answered in two ways: %s, then %s", Got(usual), Got(now))
		}
	}
	return all
}

// askOddly makes a request that is to be refused for its headers; where it is refused because of another request, then
// in its turn.
func askOddly(t *T, s *driver.Session, odd kit.Request) *driver.Exchange {
	x := kit.ByHand(s, odd)
	if wantRefuser(t, s, x); x.IsBusy() {
		x = kit.InTurn(s, func() *driver.Exchange { return kit.ByHand(s, odd) })
	}
	return x
}

// wantRefuser is the answer to a request that may be refused. It ends a check where the server leaves that unanswered.
func wantRefuser(t *T, s *driver.Session, x *driver.Exchange) driver.Reply {
	r := kit.ReplyAmiss(t, s, x)
	if !r.Answered() {
		kit.WantRefuser(t, r)
	}
	return r
}

// askRightly makes a request with the right headers. It ends a check that can learn nothing from what it brings.
func askRightly(t *T, s *driver.Session, request kit.Request) driver.Reply {
	return answerRightly(t, s, request, kit.ByHand(s, request))
}

// answerRightly is the answer to a request that was made with the right headers, as askRightly wants it.
func answerRightly(t *T, s *driver.Session, request kit.Request, x *driver.Exchange) driver.Reply {
	r := Accept(t, wantRefuser(t, s, x))
	kit.NotForeign(t, x.Answer())
	if r.Err != nil {
		t.Because(Silent).Again("the request has no answer with the right headers either: %v", r.Err)
	}
	if isMismatch(r) {
		t.Again("the request is refused with the right headers, too: %s", Got(r))
	}
	if request.Method == "tools/call" {
		kit.NotLimited(t, s, r)
	}
	return r
}

// listMisfits are those of an ordinary request.
func listMisfits(t *T) []misfitted {
	return Step(t, "headers that do not fit", func(t *T) []misfitted {
		method, params := kit.Ordinary(t, t.Hostile())
		return misfits(t, kit.Request{Method: method, Params: params}, []form{
			{noVersion, kit.Header(kit.VersionHeader)},
			{noMethod, kit.Header(methodHeader)},
			{otherMethod, kit.Header(methodHeader, "prompts/get")},
			{methodInCapitals, kit.Header(methodHeader, strings.ToUpper(method))},
		})
	})
}

// toolMisfits are those of a call of an unknown tool: whoever serves it has no harm done.
func toolMisfits(t *T) []misfitted {
	kit.WantCalls(t)
	return namedMisfits(t, toolRequest(t))
}

// resourceMisfits are those of a listed resource or, where none is listed, of an unknown one.
func resourceMisfits(t *T) []misfitted { return namedMisfits(t, resourceRequest(t)) }

// promptMisfits are those of an unknown prompt.
func promptMisfits(t *T) []misfitted { return namedMisfits(t, promptRequest(t)) }

// namedMisfits are those of a request that is about something with a name. It ends a check of what the server does not
// have.
func namedMisfits(t *T, request kit.Request) []misfitted {
	all := nameMisfits(t, request)
	if all[0].isUnknown() {
		t.Because(NotOffered).Skip("the server does not know %s", request.Method)
	}
	return all
}

// nameMisfits are namedMisfits of whatever server.
func nameMisfits(t *T, request kit.Request) []misfitted {
	return Step(t, "names that do not fit: "+request.Method, func(t *T) []misfitted {
		return misfits(t, request, []form{
			{noName, kit.Header(nameHeader)},
			{otherName, kit.Header(nameHeader, "mcpcheck-other")},
			{badBase64, kit.Header(nameHeader, "=?base64?!!!?=")},
		})
	})
}

// isUnknown reports whether the server does not know the method.
func (x misfitted) isUnknown() bool {
	const methodNotFound = -32601
	code, _ := x.usual.Code()
	return code == methodNotFound
}

func toolRequest(t *T) kit.Request {
	return kit.Request{Method: "tools/call", Params: M{"name": kit.UnknownName(t), "arguments": M{}}}
}

func resourceRequest(t *T) kit.Request {
	uri := "test://mcpcheck-unknown"
	if len(t.Server.Resources) > 0 {
		if listed, ok := t.Server.Resources[0]["uri"].(string); ok {
			uri = listed
		}
	}
	return kit.Request{Method: "resources/read", Params: M{"uri": uri}}
}

func promptRequest(t *T) kit.Request {
	return kit.Request{Method: "prompts/get", Params: M{"name": "mcpcheck_no_such_prompt"}}
}

// namedRequest is one of them that the server may be asked; it ends a check that wants one where there is none.
func namedRequest(t *T) kit.Request {
	switch {
	case t.Server.Declares("tools") && MayCallUnknown(t):
		return toolRequest(t)
	case t.Server.Declares("prompts"):
		return promptRequest(t)
	case t.Server.Declares("resources"):
		return resourceRequest(t)
	}
	t.Because(NotOffered).Skip("the server has nothing with a name: no tools, prompts or resources")
	return kit.Request{}
}

// subjectOf is what a request is about, which stands in Mcp-Name.
func subjectOf(r kit.Request) string {
	if uri, ok := r.Params["uri"].(string); ok {
		return uri
	}
	name, _ := r.Params["name"].(string)
	return name
}

// inBase64 is a value of a header as it is encoded, whether it needs to be or not.
func inBase64(value string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(value)) + "?="
}

// allMisfits are all that can be tried, but for what may be a request of an older revision.
func allMisfits(t *T) []misfitted {
	all := headerMisfits(t)
	if _, none := findArgument(t, argument.isAny); none == nil {
		all = append(all, slices.DeleteFunc(argumentMisfits(t), misfitted.isUnknown)...)
	}
	return all
}

// headerMisfits are those of the headers that every server knows.
func headerMisfits(t *T) (all []misfitted) {
	all = slices.Concat(listMisfits(t), withOtherVersions(t))
	if t.Server.Declares("tools") && MayCallUnknown(t) {
		all = append(all, nameMisfits(t, toolRequest(t))...)
	}
	if t.Server.Declares("resources") {
		all = append(all, nameMisfits(t, resourceRequest(t))...)
	}
	if t.Server.Declares("prompts") {
		all = append(all, nameMisfits(t, promptRequest(t))...)
	}
	return slices.DeleteFunc(all, func(x misfitted) bool {
		return x.isUnknown() || x.Subject.Name == noVersion && shakesHands(t)
	})
}

// withOtherVersions are requests that name one version in the header and another one in the body.
func withOtherVersions(t *T) []misfitted {
	return Step(t, "versions that differ", askWithOtherVersions)
}

func askWithOtherVersions(t *T) (all []misfitted) {
	const unknown = "2099-01-01"
	s := t.Hostile()
	usual := AskHarmless(t, s)
	for _, v := range []struct{ header, body string }{
		{t.Revision, unknown}, {unknown, t.Revision}, {Newest, t.Revision},
	} {
		x := askOddly(t, s, kit.Request{
			Params: M{"_meta": M{driver.MetaRevision: v.body}}, Method: "server/discover",
			Header: kit.Header(kit.VersionHeader, v.header),
		})
		what := "version " + v.header + " in the header and " + v.body + " in the body"
		all = append(all, misfitted{kit.AttemptOf(s, what, x), usual})
	}
	return all
}
