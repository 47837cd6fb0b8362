package resources

import (
	"regexp"
	"slices"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
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
		if len(toolcall.Templates(t)) == 0 {
			t.Skip(check.NotOffered, "the server lists no template that can be expanded")
		}
		all := toolcall.ReadTemplates(t)
		if len(all) == 0 {
			t.Retry(check.Undecided, "no template was read: %v", check.KnownUnanswered(t, readMethod))
		}
		if n := len(toolcall.Templates(t)); len(all) < n {
			t.Caveat("%d of %d templates were read", len(all), n)
		}
		check.Each(t, all, toolcall.TemplateRead.Subject, func(t *check.T, x toolcall.TemplateRead) {
			if r, read := readListed(t, x.Template); read {
				if r.reply.Result() == nil {
					t.Yield("what is listed of it cannot be read")
				}
				return
			}
			expectReadable(t, x)
		})
	}),
}

// mimeTypeCheck is the check of templates with a mimeType: all resources that match have it.
var mimeTypeCheck = check.Suite{
	"resources/template-mime-type-uniform": check.Probe(func(t *check.T) {
		if t.Server.IsSlow() {
			t.NoVerdict(check.Undecided, "no more resources are read of a slow server")
		}
		all := templatesWithMIMEType(t)
		if len(all) == 0 {
			t.Skip(check.NotOffered, "no template of one variable that can be expanded has a mimeType")
		}
		check.Each(t, all, toolcall.TemplateRead.Subject, func(t *check.T, x toolcall.TemplateRead) {
			first := expansionType(x)
			others := 0
			for _, r := range x.ReadMore(t) {
				if other := expansionType(r); first != "" && other != "" {
					others++
					t.DecidedBy(x.LastReply, r.LastReply).Expect(other == first).To(check.BeTrue(
						"one type for all that matches a template with a mimeType", "%s of %s, and %s of %s", first,
						x.URI, other, r.URI))
				}
			}
			if others == 0 {
				t.Skip(check.NotGiven, "the server completes no two values whose resources have a mimeType")
			}
		})
	}),
}

// maxMIMETypeTemplates is of how many templates more is read, to compare the types.
const maxMIMETypeTemplates = 3

// templatesWithMIMEType returns the first templates of one variable that have a mimeType and were read.
func templatesWithMIMEType(t *check.T) (all []toolcall.TemplateRead) {
	for _, x := range toolcall.ReadTemplates(t) {
		hasType := slices.ContainsFunc(t.Server.Templates, func(item check.M) bool {
			return item["uriTemplate"] == x.Template.Raw() && mediaType(item) != ""
		})
		if hasType && len(x.Template.Varnames()) == 1 && len(all) < maxMIMETypeTemplates {
			all = append(all, x)
		}
	}
	return all
}

// expansionType returns the media type of what was read of an expansion; empty if none was given.
func expansionType(x toolcall.TemplateRead) string {
	for _, content := range protocol.ObjectsIn(x.LastReply.Result()["contents"]) {
		if content["uri"] == x.URI {
			return mediaType(content)
		}
	}
	return ""
}

// matchesTemplate reports whether a URI is an expansion of a listed template.
func matchesTemplate(t *check.T, uri string) bool {
	return slices.ContainsFunc(toolcall.Templates(t), func(x *uritemplate.Template) bool { return x.Match(uri) != nil })
}

// readListed returns the read of a listed resource that is an expansion of a template.
func readListed(t *check.T, x *uritemplate.Template) (r readResult, read bool) {
	for _, r := range readResults(t) {
		if r.reply.Answered() && x.Match(r.uri) != nil {
			return r, true
		}
	}
	return readResult{}, false
}

// expectReadable requires an expansion of a template to be readable, with one of the first values that the server
// completes for its variables.
func expectReadable(t *check.T, x toolcall.TemplateRead) {
	switch {
	case !t.Server.Declares("completions"):
		t.Skip(check.NotGiven, "nothing tells what values the template may have")
	case x.URI == "":
		t.Skip(check.NotGiven, "the server completes no values of the template")
	case x.LastReply.Err != nil:
		t.Retry(check.Undecided, "%v", check.Explain(x.LastReply.Err))
	case x.LastReply.Result() == nil && !toolcall.IsNotFound(x.LastReply):
		t.NoVerdict(check.Undecided, "%s is refused, but not as unknown: %s", x.URI, check.Got(x.LastReply))
	case x.LastReply.Result() == nil && x.HasTooManyValues:
		t.Yield("the server completes more values than it may")
	case x.LastReply.Result() == nil && x.IsCombined():
		t.NoVerdict(check.Undecided, "%s is refused: the server may not know the values together that it completes: %s",
			x.URI, check.Got(x.LastReply))
	}
	t.DecidedBy(x.LastReply).Expect(x.LastReply).To(check.BeResult(), "%s, made of what the server itself completes",
		x.URI)
}

// templateReads returns the reads of expansions of templates that were answered with contents.
func templateReads(t *check.T) (all []readResult) {
	for _, x := range toolcall.ReadTemplates(t) {
		if x.LastReply.Result() != nil && !toolcall.IsInputRequired(t, x.LastReply) {
			all = append(all, readResult{uri: x.URI, askedForInput: len(x.InputReplies) > 0, reply: x.LastReply})
		}
		for _, y := range x.Further {
			if y.LastReply.Result() != nil && !toolcall.IsInputRequired(t, y.LastReply) {
				all = append(all,
					readResult{uri: y.URI, askedForInput: len(y.InputReplies) > 0, reply: y.LastReply})
			}
		}
	}
	return all
}
