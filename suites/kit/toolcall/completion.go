package toolcall

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// CompletionArgument is what a server may complete: an argument of a prompt, a variable of a template.
type CompletionArgument struct {
	Ref        check.M
	Name       string
	otherNames []string // the other blanks of the same reference
}

// String is the blank as reports call it.
func (b CompletionArgument) String() string {
	of, _ := b.Ref["name"].(string)
	if uri, ok := b.Ref["uri"].(string); ok {
		of = uri
	}
	return of + " " + b.Name
}

// Params are those of a request to complete a value.
func (b CompletionArgument) Params(value string) check.M {
	return check.M{"ref": b.Ref, "argument": check.M{"name": b.Name, "value": value}}
}

// CompletionArguments are all that the server lists.
func CompletionArguments(t *check.T) (all []CompletionArgument) {
	for _, prompt := range t.Server.Prompts {
		if name, ok := prompt["name"].(string); ok {
			all = append(all, newCompletionArguments(PromptRef(name), uniqueNames(prompt["arguments"]))...)
		}
	}
	for _, template := range t.Server.Templates {
		if uri, ok := template["uriTemplate"].(string); ok {
			all = append(all, newCompletionArguments(TemplateRef(uri), templateVariables(uri))...)
		}
	}
	return all
}

// PromptRef refers to a prompt.
func PromptRef(name string) check.M { return check.M{"type": "ref/prompt", "name": name} }

// TemplateRef refers to a template.
func TemplateRef(uri string) check.M { return check.M{"type": "ref/resource", "uri": uri} }

func newCompletionArguments(ref check.M, names []string) (all []CompletionArgument) {
	for i, name := range names {
		siblings := slices.Delete(slices.Clone(names), i, i+1)
		all = append(all, CompletionArgument{Ref: ref, Name: name, otherNames: siblings})
	}
	return all
}

