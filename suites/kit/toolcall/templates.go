package toolcall

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
)

// TemplateRead is the reading of an expansion of a listed URI template.
type TemplateRead struct {
	*InputLoop
	Template *uritemplate.Template
	// URI is the expansion; empty when the server completes no values.
	URI string
	// HasTooManyValues reports whether more values were completed for the first variable than a completion may have.
	HasTooManyValues bool
	// Unknown is the reply to reading an expansion with values that hardly exist.
	Unknown driver.Reply
	// UnknownURI is that expansion.
	UnknownURI string
	// Further are the reads of other expansions with completed values.
	Further []FurtherRead
}

// FurtherRead is the reading of a further expansion of a template.
type FurtherRead struct {
	*InputLoop
	URI string
}

// Subject shows the reading as one of several, named by its template.
func (x TemplateRead) Subject() check.Subject { return check.NamedSubject(x.Template.Raw()) }

// Templates are the listed templates that are valid and have variables.
func Templates(t *check.T) (all []*uritemplate.Template) {
	for _, item := range t.Server.Templates {
		text, _ := item["uriTemplate"].(string)
		if parsed, err := uritemplate.New(text); err == nil && len(parsed.Varnames()) > 0 {
			all = append(all, parsed)
		}
	}
	return all
}

// maxTemplates is how many templates are read, and maxSlowTemplates how many of a slow server; maxReadFurther, of how
// many more than one expansion is read.
const (
	maxTemplates     = 20
	maxSlowTemplates = 3
	maxReadFurther   = 5
)

// ReadTemplates reads an expansion of each listed template, made of one of the first values that the server completes
// for its variables, and one of values that hardly exist, as far as time permits.
func ReadTemplates(t *check.T) []TemplateRead {
	templates := Templates(t)
	if len(templates) == 0 {
		return nil
	}
	completed := completions(t)
	return check.Step(t, "templates, read", func(t *check.T) (all []TemplateRead) {
		budget, most := NewCallBudget(), maxTemplates
		if t.Server.IsSlow() || t.IsQuick() {
			most = maxSlowTemplates
		}
		for _, template := range templates[:min(len(templates), most)] {
			if budget.ExhaustedReason() != "" || check.KnownUnanswered(t, "resources/read") != nil {
				return all
			}
			x := TemplateRead{Template: template, InputLoop: &InputLoop{Method: "resources/read"}}
			x.readKnown(t, completed, budget)
			if most == maxTemplates && len(all) < maxReadFurther && x.LastReply.Result() != nil {
				x.readFurther(t, completed, budget)
			}
			x.readUnknown(t)
			all = append(all, x)
		}
		return all
	})
}

// readKnown reads expansions with completed values, until one of them is known.
func (x *TemplateRead) readKnown(t *check.T, completed Completions, budget *CallBudget) {
	const most = 3
	names := x.Template.Varnames()
	first := completed.templateValues(x.Template.Raw(), names[0])
	x.HasTooManyValues = len(first) > MaxCompletedValues
	for _, value := range first[:min(len(first), most)] {
		values := map[string]string{names[0]: value}
		for _, other := range names[1:] {
			if further := CompleteWith(t, TemplateRef(x.Template.Raw()), other, values); len(further) > 0 {
				values[other] = further[0]
			}
		}
		only := map[string]string{names[0]: value}
		if x.read(t, values, budget) || len(names) > 1 && !x.IsCombined() && x.read(t, only, budget) {
			return
		}
	}
}

// read reads the expansion with some values. It reports whether that is the end of trying: it is known, or there is no
// time for another.
func (x *TemplateRead) read(t *check.T, values map[string]string, budget *CallBudget) (ended bool) {
	uri, err := ExpandTemplate(x.Template, values)
	if err != nil || budget.ExhaustedReason() != "" {
		return true
	}
	x.URI = uri
	x.InputLoop = RunInputLoop(t, t.Session(), "resources/read", WithAllCapabilities(t, check.M{"uri": uri}))
	budget.Charge(x.LastReply)
	return !IsNotFound(x.LastReply)
}

// readFurther reads expansions of other completed values: the last one of each variable, with one of the first values
// of the first variable.
func (x *TemplateRead) readFurther(t *check.T, completed Completions, budget *CallBudget) {
	const most = 3
	names := x.Template.Varnames()
	first := completed.templateValues(x.Template.Raw(), names[0])
	some := slices.Clone(first[:min(len(first), most)])
	if len(first) > most {
		some = append(some, first[len(first)-1])
	}
	for _, value := range some {
		values := map[string]string{names[0]: value}
		for _, other := range names[1:] {
			if further := CompleteWith(t, TemplateRef(x.Template.Raw()), other, values); len(further) > 0 {
				values[other] = further[len(further)-1]
			}
		}
		uri, err := ExpandTemplate(x.Template, values)
		if err != nil || uri == x.URI || budget.ExhaustedReason() != "" {
			continue
		}
		loop := RunInputLoop(t, t.Session(), "resources/read", WithAllCapabilities(t, check.M{"uri": uri}))
		budget.Charge(loop.LastReply)
		x.Further = append(x.Further, FurtherRead{InputLoop: loop, URI: uri})
	}
}

