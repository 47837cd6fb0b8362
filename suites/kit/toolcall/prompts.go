package toolcall

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// ListedPrompts are the prompts that discovery found.
func ListedPrompts(t *check.T) []check.Subject { return protocol.NamedSubjects(t.Server.Prompts) }

// UnknownPromptName is a name that no prompt has. It depends on the seed only.
func UnknownPromptName(t *check.T) string {
	return strings.Replace(protocol.UnknownToolName(t), "tool", "prompt", 1)
}

// FetchedPrompt is a prompt that was requested, with the replies.
type FetchedPrompt struct {
	*InputLoop
	Prompt check.Subject
	// HasPlaceholder reports whether a value of an argument is Placeholder, which the prompt may not accept.
	HasPlaceholder bool
	// IsCombined reports whether values of several arguments were completed, which the server may not know together.
	IsCombined bool

	// requireComplete ends a check in the way in which requesting the prompt ended.
	requireComplete func()
}

// Result is the final result; nil when there is none. It ends a check when the request was not carried to its end.
func (g *FetchedPrompt) Result(t *check.T) check.M {
	if g.requireComplete(); g.AbortReason != "" {
		t.NoVerdict(check.Undecided, "%s", g.AbortReason)
	}
	if g.LastReply.Err != nil {
		t.Retry(check.Undecided, "%v", check.Explain(g.LastReply.Err))
	}
	if result := g.LastReply.Result(); result != nil && ResultType(result) == "complete" {
		return result
	}
	return nil
}

// Subject shows the prompt as one of several.
func (g *FetchedPrompt) Subject() check.Subject {
	if g.InputLoop == nil {
		return g.Prompt
	}
	return check.Subject{Name: g.Prompt.Name, Frames: []*driver.Frame{g.LastReply.Request, g.LastReply.Frame}}
}

// FetchedPrompts are the prompts of the run.
type FetchedPrompts struct {
	List []*FetchedPrompt
	// IncompleteReason is why not all listed prompts were requested; empty when they were.
	IncompleteReason string
}

// GetPrompts requests each listed prompt once with its required arguments, as far as time permits.
func GetPrompts(t *check.T) FetchedPrompts {
	if responses, recorded := check.RecordedResponses(t, "prompts/get"); recorded {
		return recordedPrompts(t, responses)
	}
	return check.Step(t, "prompts", func(t *check.T) (all FetchedPrompts) {
		var queue []*FetchedPrompt
		for _, prompt := range ListedPrompts(t) {
			if _, named := prompt.Value["name"].(string); named {
				arguments, made := promptArguments(t, prompt, RequiredArguments(prompt))
				queue = append(queue, newFetchedPrompt(t, prompt, arguments, made))
			}
		}
		return getPrompts(t, queue)
	})
}

// getPrompts requests prompts, as far as time permits.
func getPrompts(t *check.T, queue []*FetchedPrompt) (all FetchedPrompts) {
	budget := NewCallBudget()
	for batch := range slices.Chunk(queue, concurrency(t)) {
		budget.Pause()
		s := t.Session() // this may start a process
		if all.IncompleteReason = budget.ExhaustedReason(); all.IncompleteReason == "" {
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
			budget.Charge(batch[i].LastReply)
		}
		all.List = append(all.List, batch...)
	}
	return all
}

// maxPromptVariants is how many requests GetPromptVariants makes.
const maxPromptVariants = 100

// GetPromptVariants requests the prompts that GetPrompts got again with other arguments, as far as time permits: with
// all optional ones, with each of them alone, and with further values that the server completes. The server may refuse
// them.
func GetPromptVariants(t *check.T) []*FetchedPrompt {
	got := GetPrompts(t)
	if check.SavesRequests(t) || t.IsQuick() {
		return nil
	}
	return check.Step(t, "prompts with other arguments", func(t *check.T) []*FetchedPrompt {
		var queue []*FetchedPrompt
		for _, one := range got.List {
			if one.LastReply.Result() != nil {
				queue = append(queue, one.variants(t)...)
			}
		}
		return getPrompts(t, queue[:min(len(queue), maxPromptVariants)]).List
	})
}

// variants are requests for the prompt with other arguments.
func (g *FetchedPrompt) variants(t *check.T) (all []*FetchedPrompt) {
	usual, _ := g.Params["arguments"].(check.M)
	add := func(more check.M, made bool) {
		arguments := maps.Clone(usual)
		maps.Copy(arguments, more)
		all = append(all, newFetchedPrompt(t, g.Prompt, arguments, made || g.HasPlaceholder))
	}
	var optional []string
	for _, name := range uniqueNames(g.Prompt.Value["arguments"]) {
		if _, given := usual[name]; !given {
			optional = append(optional, name)
		}
	}
	if len(optional) > 0 {
		add(promptArguments(t, g.Prompt, optional))
	}
	if len(optional) > 1 {
		for _, name := range optional {
			add(promptArguments(t, g.Prompt, []string{name}))
		}
	}
	const most = 5
	for _, name := range uniqueNames(g.Prompt.Value["arguments"]) {
		values := completions(t).valuesFor(g.Prompt.Name, name)
		for _, value := range values[min(1, len(values)):min(most, len(values))] {
			add(check.M{name: value}, false)
		}
	}
	return all
}

// newFetchedPrompt is a prompt to request.
func newFetchedPrompt(t *check.T, prompt check.Subject, arguments check.M, made bool) *FetchedPrompt {
	params := WithAllCapabilities(t, check.M{"name": prompt.Name, "arguments": arguments})
	return &FetchedPrompt{InputLoop: &InputLoop{Method: "prompts/get", Params: params}, Prompt: prompt,
		HasPlaceholder: made, IsCombined: len(arguments) > 1}
}

// finish records the first reply, and answers its input requests.
func (g *FetchedPrompt) finish(t *check.T, s *driver.Session, r driver.Reply) {
	g.LastReply = r
	g.requireComplete = check.Deferred(t, func() {
		if params, again := g.onReply(t, check.RequireServerReply(t, r)); again {
			g.Continue(t, s, params)
		}
	})
}

// Placeholder is the value of an argument for which the server completes nothing.
const Placeholder = "mcpcheck"

// promptArguments are values for arguments of a prompt, completed by the server if possible, with the values before as
// the context; made reports whether one is Placeholder.
func promptArguments(t *check.T, prompt check.Subject, names []string) (arguments check.M, made bool) {
	arguments = check.M{}
	known := map[string]string{}
	for _, name := range names {
		values := completions(t).valuesFor(prompt.Name, name)
		if len(values) > 0 && len(known) > 0 && !check.SavesRequests(t) {
			values = append(CompleteWith(t, PromptRef(prompt.Name), name, known), values...)
		}
		if len(values) == 0 {
			arguments[name], made = Placeholder, true
			continue
		}
		arguments[name], known[name] = values[0], values[0]
	}
	return arguments, made
}

// completions are CompleteAll of a server that declares them.
func completions(t *check.T) Completions {
	if !t.Server.Declares("completions") {
		return Completions{}
	}
	return CompleteAll(t)
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
