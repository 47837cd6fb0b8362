package protocol

import (
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// OwnerOf is the id of the one requirement that reports a violation of a message's schema in a revision, by the key
// owns of the catalogue. Null at an optional member has a requirement of its own where no specific one owns the member.
func OwnerOf(v schemas.Violation, revision string) string {
	id, isRest := catalogue.All().Owner(revision, v.Definition, memberPath(v))
	if isRest && v.NullOptional {
		return "schema/optional-members-not-null"
	}
	return id
}

// memberPath is the JSON pointer at which a violation counts: a missing member counts at its own path, and a value that
// an enum does not list adds a step with the value.
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

// pointerEscaper escapes a name as a step of a JSON pointer (RFC 6901, section 3).
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// firstQuoted is the quoted string at the beginning of a text; empty when there is none.
func firstQuoted(text string) string {
	quoted, _ := strconv.QuotedPrefix(text)
	name, _ := strconv.Unquote(quoted)
	return name
}

// Violations are the rules of a definition that a value violates and that the requirement with this id reports.
func Violations(t *check.T, id, definition string, value any) (rules []string) {
	for _, v := range schemas.ValidateMessage(t.Revision, definition, value) {
		if OwnerOf(v, t.Revision) == id {
			rules = append(rules, v.String())
		}
	}
	return rules
}
