package kit

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// ListedPrompts are the prompts that discovery found.
func ListedPrompts(t *T) []Subject { return namedSubjects(t.Server.Prompts) }

// UnknownPrompt is a name that no prompt has, the same one for the same seed.
func UnknownPrompt(t *T) string { return strings.Replace(UnknownName(t), "tool", "prompt", 1) }

// GotPrompt is a prompt that was asked for, and what came of it.
type GotPrompt struct {
	*Conversation
	Prompt Subject
	Made   bool // a value of an argument was made up: it may not be one that the prompt takes

	end func() // ends who looks at it as asking for it has ended
}

// Result is what the prompt came to; nil when it has none. It ends a check when that could not be found out.
func (g *GotPrompt) Result(t *T) M {
	if g.end(); g.GivenUp != "" {
		t.Inconclusive("%s", g.GivenUp)
	}
	if g.Last.Err != nil {
		t.Again("%v", Explain(g.Last.Err))
	}
	if result := g.Last.Result(); result != nil && TypeOf(result) == "complete" {
		return result
	}
	return nil
}

// Subject is the prompt as one of several.
func (g *GotPrompt) Subject() Subject {
	if g.Conversation == nil {
		return g.Prompt
	}
	return Subject{Name: g.Prompt.Name, Frames: []*driver.Frame{g.Last.Request, g.Last.Frame}}
}

// GotPrompts are the prompts of the run.
type GotPrompts struct {
	List []*GotPrompt
	Left string // why not all that are listed were asked for; empty: they were
}

// GetPrompts asks for the prompts that the server lists, each once and with the arguments that it requires, as far as
// there is time.
func GetPrompts(t *T) GotPrompts {
	return Step(t, "prompts", func(t *T) (all GotPrompts) {
		var queue []*GotPrompt
		for _, prompt := range ListedPrompts(t) {
			if _, named := prompt.Value["name"].(string); named {
				queue = append(queue, newGot(t, prompt))
			}
		}
		allowance := NewAllowance()
		for batch := range slices.Chunk(queue, AtOnce(t)) {
			allowance.Stop()
			s := t.Session() // which may take a process
			if all.Left = allowance.Spent(); all.Left == "" {
				if err := KnownUnanswered(t, "prompts/get"); err != nil {
					all.Left = err.Error()
				}
			}
			if all.Left != "" {
				return all
			}
			params := func(i int) M { return batch[i].Params }
			for i, r := range askedSideBySide(t, s, "prompts/get", len(batch), params) {
				batch[i].follow(t, s, r)
				allowance.Spend(batch[i].Last)
			}
			all.List = append(all.List, batch...)
		}
		return all
	})
}

// newGot is a prompt to be asked for.
func newGot(t *T, prompt Subject) *GotPrompt {
	arguments, made := PromptArguments(t, prompt)
	params := Enabling(t, M{"name": prompt.Name, "arguments": arguments})
	return &GotPrompt{Conversation: &Conversation{Method: "prompts/get", Params: params}, Prompt: prompt, Made: made}
}

// follow takes the first reply, and answers what it asks for.
func (g *GotPrompt) follow(t *T, s *driver.Session, r driver.Reply) {
	g.Last = r
	g.end = Deferred(t, func() {
		if params, again := g.hear(t, Accept(t, r)); again {
			g.Continue(t, s, params)
		}
	})
}

// Placeholder is the value of an argument that the server completes with nothing.
const Placeholder = "mcpcheck"

// PromptArguments are those with which a prompt is asked for: of what it requires, values that the server has
// completed. What is left is made up.
func PromptArguments(t *T, prompt Subject) (arguments M, made bool) {
	arguments = M{}
	for _, name := range Required(prompt) {
		value := ""
		if t.Server.Declares("completions") {
			value = CompleteAll(t).Completed(prompt.Name, name)
		}
		if value == "" {
			value, made = Placeholder, true
		}
		arguments[name] = value
	}
	return arguments, made
}

// Required are the names of the arguments that a prompt requires.
func Required(prompt Subject) (names []string) {
	for _, argument := range ObjectsIn(prompt.Value["arguments"]) {
		if name, ok := argument["name"].(string); ok && argument["required"] == true {
			names = append(names, name)
		}
	}
	return names
}

// Want ends a check of prompts when none was asked for; else the result tells what was left out.
func (all GotPrompts) Want(t *T) GotPrompts {
	switch {
	case len(all.List) == 0 && all.Left != "":
		t.Inconclusive("%s", all.Left)
	case len(all.List) == 0:
		t.Because(NotOffered).Skip("the server lists no prompt with a name")
	}
	if all.Left != "" {
		t.Partly("%d of %d prompts were got: %s", len(all.List), len(t.Server.Prompts), all.Left)
	}
	return all
}
