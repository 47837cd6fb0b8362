package completion

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// referenceChecks are the checks of the request's parameters: a prompt, a template, an argument, a context.
var referenceChecks = check.Suite{
	"completion/unknown-prompt": check.Probe(func(t *check.T) {
		blank := toolcall.CompletionArgument{Ref: toolcall.PromptRef(toolcall.UnknownPromptName(t)), Name: "a"}
		r := complete(t, t.Session(), blank.Params(""))
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	}),

	"completion/unknown-template": check.Probe(func(t *check.T) {
		r := complete(t, t.Session(),
			toolcall.CompletionArgument{Ref: toolcall.TemplateRef("mcpcheck-nonexistent:///{x}"),
				Name: "x"}.Params(""))
		t.Expect(toolcall.Completion{Reply: r}.Values()).To(check.BeEmptyList[string]("an error, or no values"))
	}),

	"completion/unknown-argument": check.Probe(func(t *check.T) {
		served := requireServed(t)
		blank := served[0].CompletionArgument
		blank.Name = "mcpcheck_x"
		r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), completeMethod, blank.Params(""))
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(check.BeAnswered())
		code, _ := r.Code()
		t.Expect(code != errcode.InternalError).To(check.BeTrue("no values, or error -32602", "%s", r))
	}),

	"completion/context-accepted": check.Probe(func(t *check.T) {
		all := toolcall.CompleteAll(t)
		s, allowance := t.Session(), toolcall.NewCallBudget()
		check.Each(t, requireServed(t), toolcall.Completion.Subject, func(t *check.T, c toolcall.Completion) {
			if why := allowance.ExhaustedReason(); why != "" {
				t.NoVerdict(check.Limit, "%s", why)
			}
			for _, context := range contextsFor(all, c) {
				with := c
				with.Context = context
				usual := protocol.AskFunc(t, s, completeMethod, c.Params())
				r, _ := protocol.Compare(t, protocol.SameSuccess, c.Reply, usual,
					protocol.AskFunc(t, s, completeMethod, with.Params()))
				if code, _ := r.Code(); code == errcode.InvalidParams && len(context) > 1 {
					continue // the server may not know these values together
				}
				t.Expect(r).To(check.BeResult())
			}
		})
	}),
}

// contextsFor are contexts to complete an argument with: none, each value of another argument, and all of them.
func contextsFor(all toolcall.Completions, c toolcall.Completion) []check.M {
	contexts, resolved := []check.M{{}}, all.ContextFor(c.CompletionArgument)
	for _, name := range slices.Sorted(maps.Keys(resolved)) {
		contexts = append(contexts, check.M{name: resolved[name]})
	}
	if len(resolved) > 1 {
		contexts = append(contexts, resolved)
	}
	return contexts
}

// malformedChecks are the checks of requests that no conforming client sends.
var malformedChecks = check.Suite{
	"completion/missing-argument": check.Probe(func(t *check.T) {
		forms := []check.M{{"ref": firstReference(t)}}
		if t.IsModern() {
			forms = []check.M{{}, forms[0]}
		}
		eachMalformed(t, forms,
			func(t *check.T, r driver.Reply) { t.Expect(r).To(check.BeError(errcode.InvalidParams)) })
	}),

	"completion/invalid-ref-type": check.Probe(func(t *check.T) {
		params := check.M{"ref": check.M{"type": "ref/mcpcheck", "name": "x"},
			"argument": check.M{"name": "a", "value": ""}}
		eachMalformed(t, []check.M{params}, func(t *check.T, r driver.Reply) { t.Expect(r).To(check.BeError()) })
	}),

	"completion/inputs-validated": check.Probe(func(t *check.T) {
		ref := firstReference(t)
		name := "a"
		if blanks := toolcall.CompletionArguments(t); len(blanks) > 0 {
			name = blanks[0].Name
		}
		forms := []check.M{
			{"ref": ref, "argument": check.M{"name": name, "value": 5}},
			{"ref": ref, "argument": "x"},
			{"ref": "x", "argument": check.M{"name": name, "value": ""}},
		}
		eachMalformed(t, forms, func(t *check.T, r driver.Reply) {
			t.Expect(r).To(check.BeAnswered())
			t.Expect(toolcall.Completion{Reply: r}.Values()).To(check.BeEmptyList[string]("an error"))
			t.ExpectShould(r).To(check.BeError())
			code, _ := r.Code()
			t.ExpectShould(code != errcode.InternalError).To(check.BeTrue("an error other than an internal one",
				"%s", r))
		})
	}),
}

// firstReference returns the first listed reference that can be completed, or a reference to nothing.
func firstReference(t *check.T) check.M {
	if blanks := toolcall.CompletionArguments(t); len(blanks) > 0 {
		return blanks[0].Ref
	}
	return toolcall.PromptRef("mcpcheck")
}

// eachMalformed runs a check on the replies to several forms of the request.
func eachMalformed(t *check.T, forms []check.M, run func(*check.T, driver.Reply)) {
	s := t.Session(check.ForInvalidInput)
	for _, params := range forms {
		r := invalid.TryInvalid(t, s, completeMethod, params)
		requireKnownMethod(t, r)
		invalid.SkipUnlessServerRejects(t, r)
		if t.Server.Declares("completions") {
			invalid.SkipUnlessServed(t, r, toolcall.CompletionArgument{Ref: firstReference(t), Name: "a"}.Params(""))
		}
		run(t, r)
	}
}

// complete sends completion/complete to a server that supports it.
func complete(t *check.T, s *driver.Session, params check.M) driver.Reply {
	r := t.Send(s, completeMethod, params)
	requireKnownMethod(t, r)
	return r
}

// requireKnownMethod ends the check if the server does not know the method.
func requireKnownMethod(t *check.T, r driver.Reply) {
	code, _ := r.Code()
	switch {
	case code != errcode.MethodNotFound:
	case !t.Server.Declares("completions"):
		t.Skip(check.NotOffered, "the server does not complete, which %s has no capability for", t.Revision)
	default:
		t.Yield("the method is unknown to the server")
	}
}