// ReadMore reads further expansions of a template of one variable, with other values that the server completes, and
// returns them.
func (x *TemplateRead) ReadMore(t *check.T) (more []TemplateRead) {
	const most = 3
	names := x.Template.Varnames()
	values := completions(t).templateValues(x.Template.Raw(), names[0])
	for _, value := range values[:min(len(values), most)] {
		uri, err := ExpandTemplate(x.Template, map[string]string{names[0]: value})
		if err != nil || uri == x.URI || len(names) > 1 {
			continue
		}
		loop := RunInputLoop(t, t.Session(), "resources/read", WithAllCapabilities(t, check.M{"uri": uri}))
		more = append(more, TemplateRead{InputLoop: loop, Template: x.Template, URI: uri})
	}
	return more
}

// IsCombined reports whether a URI takes values of several variables, which the server may not know together. Those of
// a query may be left out.
func (x *TemplateRead) IsCombined() bool {
	return len(templateVariables(queryExpression.ReplaceAllString(x.Template.Raw(), ""))) > 1
}

// queryExpression is an expression of a query (RFC 6570, sections 3.2.8 and 3.2.9).
var queryExpression = regexp.MustCompile(`\{[?&][^{}]*\}`)

// readUnknown reads an expansion with values that hardly exist.
func (x *TemplateRead) readUnknown(t *check.T) {
	values := map[string]string{}
	for _, name := range x.Template.Varnames() {
		values[name] = "mcpcheck-nonexistent"
	}
	uri, err := ExpandTemplate(x.Template, values)
	if err != nil {
		return
	}
	x.UnknownURI = uri
	x.Unknown = t.Send(t.Session(), "resources/read", WithAllCapabilities(t, check.M{"uri": uri}), check.AllowSilence)
}

// IsNotFound reports whether a reply is an error with which servers say that a resource does not exist, or that they
// have no resources.
func IsNotFound(r driver.Reply) bool {
	code, isError := r.Code()
	return isError && slices.Contains([]int{errcode.ResourceNotFound, errcode.InvalidParams, errcode.MethodNotFound},
		code)
}

// templateValues are the values that were completed for a variable of a template.
func (c Completions) templateValues(template, variable string) (values []string) {
	for _, one := range c.List {
		if one.Ref["uri"] == template && one.Name == variable && one.Value == "" && one.Context == nil {
			values = append(values, nonEmpty(one.Values())...)
		}
	}
	return values
}

// CompleteWith are the values that the server completes for an argument, given values for others.
func CompleteWith(t *check.T, ref check.M, name string, others map[string]string) []string {
	params := CompletionArgument{Ref: ref, Name: name}.Params("")
	if len(others) > 0 && t.Revision >= "2025-06-18" {
		arguments := check.M{}
		for other, value := range others {
			arguments[other] = value
		}
		params["context"] = check.M{"arguments": arguments}
	}
	r := t.Send(t.Session(), "completion/complete", params, check.AllowSilence)
	return nonEmpty(Completion{Reply: r}.Values())
}

func nonEmpty(values []string) []string {
	return slices.DeleteFunc(values, func(value string) bool { return value == "" })
}

// ExpandTemplate expands a template. Characters beyond ASCII are percent-encoded as UTF-8 (RFC 6570, section 1.6),
// which the library does not do.
func ExpandTemplate(template *uritemplate.Template, values map[string]string) (string, error) {
	expanded, encoded := uritemplate.Values{}, []string{}
	for name, value := range values {
		expanded[name] = uritemplate.String(withTokens(value, &encoded))
	}
	uri, err := template.Expand(expanded)
	if err != nil {
		return "", fmt.Errorf("expanding %s: %w", template.Raw(), err)
	}
	for i, text := range encoded {
		uri = strings.ReplaceAll(uri, expansionToken(i), text)
	}
	return uri, nil
}

// withTokens replaces each character beyond ASCII by a token, and adds how the character is percent-encoded.
func withTokens(value string, encoded *[]string) string {
	var text strings.Builder
	for _, r := range value {
		if r < 0x80 {
			text.WriteRune(r)
			continue
		}
		text.WriteString(expansionToken(len(*encoded)))
		*encoded = append(*encoded, url.PathEscape(string(r)))
	}
	return text.String()
}

// expansionToken is a text of unreserved characters that no value has.
func expansionToken(i int) string { return fmt.Sprintf("~mcpcheck.%d~", i) }
