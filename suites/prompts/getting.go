package prompts

import (
	"maps"
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// getting are the checks of requests for prompts that the server lists.
var getting = Suite{
	"prompts/get-works": Probe(func(t *T) {
		Each(t, kit.GetPrompts(t).Want(t).List, (*kit.GotPrompt).Subject, func(t *T, got *kit.GotPrompt) {
			if got.Result(t) != nil {
				return
			}
			code, _ := got.Last.Code()
			if got.Made && code != -32601 {
				t.Inconclusive("mcpcheck had to make an argument up: %s", Got(got.Last))
			}
			if len(got.Asked) > 0 && code == -32602 {
				t.Because(OtherCheck).Inconclusive("it asked for input, and then brought %s", Got(got.Last))
			}
			if ofClient.MatchString(got.Last.Text()) {
				t.Inconclusive("it seems to want something of the client: %s", Got(got.Last))
			}
			if schemas.ValidateMessage(t.Revision, "Prompt", got.Prompt.Value) != nil {
				t.Yield("what the prompt requires is not known")
			}
			if !slices.Contains(stillListed(t), got.Prompt.Name) {
				t.Skip("the prompt has left the list")
			}
			t.Expect(got.Last).To(BeResult())
		})
	}),

	"prompts/missing-required-argument": Probe(func(t *T) {
		eachRequiring(t, func(t *T, prompt Subject, s *driver.Session) {
			for _, params := range []M{{"name": prompt.Name}, {"name": prompt.Name, "arguments": M{}}} {
				r := kit.AskAmiss(t, s, "prompts/get", kit.Enabling(t, params))
				if kit.AsksForInput(t, r) {
					t.Skip("the server asks for what is missing")
				}
				t.Expect(r).To(BeError(-32602))
			}
		})
	}),

	"prompts/unknown-argument": Probe(func(t *T) {
		eachGot(t, func(t *T, got *kit.GotPrompt) {
			s := t.Session()
			usual := kit.Asking(t, s, "prompts/get", got.Params)
			other := func() driver.Reply {
				return t.Try(s, "prompts/get", withArgument(got.Params, "mcpcheck_extra", "1"))
			}
			breaks := func(r driver.Reply) bool { code, _ := r.Code(); return code == -32603 || !r.Answered() }
			alike := func(a, b driver.Reply) bool { return breaks(a) == breaks(b) }
			r, _ := kit.Compare(t, alike, got.Last, usual, other)
			kit.WantRefuser(t, r)
			t.Expect(r).To(BeAnswered())
			t.Expect(!breaks(r)).To(Hold("a result, or error -32602", "%s", r))
		})
	}),

	"prompts/non-string-argument": Probe(func(t *T) {
		var got *kit.GotPrompt
		argument := ""
		eachGot(t, func(_ *T, one *kit.GotPrompt) {
			if names := namesOf(kit.ObjectsIn(one.Prompt.Value["arguments"])); got == nil && len(names) > 0 {
				got, argument = one, names[0]
			}
		})
		if got == nil {
			t.Because(NotOffered).Skip("no prompt that was got has arguments")
		}
		r := kit.TryAmiss(t, t.Hostile(), "prompts/get", withArgument(got.Params, argument, 5))
		kit.WantRefuser(t, r)
		t.Expect(r).To(BeError())
	}),
}

// ofClient is how servers say that a client lacks what a prompt needs.
var ofClient = regexp.MustCompile(`(?i)elicitation|sampling|\broots\b|capabilit|client does(?: not|n't) support`)

// eachGot tries a check on the prompts that were got, as far as there is time.
func eachGot(t *T, run func(*T, *kit.GotPrompt)) {
	allowance := kit.NewAllowance()
	Each(t, kit.GetPrompts(t).Want(t).List, (*kit.GotPrompt).Subject, func(t *T, got *kit.GotPrompt) {
		if got.Result(t) == nil {
			t.Yield("no prompt was got")
		}
		if why := allowance.Spent(); why != "" {
			t.Because(Limit).Inconclusive("%s", why)
		}
		run(t, got)
	})
}

// stillListed are the names that are listed once what is listed was got.
func stillListed(t *T) []string {
	kit.GetPrompts(t)
	return Step(t, "prompts listed, once they were got", func(t *T) []string {
		return kit.NamesIn(t, t.Session(), "prompts", M{})
	})
}

// eachRequiring tries a check on the prompts that require arguments, as far as there is time.
func eachRequiring(t *T, run func(*T, Subject, *driver.Session)) {
	allowance := kit.NewAllowance()
	prompts := slices.DeleteFunc(kit.ListedPrompts(t), func(prompt Subject) bool {
		_, named := prompt.Value["name"].(string)
		return !named || len(kit.Required(prompt)) == 0
	})
	if len(prompts) == 0 {
		t.Because(NotOffered).Skip("no prompt requires an argument")
	}
	s := t.Session()
	t.Each(prompts, func(t *T, prompt Subject) {
		if why := allowance.Spent(); why != "" {
			t.Because(Limit).Inconclusive("%s", why)
		}
		run(t, prompt, s)
	})
}

// withArgument are params of prompts/get with an argument more, or another one.
func withArgument(params M, name string, value any) M {
	arguments, _ := params["arguments"].(M)
	params, arguments = maps.Clone(params), maps.Clone(arguments)
	arguments[name] = value
	params["arguments"] = arguments
	return params
}
