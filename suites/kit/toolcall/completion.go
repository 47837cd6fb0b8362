package toolcall

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// CompletionArgument is something that a server may complete: an argument of a prompt or a variable of a URI template.
type CompletionArgument struct {
	Ref  check.M
	Name string
	// otherNames are the other arguments of the same reference.
	otherNames []string
}

// String is the argument as reports call it.
func (b CompletionArgument) String() string {
	of, _ := b.Ref["name"].(string)
	if uri, ok := b.Ref["uri"].(string); ok {
		of = uri
	}
	return of + " " + b.Name
}

// Params are the params of a request to complete a value.
func (b CompletionArgument) Params(value string) check.M {
	return check.M{"ref": b.Ref, "argument": check.M{"name": b.Name, "value": value}}
}

// CompletionArguments are all that the server lists.
func CompletionArguments(t *check.T) (all []CompletionArgument) { return ListedArguments(t.Server) }

// ListedArguments are CompletionArguments outside of a check.
func ListedArguments(server *check.Server) (all []CompletionArgument) {
	for _, prompt := range server.Prompts {
		if name, ok := prompt["name"].(string); ok {
			all = append(all, newCompletionArguments(PromptRef(name), uniqueNames(prompt["arguments"]))...)
		}
	}
	for _, template := range server.Templates {
		if uri, ok := template["uriTemplate"].(string); ok {
			all = append(all, newCompletionArguments(TemplateRef(uri), templateVariables(uri))...)
		}
	}
	return all
}

// PromptRef is a reference to a prompt.
func PromptRef(name string) check.M { return check.M{"type": "ref/prompt", "name": name} }

// TemplateRef is a reference to a resource template.
func TemplateRef(uri string) check.M { return check.M{"type": "ref/resource", "uri": uri} }

func newCompletionArguments(ref check.M, names []string) (all []CompletionArgument) {
	for i, name := range names {
		siblings := slices.Delete(slices.Clone(names), i, i+1)
		all = append(all, CompletionArgument{Ref: ref, Name: name, otherNames: siblings})
	}
	return all
}

// uniqueNames are the names of the items of a list, without duplicates.
func uniqueNames(list any) (names []string) {
	for _, item := range protocol.ObjectsIn(list) {
		if name, ok := item["name"].(string); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// templateExpression is an expression of a URI template (RFC 6570, section 2.2).
var templateExpression = regexp.MustCompile(`\{[+#./;?&]?([^{}]*)\}`)

// templateVariables are the names of the variables of a template.
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

// Completion is a value to complete, with the reply.
type Completion struct {
	CompletionArgument
	Value string
	// Context are values for other arguments; nil when the request has none.
	Context check.M
	Reply   driver.Reply
}

// Params are the params of the request.
func (c Completion) Params() check.M {
	params := c.CompletionArgument.Params(c.Value)
	if c.Context != nil {
		params["context"] = check.M{"arguments": c.Context}
	}
	return params
}

// Subject shows the completion as one of several, named by its argument.
func (c Completion) Subject() check.Subject {
	return check.Subject{Name: c.String(), Frames: []*driver.Frame{c.Reply.Request, c.Reply.Frame}}
}

// Values are the completed values; nil when there are none.
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

// Completions are the completions of the run.
type Completions struct {
	List []Completion
	// IncompleteReason is why not everything was requested; empty when it was.
	IncompleteReason string
}

// mayComplete reports whether completion may be requested: it is declared, or the revision has no capability for it.
func mayComplete(t *check.T) bool {
	return t.Server.Declares("completions") || t.Revision < "2025-03-26"
}

// completionSession is a session for completion. In revisions without the capability the server may not know the
// method, so it is one for invalid input there.
func completionSession(t *check.T) *driver.Session {
	if t.Server.Declares("completions") {
		return t.Session()
	}
	return t.Session(check.ForInvalidInput)
}

// CompleteAll completes everything that the server lists, as far as time permits: first the empty value, then a letter,
// and then, where that has brought values, the first two characters of one, the whole of it, and the empty value with a
// context of values for all other arguments.
func CompleteAll(t *check.T) Completions {
	if responses, recorded := check.RecordedResponses(t, "completion/complete"); recorded {
		return recordedCompletions(t, responses)
	}
	return check.Step(t, "completions", func(t *check.T) (all Completions) {
		if !mayComplete(t) {
			return all
		}
		var queue []Completion
		for _, value := range []string{"", "a"} {
			for _, argument := range CompletionArguments(t) {
				queue = append(queue, Completion{CompletionArgument: argument, Value: value})
			}
		}
		s, budget := completionSession(t), NewCallBudget()
		all.IncompleteReason = all.request(t, s, budget, queue)
		if all.IncompleteReason == "" && !check.SavesRequests(t) {
			all.request(t, s, budget, all.further(t))
		}
		return all
	})
}

// request requests completions. It returns why not all of them were requested; empty when they were.
func (c *Completions) request(
	t *check.T, s *driver.Session, budget *CallBudget, queue []Completion,
) (incomplete string) {
	for batch := range slices.Chunk(queue, concurrency(t)) {
		if why := cmp.Or(budget.ExhaustedReason(), c.unservedReason(t)); why != "" {
			return why
		}
		params := func(i int) check.M { return batch[i].Params() }
		for i, r := range requestConcurrently(t, s, "completion/complete", len(batch), params) {
			batch[i].Reply = r
			budget.Charge(r)
		}
		c.List = append(c.List, batch...)
	}
	return ""
}

// further are completions to request of arguments for which the server has values.
func (c *Completions) further(t *check.T) (queue []Completion) {
	for _, one := range c.List {
		values := nonEmpty(one.Values())
		if one.Value != "" || len(values) == 0 {
			continue
		}
		begun := []rune(values[0])
		for _, value := range slices.Compact([]string{string(begun[:min(len(begun), 2)]), values[0]}) {
			queue = append(queue, Completion{CompletionArgument: one.CompletionArgument, Value: value})
		}
		if context := c.ContextFor(one.CompletionArgument); len(context) > 0 && t.Revision >= "2025-06-18" {
			queue = append(queue, Completion{CompletionArgument: one.CompletionArgument, Context: context})
		}
	}
	return queue
}

// unservedReason is why no more is requested: the method is unknown, or known to be left unanswered; empty when there
// is no such reason.
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

// ContextFor are values for the other arguments of the same reference, as the server completed them; it may be empty.
// The server may not know them together.
func (c Completions) ContextFor(b CompletionArgument) check.M {
	resolved := check.M{}
	for _, one := range c.List {
		values := one.Values()
		if maps.Equal(one.Ref, b.Ref) && slices.Contains(b.otherNames, one.Name) && len(values) > 0 {
			resolved[one.Name] = values[0]
		}
	}
	return resolved
}

// valuesFor are the completed values for an argument of a prompt.
func (c Completions) valuesFor(prompt, argument string) (values []string) {
	for _, one := range c.List {
		if one.Ref["name"] == prompt && one.Name == argument {
			values = appendNewTexts(values, nonEmpty(one.Values()))
		}
	}
	return values
}

func appendNewTexts(all, more []string) []string {
	for _, text := range more {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// concurrency is how many requests are sent at the same time if their order does not matter.
func concurrency(t *check.T) int {
	if check.SendsConcurrently(t) {
		return maxRunning
	}
	return 1
}

// requestConcurrently sends n requests at the same time and returns their replies, answered or not.
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

// MaxCompletedValues is how many values a completion may have.
const MaxCompletedValues = 100
