package resources

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/yosida95/uritemplate/v3"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// templateChecks are the checks of templates of resources.
var templateChecks = Suite{
	"resources/template-syntax": Probe(func(t *T) {
		express := regexp.MustCompile(`^[^{}]*/:[A-Za-z_][^{}]*$`)
		eachItem(t, "the server lists no template", subjects(t.Server.Templates, "uriTemplate"), func(t *T, item M) {
			text, isString := item["uriTemplate"].(string)
			if !isString {
				t.Yield("uriTemplate is not a string")
			}
			_, err := uritemplate.New(text)
			t.Expect(err == nil).To(BeTrue("a URI template by RFC 6570", "%s: %v", text, err))
			t.ExpectShould(!express.MatchString(text)).To(BeTrue("parameters in braces", "%s", text))
		})
	}),

	"resources/template-readable": Probe(func(t *T) {
		all := parsedTemplates(t)
		if len(all) == 0 {
			t.WithReason(NotOffered).Skip("the server lists no template that can be expanded")
		}
		Each(t, all, template.subject, func(t *T, x template) {
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

// template is one that the server lists, and that can be expanded.
type template struct {
	*uritemplate.Template
}

func (x template) subject() Subject { return NamedSubject(x.Raw()) }

func parsedTemplates(t *T) (all []template) {
	for _, item := range t.Server.Templates {
		text, _ := item["uriTemplate"].(string)
		if parsed, err := uritemplate.New(text); err == nil && len(parsed.Varnames()) > 0 {
			all = append(all, template{parsed})
		}
	}
	return all
}

// matchesTemplate reports whether a template of the server has a URI among its expansions.
func matchesTemplate(t *T, uri string) bool {
	return slices.ContainsFunc(parsedTemplates(t), func(x template) bool { return x.Match(uri) != nil })
}

// readListed is the reading of a resource of the list that is an expansion of the template.
func (x template) readListed(t *T) (r readResult, read bool) {
	for _, r := range readResults(t) {
		if r.reply.Answered() && x.Match(r.uri) != nil {
			return r, true
		}
	}
	return readResult{}, false
}

// expectReadable wants what the server completes the variables of the template to be readable: one of the first values.
func (x template) expectReadable(t *T) {
	if !t.Server.Declares("completions") {
		t.WithReason(NotGiven).Skip("nothing tells what values the template may have")
	}
	name := x.Varnames()[0]
	var last readResult
	for _, value := range x.completeVariable(t, name, M{}) {
		values, context := uritemplate.Values{name: uritemplate.String(value)}, M{name: value}
		for _, other := range x.Varnames()[1:] {
			if further := x.completeVariable(t, other, context); len(further) > 0 {
				values[other], context[other] = uritemplate.String(further[0]), further[0]
			}
		}
		uri, err := x.Expand(values)
		if err != nil {
			t.Inconclusive("it cannot be expanded: %v", err)
		}
		last = readResult{uri: uri,
			reply: toolcall.RunInputLoop(t, t.Session(), readMethod, toolcall.WithAllCapabilities(t, M{"uri": uri})).LastReply}
		if code, _ := last.reply.Code(); !slices.Contains(notFoundCodes, code) {
			break
		}
	}
	code, _ := last.reply.Code()
	switch {
	case last.uri == "":
		t.WithReason(NotGiven).Skip("the server completes no values of the template")
	case last.reply.Result() == nil && !slices.Contains(notFoundCodes, code):
		t.Inconclusive("%s is refused, but not as unknown: %s", last.uri, Got(last.reply))
	}
	t.Expect(last.reply).To(BeResult(), "%s, made of what the server itself completes", cmp.Or(last.uri, x.Raw()))
}

// completeVariable are the first values that the server completes for a variable.
func (x template) completeVariable(t *T, name string, others M) (values []string) {
	const most = 3
	params := M{
		"ref":      M{"type": "ref/resource", "uri": x.Raw()},
		"argument": M{"name": name, "value": ""},
	}
	if len(others) > 0 && t.Revision >= "2025-06-18" {
		params["context"] = M{"arguments": others}
	}
	completion, _ := t.Request(t.Session(), "completion/complete", params).Result()["completion"].(M)
	all, _ := completion["values"].([]any)
	for _, v := range all[:min(len(all), most)] {
		if text, isString := v.(string); isString && text != "" {
			values = append(values, text)
		}
	}
	return values
}
