package resources

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// refusalChecks are the checks of reads that have to be rejected.
var refusalChecks = check.Suite{
	"resources/not-found-is-error": check.Probe(func(t *check.T) {
		r := unknownResourceReply(t)
		switch {
		case r.Result() != nil && matchesTemplate(t, unknownURI(t)):
			t.NoVerdict(check.Undecided,
				"a template of the server matches any URI, and it made contents for this one: %s",
				check.Got(r))
		case toolcall.IsInputRequired(t, r):
			t.NoVerdict(check.Undecided, "it asks for input first: %s", check.Got(r))
		}
		t.Expect(r).To(check.BeError())
		templates := rowlessReads(t)
		if len(templates) == 0 {
			return
		}
		check.Each(t, templates, toolcall.TemplateRead.Subject, func(t *check.T, x toolcall.TemplateRead) {
			contents, isList := x.Unknown.Result()["contents"].([]any)
			t.DecidedBy(x.Unknown).Expect(!isList || len(contents) > 0).To(check.BeTrue("an error for "+x.UnknownURI,
				"%s", x.Unknown))
		})
	}),

	"resources/not-found-code": check.Probe(func(t *check.T) {
		r := requireUnknownError(t)
		if code, _ := r.Code(); t.IsModern() && protocol.IsRetiredCode(code) {
			t.Yield("%d is of earlier revisions", code)
		}
		if t.IsModern() {
			t.Expect(r).To(check.BeError(errcode.InvalidParams))
		} else {
			t.Expect(r).To(check.BeError(errcode.ResourceNotFound, errcode.InvalidParams))
			t.ExpectAdvice(r).To(check.BeError(errcode.ResourceNotFound))
		}
		if rows := rowlessReads(t); len(rows) > 0 {
			check.Each(t, rows, toolcall.TemplateRead.Subject,
				func(t *check.T, x toolcall.TemplateRead) { expectSameCode(t, x, r) })
		}
	}),

	"resources/not-found-data-uri": check.Probe(func(t *check.T) {
		data, _ := requireUnknownError(t).Error()["data"].(check.M)
		t.Expect(check.Member(data, "uri")).To(check.BeOneOf[any](unknownURI(t)), "data.uri")
	}),

	"resources/read-uri-required": check.Probe(func(t *check.T) {
		all := []check.M{{}}
		if t.IsModern() {
			all = append(all, check.M{"uri": 5})
		}
		codes := append(protocol.HeaderErrorCodes(t), errcode.InvalidParams)
		for _, params := range all {
			r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), readMethod, params)
			requireRefusals(t, r)
			t.Expect(r).To(check.BeError())
			t.ExpectShould(r).To(check.BeError(codes...))
		}
	}),

	"resources/invalid-uri-rejected": check.Probe(func(t *check.T) {
		var all []check.Subject
		for _, uri := range []string{"not a uri", "", "http://[bad"} {
			all = append(all, check.Subject{Name: check.Show(uri), Value: check.M{"uri": uri}, FromClient: true})
		}
		t.Each(all, func(t *check.T, s check.Subject) {
			r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), readMethod, s.Value)
			requireRefusals(t, r)
			if r.Result() == nil {
				t.Expect(r).To(check.BeError())
				return
			}
			if unknownResourceReply(t).Result() != nil {
				t.Yield("no URI is refused")
			}
			if matchesTemplate(t, s.Value["uri"].(string)) {
				t.NoVerdict(check.Undecided, "a template of the server matches it: %s", check.Got(r))
			}
			t.Fail("an error, since it is not a URI", "%s", r)
		})
	}),
}

// expectSameCode requires the code of unknown resources of a server that says in the same words that an expansion of a
// template is unknown. Otherwise it may find a value of the template invalid, or not reach what it is of. Earlier
// revisions have a code for unknown resources, which it is advised to use.
func expectSameCode(t *check.T, x toolcall.TemplateRead, unknown driver.Reply) {
	code, isError := x.Unknown.Code()
	switch {
	case !isError || t.IsModern() && protocol.IsRetiredCode(code): // jsonrpc/retired-error-codes
	case code != errcode.InvalidParams && code != errcode.ResourceNotFound:
		if wordsOf(x.Unknown, x.UnknownURI) == wordsOf(unknown, unknownURI(t)) {
			known, _ := unknown.Code()
			t.Expect(x.Unknown).To(check.BeError(known), "%s", x.UnknownURI)
		}
	case !t.IsModern() && code == errcode.InvalidParams:
		t.ExpectAdvice(x.Unknown).To(check.BeError(errcode.ResourceNotFound), "%s", x.UnknownURI)
	}
}

// wordsOf is the message of the error for a URI, without the URI.
func wordsOf(r driver.Reply, uri string) string { return strings.ReplaceAll(r.MessageText(), uri, "") }

// rowlessReads returns the templates of which an expansion has contents, so that another one may have none.
func rowlessReads(t *check.T) []toolcall.TemplateRead {
	hasContents := func(result check.M) bool { contents, _ := result["contents"].([]any); return len(contents) > 0 }
	return slices.DeleteFunc(slices.Clone(toolcall.ReadTemplates(t)), func(x toolcall.TemplateRead) bool {
		listed, _ := readListed(t, x.Template)
		return !hasContents(x.LastReply.Result()) && !hasContents(listed.reply.Result())
	})
}

// requireRefusals ends the check if the server rejects nothing, or answers no read.
func requireRefusals(t *check.T, r driver.Reply) {
	invalid.SkipUnlessServerRejects(t, r)
	invalid.SkipUnlessServed(t, r, check.M{"uri": unknownURI(t)})
}

// unknownResourceReply returns the reply to reading a resource that no server has.
func unknownResourceReply(t *check.T) driver.Reply {
	return check.Step(t, "unknown resource", func(t *check.T) driver.Reply {
		return invalid.RequestInvalid(t, t.Session(), readMethod, check.M{"uri": unknownURI(t)})
	})
}

// requireUnknownError returns the error for a resource that no server has; without one, it ends the check.
func requireUnknownError(t *check.T) driver.Reply {
	r := unknownResourceReply(t)
	if r.Message()["error"] == nil {
		t.Yield("the unknown resource was not answered with an error")
	}
	return r
}
