package completion

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// referenceChecks are the checks of what is asked for: a prompt, a template, an argument, a context.
var referenceChecks = Suite{
	"completion/unknown-prompt": Probe(func(t *T) {
		blank := toolcall.CompletionArgument{Ref: toolcall.PromptRef(toolcall.UnknownPromptName(t)), Name: "a"}
		r := complete(t, t.Session(), blank.Params(""))
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(BeError(-32602))
	}),

	"completion/unknown-template": Probe(func(t *T) {
		r := complete(t, t.Session(), toolcall.CompletionArgument{Ref: toolcall.TemplateRef("mcpcheck-nonexistent:///{x}"),
			Name: "x"}.Params(""))
		t.Expect(toolcall.Completion{Reply: r}.Values()).To(BeEmptyList[string]("an error, or no values"))
	}),

	"completion/unknown-argument": Probe(func(t *T) {
		served := toolcall.CompleteAll(t).RequireServed(t)
		blank := served[0].CompletionArgument
		blank.Name = "mcpcheck_x"
		r := invalid.TryInvalid(t, t.SessionForInvalidInput(), completeMethod, blank.Params(""))
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(BeAnswered())
		code, _ := r.Code()
		t.Expect(code != -32603).To(BeTrue("no values, or error -32602", "%s", r))
	}),

	"completion/context-accepted": Probe(func(t *T) {
		all := toolcall.CompleteAll(t)
		s, allowance := t.Session(), toolcall.NewCallBudget()
		Each(t, all.RequireServed(t), toolcall.Completion.Subject, func(t *T, c toolcall.Completion) {
			if why := allowance.ExhaustedReason(); why != "" {
				t.WithReason(Limit).Inconclusive("%s", why)
			}
			contexts := []M{{}}
			if resolved := all.Context(c.CompletionArgument); len(resolved) > 0 {
				contexts = append(contexts, resolved)
			}
			for _, resolved := range contexts {
				params := c.Params("")
				params["context"] = M{"arguments": resolved}
				usual := protocol.AskFunc(t, s, completeMethod, c.Params(""))
				r, _ := protocol.Compare(t, protocol.SameSuccess, c.Reply, usual, protocol.AskFunc(t, s, completeMethod, params))
				t.Expect(r).To(BeResult())
			}
		})
	}),
}

// malformedChecks are the checks of requests that no conforming client makes.
var malformedChecks = Suite{
	"completion/missing-argument": Probe(func(t *T) {
		forms := []M{{"ref": firstReference(t)}}
		if t.IsModern() {
			forms = []M{{}, forms[0]}
		}
		eachMalformed(t, forms, func(t *T, r driver.Reply) { t.Expect(r).To(BeError(-32602)) })
	}),

	"completion/invalid-ref-type": Probe(func(t *T) {
		params := M{"ref": M{"type": "ref/mcpcheck", "name": "x"}, "argument": M{"name": "a", "value": ""}}
		eachMalformed(t, []M{params}, func(t *T, r driver.Reply) { t.Expect(r).To(BeError()) })
	}),

	"completion/inputs-validated": Probe(func(t *T) {
		ref := firstReference(t)
		name := "a"
		if blanks := toolcall.CompletionArguments(t); len(blanks) > 0 {
			name = blanks[0].Name
		}
		forms := []M{
			{"ref": ref, "argument": M{"name": name, "value": 5}},
			{"ref": ref, "argument": "x"},
			{"ref": "x", "argument": M{"name": name, "value": ""}},
		}
		eachMalformed(t, forms, func(t *T, r driver.Reply) {
			t.Expect(r).To(BeAnswered())
			t.Expect(toolcall.Completion{Reply: r}.Values()).To(BeEmptyList[string]("an error"))
			t.ExpectShould(r).To(BeError())
			code, _ := r.Code()
			t.ExpectShould(code != -32603).To(BeTrue("an error other than an internal one", "%s", r))
		})
	}),
}

// firstReference is the first that the server lists of what it may complete, or one to nothing.
func firstReference(t *T) M {
	if blanks := toolcall.CompletionArguments(t); len(blanks) > 0 {
		return blanks[0].Ref
	}
	return toolcall.PromptRef("mcpcheck")
}

// eachMalformed tries a check on the answers to forms of the request.
func eachMalformed(t *T, forms []M, run func(*T, driver.Reply)) {
	s := t.SessionForInvalidInput()
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

// complete is the answer to a request of a server that serves such ones.
func complete(t *T, s *driver.Session, params M) driver.Reply {
	r := t.Request(s, completeMethod, params)
	requireKnownMethod(t, r)
	return r
}

// requireKnownMethod ends a check when the method is unknown to the server.
func requireKnownMethod(t *T, r driver.Reply) {
	code, _ := r.Code()
	switch {
	case code != -32601:
	case !t.Server.Declares("completions"):
		t.WithReason(NotOffered).Skip("the server does not complete, which %s has no capability for", t.Revision)
	default:
		t.Yield("the method is unknown to the server")
	}
}
