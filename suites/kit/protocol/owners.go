package protocol

import (
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// OwnerOf is the id of the one entry that reports a violation of a message's schema in a revision, as the key owns of
// the catalogue has it. Null at an optional member is never what is left of a message, but has an entry of its own.
func OwnerOf(v schemas.Violation, revision string) string {
	id, isRest := catalogue.All().Owner(revision, v.Definition, memberPath(v))
	if isRest && v.NullOptional {
		return "schema/optional-members-not-null"
	}
	return id
}

// memberPath is where a violation is: a missing member counts at its own path, and a value that an enum does not list
// is one more step.
func memberPath(v schemas.Violation) string {
	name := ""
	switch v.Keyword {
	case "required":
		name = firstQuoted(strings.TrimPrefix(v.Rule, "missing required member "))
	case "enum":
		name = firstQuoted(v.Rule[strings.LastIndex(v.Rule, " got ")+len(" got "):])
	}
	if name == "" {
		return v.Path
	}
	return v.Path + "/" + pointerEscaper.Replace(name)
}

// pointerEscaper writes a name as a step of a JSON pointer.
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// firstQuoted is the string in quotes that a text begins with; empty when it does not.
func firstQuoted(text string) string {
	quoted, _ := strconv.QuotedPrefix(text)
	name, _ := strconv.Unquote(quoted)
	return name
}

// Broken are the rules of a schema that a value breaks and that the entry of that id reports.
func Violations(t *check.T, id, definition string, value any) (rules []string) {
	for _, v := range schemas.ValidateMessage(t.Revision, definition, value) {
		if OwnerOf(v, t.Revision) == id {
			rules = append(rules, v.String())
		}
	}
	return rules
}
