package completion

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// references are the checks of what is asked for: a prompt, a template, an argument, a context.
var references = Suite{
	"completion/unknown-prompt": Probe(func(t *T) {
		blank := kit.Blank{Ref: kit.PromptRef(kit.UnknownPrompt(t)), Name: "a"}
		r := ask(t, t.Session(), blank.Params(""))
		kit.WantRefuser(t, r)
		t.Expect(r).To(BeError(-32602))
	}),

	"completion/unknown-template": Probe(func(t *T) {
		r := ask(t, t.Session(), kit.Blank{Ref: kit.TemplateRef("mcpcheck-nonexistent:///{x}"), Name: "x"}.Params(""))
		t.Expect(kit.Completion{Reply: r}.Values()).To(BeEmptyList[string]("an error, or no values"))
	}),

	"completion/unknown-argument": Probe(func(t *T) {
		served := kit.CompleteAll(t).Served(t)
		blank := served[0].Blank
		blank.Name = "mcpcheck_x"
		r := kit.TryAmiss(t, t.Hostile(), method, blank.Params(""))
		kit.WantRefuser(t, r)
		t.Expect(r).To(BeAnswered())
		code, _ := r.Code()
		t.Expect(code != -32603).To(Hold("no values, or error -32602", "%s", r))
	}),

	"completion/context-accepted": Probe(func(t *T) {
		all := kit.CompleteAll(t)
		s, allowance := t.Session(), kit.NewAllowance()
		Each(t, all.Served(t), kit.Completion.Subject, func(t *T, c kit.Completion) {
			if why := allowance.Spent(); why != "" {
				t.Because(Limit).Inconclusive("%s", why)
			}
			contexts := []M{{}}
			if resolved := all.Context(c.Blank); len(resolved) > 0 {
				contexts = append(contexts, resolved)
			}
			for _, resolved := range contexts {
				params := c.Params("")
				params["context"] = M{"arguments": resolved}
				usual := kit.Asking(t, s, method, c.Params(""))
				r, _ := kit.Compare(t, kit.BothServed, c.Reply, usual, kit.Asking(t, s, method, params))
				t.Expect(r).To(BeResult())
			}
		})
	}),
}

// malformed are the checks of requests that no conforming client makes.
var malformed = Suite{
	"completion/missing-argument": Probe(func(t *T) {
		forms := []M{{"ref": reference(t)}}
		if t.Modern() {
			forms = []M{{}, forms[0]}
		}
		eachForm(t, forms, func(t *T, r driver.Reply) { t.Expect(r).To(BeError(-32602)) })
	}),

	"completion/invalid-ref-type": Probe(func(t *T) {
		params := M{"ref": M{"type": "ref/mcpcheck", "name": "x"}, "argument": M{"name": "a", "value": ""}}
		eachForm(t, []M{params}, func(t *T, r driver.Reply) { t.Expect(r).To(BeError()) })
	}),

	"completion/inputs-validated": Probe(func(t *T) {
		ref := reference(t)
		name := "a"
		if blanks := kit.Blanks(t); len(blanks) > 0 {
			name = blanks[0].Name
		}
		forms := []M{
			{"ref": ref, "argument": M{"name": name, "value": 5}},
			{"ref": ref, "argument": "x"},
			{"ref": "x", "argument": M{"name": name, "value": ""}},
		}
		eachForm(t, forms, func(t *T, r driver.Reply) {
			t.Expect(r).To(BeAnswered())
			t.Expect(kit.Completion{Reply: r}.Values()).To(BeEmptyList[string]("an error"))
			t.Warn(r).To(BeError())
			code, _ := r.Code()
			t.Warn(code != -32603).To(Hold("an error other than an internal one", "%s", r))
		})
	}),
}

// reference is the first that the server lists of what it may complete, or one to nothing.
func reference(t *T) M {
	if blanks := kit.Blanks(t); len(blanks) > 0 {
		return blanks[0].Ref
	}
	return kit.PromptRef("mcpcheck")
}

// eachForm tries a check on the answers to forms of the request.
func eachForm(t *T, forms []M, run func(*T, driver.Reply)) {
	s := t.Hostile()
	for _, params := range forms {
		r := kit.TryAmiss(t, s, method, params)
		wantKnown(t, r)
		kit.WantRefuser(t, r)
		if t.Server.Declares("completions") {
			kit.WantServed(t, r, kit.Blank{Ref: reference(t), Name: "a"}.Params(""))
		}
		run(t, r)
	}
}

// ask is the answer to a request of a server that serves such ones.
func ask(t *T, s *driver.Session, params M) driver.Reply {
	r := t.Ask(s, method, params)
	wantKnown(t, r)
	return r
}

// wantKnown ends a check when the method is unknown to the server.
func wantKnown(t *T, r driver.Reply) {
	code, _ := r.Code()
	switch {
	case code != -32601:
	case !t.Server.Declares("completions"):
		t.Because(NotOffered).Skip("the server does not complete, which %s has no capability for", t.Revision)
	default:
		t.Yield("the method is unknown to the server")
	}
}
