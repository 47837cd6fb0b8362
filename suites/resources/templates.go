package resources

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// templateChecks are the checks of resource templates.
var templateChecks = check.Suite{
	"resources/template-syntax": check.Probe(func(t *check.T) {
		express := regexp.MustCompile(`^[^{}]*/:[A-Za-z_][^{}]*$`)
		eachItem(t, "the server lists no template", subjects(t.Server.Templates, "uriTemplate"),
			func(t *check.T, item check.M) {
				text, isString := item["uriTemplate"].(string)
				if !isString {
					t.Yield("uriTemplate is not a string")
				}
				_, err := uritemplate.New(text)
				t.Expect(err == nil).To(check.BeTrue("a URI template by RFC 6570", "%s: %v", text, err))
				t.ExpectShould(!express.MatchString(text)).To(check.BeTrue("parameters in braces", "%s", text))
			})
	}),

	"resources/template-readable": check.Probe(func(t *check.T) {
		all := parsedTemplates(t)
		if len(all) == 0 {
			t.Skip(check.NotOffered, "the server lists no template that can be expanded")
		}
		check.Each(t, all, template.subject, func(t *check.T, x template) {
			if r, read := x.readListed(t); read {
				if r.reply.Result() == nil {
					t.Yield("what is listed of it cannot be read")
				}
				return
			}
			x.expectReadable(t)
		})
	}),
}

// template is a listed template with variables.
type template struct {
	*uritemplate.Template
}

func (x template) subject() check.Subject { return check.NamedSubject(x.Raw()) }

// parsedTemplates returns the listed templates that are valid and have variables.
func parsedTemplates(t *check.T) (all []template) {
	for _, item := range t.Server.Templates {
		text, _ := item["uriTemplate"].(string)
		if parsed, err := uritemplate.New(text); err == nil && len(parsed.Varnames()) > 0 {
			all = append(all, template{parsed})
		}
	}
	return all
}

// matchesTemplate reports whether a URI is an expansion of a listed template.
func matchesTemplate(t *check.T, uri string) bool {
	return slices.ContainsFunc(parsedTemplates(t), func(x template) bool { return x.Match(uri) != nil })
}

// readListed returns the read of a listed resource that is an expansion of the template.
func (x template) readListed(t *check.T) (r readResult, read bool) {
	for _, r := range readResults(t) {
		if r.reply.Answered() && x.Match(r.uri) != nil {
			return r, true
		}
	}
	return readResult{}, false
}

// expectReadable requires an expansion of the template to be readable, with one of the first values that the server
// completes for its variables.
func (x template) expectReadable(t *check.T) {
	if !t.Server.Declares("completions") {
		t.Skip(check.NotGiven, "nothing tells what values the template may have")
	}
	name := x.Varnames()[0]
	var last readResult
	for _, value := range x.completeVariable(t, name, check.M{}) {
		values, context := uritemplate.Values{name: uritemplate.String(value)}, check.M{name: value}
		for _, other := range x.Varnames()[1:] {
			if further := x.completeVariable(t, other, context); len(further) > 0 {
				values[other], context[other] = uritemplate.String(further[0]), further[0]
			}
		}
		uri, err := x.Expand(values)
		if err != nil {
			t.NoVerdict(check.Undecided, "it cannot be expanded: %v", err)
		}
		last = readResult{uri: uri,
			reply: toolcall.RunInputLoop(t, t.Session(), readMethod,
				toolcall.WithAllCapabilities(t, check.M{"uri": uri})).LastReply}
		if code, _ := last.reply.Code(); !slices.Contains(notFoundCodes, code) {
			break
		}
	}
	code, _ := last.reply.Code()
	switch {
	case last.uri == "":
		t.Skip(check.NotGiven, "the server completes no values of the template")
	case last.reply.Result() == nil && !slices.Contains(notFoundCodes, code):
		t.NoVerdict(check.Undecided, "%s is refused, but not as unknown: %s", last.uri, check.Got(last.reply))
	}
	t.Expect(last.reply).To(check.BeResult(), "%s, made of what the server itself completes", cmp.Or(last.uri, x.Raw()))
}

// completeVariable returns the first values that the server completes for a variable.
func (x template) completeVariable(t *check.T, name string, others check.M) (values []string) {
	const most = 3
	params := check.M{
		"ref":      check.M{"type": "ref/resource", "uri": x.Raw()},
		"argument": check.M{"name": name, "value": ""},
	}
	if len(others) > 0 && t.Revision >= "2025-06-18" {
		params["context"] = check.M{"arguments": others}
	}
	completion, _ := t.Send(t.Session(), "completion/complete", params).Result()["completion"].(check.M)
	all, _ := completion["values"].([]any)
	for _, v := range all[:min(len(all), most)] {
		if text, isString := v.(string); isString && text != "" {
			values = append(values, text)
		}
	}
	return values
}
