package toolcall

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// recordedCalls are the calls in a recording that have valid arguments, of listed tools. The others of the listed tools
// are uncalled.
func recordedCalls(t *check.T, responses []check.Message) (calls ToolCalls) {
	for _, tool := range ListedTools(t) {
		before := len(calls.List)
		for _, m := range responses {
			params := requestParams(m)
			arguments, _ := params["arguments"].(check.M)
			isPlain := !check.HasMember(params, "task") && !IsRefusedRetry(m)
			if params["name"] == tool.Name && isPlain && takes(t, tool, arguments) {
				calls.List = append(calls.List, ToolCall{Tool: tool, Arguments: arguments, Session: m.Session,
					Reply: m.Reply(), InputLoop: recordedLoop(m), Duration: m.Reply().Took()})
			}
		}
		if len(calls.List) == before {
			calls.Uncalled = append(calls.Uncalled,
				Uncalled{Tool: tool, Detail: "the recording has no valid call of it"})
		}
	}
	return calls
}

// takes reports whether arguments satisfy the inputSchema of a tool.
func takes(t *check.T, tool check.Subject, arguments check.M) bool {
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if arguments == nil {
		arguments = check.M{}
	}
	return err == nil && schema.Validate(arguments) == nil
}

// recordedPrompts are the listed prompts that a recording has, with all arguments that they require. Whether the server
// takes their values is not known.
func recordedPrompts(t *check.T, responses []check.Message) (all FetchedPrompts) {
	for _, prompt := range ListedPrompts(t) {
		for _, m := range responses {
			params := requestParams(m)
			arguments, _ := params["arguments"].(check.M)
			lacks := func(name string) bool { return !check.HasMember(arguments, name) }
			isIncomplete := IsRefusedRetry(m) || slices.ContainsFunc(RequiredArguments(prompt), lacks)
			if params["name"] == prompt.Name && !isIncomplete {
				all.List = append(all.List, &FetchedPrompt{Prompt: prompt, InputLoop: recordedLoop(m),
					HasPlaceholder: true, IsCombined: len(arguments) > 1, requireComplete: func() {}})
			}
		}
	}
	if len(all.List) < len(t.Server.Prompts) {
		all.IncompleteReason = "the recording has no more"
	}
	return all
}

// recordedCompletions are the completions of listed arguments in a recording.
func recordedCompletions(t *check.T, responses []check.Message) (all Completions) {
	for _, m := range responses {
		params := requestParams(m)
		ref, _ := params["ref"].(check.M)
		argument, _ := params["argument"].(check.M)
		value, _ := argument["value"].(string)
		context, _ := params["context"].(check.M)
		others, _ := context["arguments"].(check.M)
		for _, listed := range CompletionArguments(t) {
			if listed.Name == argument["name"] && listed.Ref["type"] == ref["type"] &&
				listed.Ref["name"] == ref["name"] && listed.Ref["uri"] == ref["uri"] {
				all.List = append(all.List,
					Completion{CompletionArgument: listed, Value: value, Context: others, Reply: m.Reply()})
			}
		}
	}
	return all
}

// recordedLoop is a request of a recording as a loop of its own. Where input was required, the request with the input
// is another one.
func recordedLoop(m check.Message) *InputLoop {
	return &InputLoop{Method: m.Request.Method, Params: requestParams(m), LastReply: m.Reply()}
}

// IsRefusedRetry reports whether a request with input, or with the state of another one, was refused. The input need
// not be what the server wants.
func IsRefusedRetry(m check.Message) bool {
	params := requestParams(m)
	return m.HasError && (check.HasMember(params, "inputResponses") || check.HasMember(params, "requestState"))
}

func requestParams(m check.Message) check.M {
	params, _ := m.Request.JSON()["params"].(check.M)
	return params
}
