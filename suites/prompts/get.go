package prompts

import (
	"maps"
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// getChecks are the checks of requests for listed prompts.
var getChecks = check.Suite{
	"prompts/get-works": check.Probe(func(t *check.T) {
		check.Each(t, requireFetched(t), (*toolcall.FetchedPrompt).Subject,
			func(t *check.T, got *toolcall.FetchedPrompt) {
				if got.Result(t) != nil {
					return
				}
				code, _ := got.LastReply.Code()
				if got.HasPlaceholder && code != errcode.MethodNotFound {
					t.NoVerdict(check.Undecided, "mcpcheck had to make an argument up: %s", check.Got(got.LastReply))
				}
				if got.IsCombined && code == errcode.InvalidParams {
					t.NoVerdict(check.Undecided, "the server may not know the values together that it completes: %s",
						check.Got(got.LastReply))
				}
				if len(got.InputReplies) > 0 && code == errcode.InvalidParams {
					t.NoVerdict(check.OtherCheck, "it asked for input, and then brought %s",
						check.Got(got.LastReply))
				}
				if got.LastReply.IsForbidden() {
					t.NoVerdict(check.Undecided, "the token may lack a scope: %s", check.Got(got.LastReply))
				}
				if clientErrorPattern.MatchString(got.LastReply.MessageText()) {
					t.NoVerdict(check.Undecided, "it seems to want something of the client: %s",
						check.Got(got.LastReply))
				}
				if schemas.ValidateMessage(t.Revision, "Prompt", got.Prompt.Value) != nil {
					t.Yield("what the prompt requires is not known")
				}
				if !slices.Contains(listedAfterGet(t), got.Prompt.Name) {
					t.Skip(check.NotApplicable, "the prompt has left the list")
				}
				t.Expect(got.LastReply).To(check.BeResult())
			})
	}),

	"prompts/missing-required-argument": check.Probe(func(t *check.T) {
		eachPromptWithRequired(t, func(t *check.T, prompt check.Subject, s *driver.Session) {
			for _, params := range []check.M{{"name": prompt.Name}, {"name": prompt.Name, "arguments": check.M{}}} {
				r := invalid.RequestInvalid(t, s, "prompts/get", toolcall.WithAllCapabilities(t, params))
				if toolcall.IsInputRequired(t, r) {
					t.Skip(check.NotApplicable, "the server asks for what is missing")
				}
				t.Expect(r).To(check.BeError(errcode.InvalidParams))
			}
			for _, name := range soleArguments(t, prompt) {
				r := invalid.RequestInvalid(t, s, "prompts/get", withoutArgument(paramsOf(t, prompt), name))
				t.Expect(r.Result() == nil || toolcall.IsInputRequired(t, r)).To(
					check.BeTrue("an error, since "+name+" is missing", "%s", r))
			}
		})
	}),

	"prompts/unknown-argument": check.Probe(func(t *check.T) {
		eachPrompt(t, func(t *check.T, got *toolcall.FetchedPrompt) {
			s := t.Session()
			usual := protocol.AskFunc(t, s, "prompts/get", got.Params)
			other := func() driver.Reply {
				return t.Send(s, "prompts/get", withArgument(got.Params, "mcpcheck_extra", "1"), check.AllowSilence)
			}
			breaks := func(r driver.Reply) bool {
				code, _ := r.Code()
				return code == errcode.InternalError ||
					!r.Answered()
			}
			alike := func(a, b driver.Reply) bool { return breaks(a) == breaks(b) }
			r, _ := protocol.Compare(t, alike, got.LastReply, usual, other)
			invalid.SkipUnlessServerRejects(t, r)
			t.Expect(r).To(check.BeAnswered())
			t.Expect(!breaks(r)).To(check.BeTrue("a result, or error -32602", "%s", r))
		})
	}),

	"prompts/non-string-argument": check.Probe(func(t *check.T) {
		eachPrompt(t, func(t *check.T, got *toolcall.FetchedPrompt) {
			names := namesOf(protocol.ObjectsIn(got.Prompt.Value["arguments"]))
			if len(names) == 0 {
				t.Skip(check.NotOffered, "no prompt that was got has arguments")
			}
			if check.SavesRequests(t) {
				names = names[:1]
			}
			for _, name := range names {
				r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), "prompts/get",
					withArgument(got.Params, name, 5))
				invalid.SkipUnlessServerRejects(t, r)
				t.Expect(r).To(check.BeError(), name)
			}
		})
	}),
}