// uniqueNames are the names of the items of a list, as far as they have one.
func uniqueNames(list any) (names []string) {
	for _, item := range protocol.ObjectsIn(list) {
		if name, ok := item["name"].(string); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// templateExpression is a part of a URI template (RFC 6570) that stands for values.
var templateExpression = regexp.MustCompile(`\{[+#./;?&]?([^{}]*)\}`)

// templateVariables are those of a template.
func templateVariables(template string) (names []string) {
	for _, part := range templateExpression.FindAllStringSubmatch(template, -1) {
		for _, spec := range strings.Split(part[1], ",") {
			name, _, _ := strings.Cut(strings.TrimSuffix(spec, "*"), ":")
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Completion is what came of completing a value.
type Completion struct {
	CompletionArgument
	Value string
	Reply driver.Reply
}

// Subject is the completion as one of several, named by what was to be completed.
func (c Completion) Subject() check.Subject {
	return check.Subject{Name: c.String(), Frames: []*driver.Frame{c.Reply.Request, c.Reply.Frame}}
}

// Values are those that came; nil when none did.
func (c Completion) Values() []string {
	completion, _ := c.Reply.Result()["completion"].(check.M)
	list, _ := completion["values"].([]any)
	var values []string
	for _, v := range list {
		if text, ok := v.(string); ok {
			values = append(values, text)
		}
	}
	return values
}

// Completions are those of the run.
type Completions struct {
	List             []Completion
	IncompleteReason string // why there are no more of them; empty: all were asked for
}

// mayComplete reports whether completion may be asked for: it is declared, or the revision has no capability for it.
func mayComplete(t *check.T) bool {
	return t.Server.Declares("completions") || t.Revision < "2025-03-26"
}

// completionSession is a session in which a server may be asked to complete. One that has no way to declare that it
// does may not know the request, and nothing is judged by that.
func completionSession(t *check.T) *driver.Session {
	if t.Server.Declares("completions") {
		return t.Session()
	}
	return t.SessionForInvalidInput()
}

// CompleteAll completes all that the server lists, as far as there is time: from nothing, then from a letter.
func CompleteAll(t *check.T) Completions {
	return check.Step(t, "completions", func(t *check.T) (all Completions) {
		if !mayComplete(t) {
			return all
		}
		var queue []Completion
		for _, value := range []string{"", "a"} {
			for _, blank := range CompletionArguments(t) {
				queue = append(queue, Completion{CompletionArgument: blank, Value: value})
			}
		}
		s, allowance := completionSession(t), NewCallBudget()
		for batch := range slices.Chunk(queue, concurrency(t)) {
			if all.IncompleteReason = allowance.ExhaustedReason(); all.IncompleteReason == "" {
				all.IncompleteReason = all.unservedReason(t)
			}
			if all.IncompleteReason != "" {
				return all
			}
			params := func(i int) check.M { return batch[i].Params(batch[i].Value) }
			for i, r := range requestConcurrently(t, s, "completion/complete", len(batch), params) {
				batch[i].Reply = r
				allowance.Charge(r)
			}
			all.List = append(all.List, batch...)
		}
		return all
	})
}

// unserved is why no more has to be asked for: nothing is served, or silence is known.
func (c Completions) unservedReason(t *check.T) string {
	const tried = 3
	if err := check.KnownUnanswered(t, "completion/complete"); err != nil {
		return err.Error()
	}
	unknown := func(c Completion) bool { code, _ := c.Reply.Code(); return code == errcode.MethodNotFound }
	if len(c.List) >= tried && !slices.ContainsFunc(c.List, func(c Completion) bool { return !unknown(c) }) {
		return "the method is unknown to the server"
	}
	return ""
}

// RequireAny ends a check of completions when there is nothing to complete, or the server has no method for it in a
// revision in which it need not.
func (c Completions) RequireAny(t *check.T) Completions {
	served := func(c Completion) bool { code, _ := c.Reply.Code(); return code != errcode.MethodNotFound }
	switch {
	case len(c.List) == 0 && c.IncompleteReason != "":
		t.Inconclusive("%s", c.IncompleteReason)
	case len(c.List) == 0:
		t.WithReason(check.NotOffered).
			Skip("the server lists no prompt with arguments and no template: nothing to complete")
	case !t.Server.Declares("completions") && !slices.ContainsFunc(c.List, served):
		t.WithReason(check.NotOffered).Skip("the server does not complete, which %s has no capability for", t.Revision)
	}
	if c.IncompleteReason != "" {
		t.Caveat("%d of %d arguments were completed: %s", len(c.List), 2*len(CompletionArguments(t)),
			c.IncompleteReason)
	}
	return c
}

// Served are the completions from nothing that brought a result. It ends a check that cannot do without one.
func (c Completions) RequireServed(t *check.T) (served []Completion) {
	c.RequireAny(t)
	for _, one := range c.List {
		if one.Value == "" && one.Reply.Result() != nil {
			served = append(served, one)
		}
	}
	if len(served) == 0 {
		t.Yield("nothing is completed")
	}
	return served
}

// Context are values of the other arguments, as they were completed; it may be empty.
func (c Completions) Context(b CompletionArgument) check.M {
	resolved := check.M{}
	for _, one := range c.List {
		values := one.Values()
		if maps.Equal(one.Ref, b.Ref) && slices.Contains(b.otherNames, one.Name) && len(values) > 0 {
			resolved[one.Name] = values[0]
		}
	}
	return resolved
}

// ValueFor is a value that the server has for an argument of a prompt; empty when it has none.
func (c Completions) ValueFor(prompt, argument string) string {
	for _, one := range c.List {
		values := one.Values()
		if one.Ref["name"] == prompt && one.Name == argument && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// concurrency is how many requests that need not come one after the other are made side by side.
func concurrency(t *check.T) int {
	if check.SendsConcurrently(t) {
		return maxRunning
	}
	return 1
}

// requestConcurrently makes n requests, at the same time if there are several, and returns what comes of each, be it
// nothing.
func requestConcurrently(
	t *check.T, s *driver.Session, method string, n int, params func(i int) check.M,
) (replies []driver.Reply) {
	if n == 1 {
		return []driver.Reply{s.Call(method, params(0))}
	}
	var sent []driver.Pending
	for i := range n {
		sent = append(sent, s.Request(method, params(i)))
	}
	for _, p := range sent {
		replies = append(replies, s.Await(p))
	}
	return replies
}
