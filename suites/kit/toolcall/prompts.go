package toolcall

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// ListedPrompts are the prompts that discovery found.
func ListedPrompts(t *check.T) []check.Subject { return protocol.NamedSubjects(t.Server.Prompts) }

// UnknownPromptName is a name that no prompt has, the same one for the same seed.
func UnknownPromptName(t *check.T) string {
	return strings.Replace(protocol.UnknownToolName(t), "tool", "prompt", 1)
}

// FetchedPrompt is a prompt that was asked for, and what came of it.
type FetchedPrompt struct {
	*InputLoop
	Prompt         check.Subject
	HasPlaceholder bool // a value of an argument was made up: it may not be one that the prompt takes

	requireComplete func() // ends who looks at it as asking for it has ended
}

// Result is what the prompt came to; nil when it has none. It ends a check when that could not be found out.
func (g *FetchedPrompt) Result(t *check.T) check.M {
	if g.requireComplete(); g.AbortReason != "" {
		t.Inconclusive("%s", g.AbortReason)
	}
	if g.LastReply.Err != nil {
		t.Retry("%v", check.Explain(g.LastReply.Err))
	}
	if result := g.LastReply.Result(); result != nil && ResultType(result) == "complete" {
		return result
	}
	return nil
}

// Subject is the prompt as one of several.
func (g *FetchedPrompt) Subject() check.Subject {
	if g.InputLoop == nil {
		return g.Prompt
	}
	return check.Subject{Name: g.Prompt.Name, Frames: []*driver.Frame{g.LastReply.Request, g.LastReply.Frame}}
}

// FetchedPrompts are the prompts of the run.
type FetchedPrompts struct {
	List             []*FetchedPrompt
	IncompleteReason string // why not all that are listed were asked for; empty: they were
}

// GetPrompts asks for the prompts that the server lists, each once and with the arguments that it requires, as far as
// there is time.
func GetPrompts(t *check.T) FetchedPrompts {
	return check.Step(t, "prompts", func(t *check.T) (all FetchedPrompts) {
		var queue []*FetchedPrompt
		for _, prompt := range ListedPrompts(t) {
			if _, named := prompt.Value["name"].(string); named {
				queue = append(queue, newFetchedPrompt(t, prompt))
			}
		}
		allowance := NewCallBudget()
		for batch := range slices.Chunk(queue, concurrency(t)) {
			allowance.Pause()
			s := t.Session() // which may take a process
			if all.IncompleteReason = allowance.ExhaustedReason(); all.IncompleteReason == "" {
				if err := check.KnownUnanswered(t, "prompts/get"); err != nil {
					all.IncompleteReason = err.Error()
				}
			}
			if all.IncompleteReason != "" {
				return all
			}
			params := func(i int) check.M { return batch[i].Params }
			for i, r := range requestConcurrently(t, s, "prompts/get", len(batch), params) {
				batch[i].finish(t, s, r)
				allowance.Charge(batch[i].LastReply)
			}
			all.List = append(all.List, batch...)
		}
		return all
	})
}

// newFetchedPrompt is a prompt to be asked for.
func newFetchedPrompt(t *check.T, prompt check.Subject) *FetchedPrompt {
	arguments, made := promptArguments(t, prompt)
	params := WithAllCapabilities(t, check.M{"name": prompt.Name, "arguments": arguments})
	return &FetchedPrompt{InputLoop: &InputLoop{Method: "prompts/get", Params: params}, Prompt: prompt,
		HasPlaceholder: made}
}

// finish takes the first reply, and answers what it asks for.
func (g *FetchedPrompt) finish(t *check.T, s *driver.Session, r driver.Reply) {
	g.LastReply = r
	g.requireComplete = check.Deferred(t, func() {
		if params, again := g.onReply(t, check.RequireServerReply(t, r)); again {
			g.Continue(t, s, params)
		}
	})
}

// Placeholder is the value of an argument that the server completes with nothing.
const Placeholder = "mcpcheck"

// promptArguments are those with which a prompt is asked for: of what it requires, values that the server has
// completed. What is left is made up.
func promptArguments(t *check.T, prompt check.Subject) (arguments check.M, made bool) {
	arguments = check.M{}
	for _, name := range RequiredArguments(prompt) {
		value := ""
		if t.Server.Declares("completions") {
			value = CompleteAll(t).ValueFor(prompt.Name, name)
		}
		if value == "" {
			value, made = Placeholder, true
		}
		arguments[name] = value
	}
	return arguments, made
}

// RequiredArguments are the names of the arguments that a prompt requires.
func RequiredArguments(prompt check.Subject) (names []string) {
	for _, argument := range protocol.ObjectsIn(prompt.Value["arguments"]) {
		if name, ok := argument["name"].(string); ok && argument["required"] == true {
			names = append(names, name)
		}
	}
	return names
}

// RequireAny ends a check of prompts when none was asked for; else the result tells what was left out.
func (all FetchedPrompts) RequireAny(t *check.T) FetchedPrompts {
	switch {
	case len(all.List) == 0 && all.IncompleteReason != "":
		t.Inconclusive("%s", all.IncompleteReason)
	case len(all.List) == 0:
		t.WithReason(check.NotOffered).Skip("the server lists no prompt with a name")
	}
	if all.IncompleteReason != "" {
		t.Caveat("%d of %d prompts were got: %s", len(all.List), len(t.Server.Prompts), all.IncompleteReason)
	}
	return all
}