// clientErrorPattern matches an error that says that the client lacks what a prompt needs.
var clientErrorPattern = regexp.MustCompile(
	`(?i)elicitation|sampling|\broots\b|capabilit|client does(?: not|n't) support`)

// eachPrompt runs a check on the prompts that were requested within the time limit.
func eachPrompt(t *check.T, run func(*check.T, *toolcall.FetchedPrompt)) {
	allowance := toolcall.NewCallBudget()
	check.Each(t, requireFetched(t), (*toolcall.FetchedPrompt).Subject,
		func(t *check.T, got *toolcall.FetchedPrompt) {
			if got.Result(t) == nil {
				t.Yield("no prompt was got")
			}
			if why := allowance.ExhaustedReason(); why != "" {
				t.NoVerdict(check.Limit, "%s", why)
			}
			run(t, got)
		})
}

// listedAfterGet returns the names that are listed after the listed prompts were requested.
func listedAfterGet(t *check.T) []string {
	toolcall.GetPrompts(t)
	return check.Step(t, "prompts listed, once they were got", func(t *check.T) []string {
		return protocol.ItemNames(t, t.Session(), "prompts", check.M{})
	})
}

// eachPromptWithRequired runs a check on the prompts with required arguments, within the time limit.
func eachPromptWithRequired(t *check.T, run func(*check.T, check.Subject, *driver.Session)) {
	allowance := toolcall.NewCallBudget()
	prompts := slices.DeleteFunc(toolcall.ListedPrompts(t), func(prompt check.Subject) bool {
		_, named := prompt.Value["name"].(string)
		return !named || len(toolcall.RequiredArguments(prompt)) == 0
	})
	if len(prompts) == 0 {
		t.Skip(check.NotOffered, "no prompt requires an argument")
	}
	s := t.Session()
	t.Each(prompts, func(t *check.T, prompt check.Subject) {
		if why := allowance.ExhaustedReason(); why != "" {
			t.NoVerdict(check.Limit, "%s", why)
		}
		run(t, prompt, s)
	})
}

// soleArguments are the arguments that a prompt requires, if there are several and the prompt was got with them: each
// of them may be the only one that is missing.
func soleArguments(t *check.T, prompt check.Subject) []string {
	names := toolcall.RequiredArguments(prompt)
	if len(names) < 2 || paramsOf(t, prompt) == nil || check.SavesRequests(t) {
		return nil
	}
	return names
}

// paramsOf returns the params with which a prompt was got; nil if it was not.
func paramsOf(t *check.T, prompt check.Subject) check.M {
	for _, got := range toolcall.GetPrompts(t).List {
		if got.Prompt.Name == prompt.Name && got.LastReply.Result() != nil {
			return got.Params
		}
	}
	return nil
}

// withoutArgument returns params of prompts/get without an argument.
func withoutArgument(params check.M, name string) check.M {
	params = withArgument(params, name, nil)
	delete(params["arguments"].(check.M), name)
	return params
}

// withArgument returns params of prompts/get with an argument added or replaced.
func withArgument(params check.M, name string, value any) check.M {
	arguments, _ := params["arguments"].(check.M)
	params, arguments = maps.Clone(params), maps.Clone(arguments)
	arguments[name] = value
	params["arguments"] = arguments
	return params
}

// requireFetched returns the prompts of the run. It ends a check when none was requested. Otherwise it adds a caveat
// for what was left out.
func requireFetched(t *check.T) []*toolcall.FetchedPrompt {
	all := toolcall.GetPrompts(t)
	switch {
	case len(all.List) == 0 && all.IncompleteReason != "":
		t.NoVerdict(check.Undecided, "%s", all.IncompleteReason)
	case len(all.List) == 0:
		t.Skip(check.NotOffered, "the server lists no prompt with a name")
	}
	if all.IncompleteReason != "" {
		t.Caveat("%d of %d prompts were got: %s", len(all.List), len(t.Server.Prompts), all.IncompleteReason)
	}
	return all.List
}
