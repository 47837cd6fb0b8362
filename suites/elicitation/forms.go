package elicitation

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// formChecks are the checks of the forms that users are asked to fill in.
var formChecks = check.Suite{
	formSchemaID: check.WatchWithSetup(client.CollectServerRequests, func(t *check.T, w check.Wire) {
		eachForm(t, w, func(t *check.T, q client.ServerRequest) {
			t.Expect(violations(t, q, formSchemaID)).To(check.BeEmptyList[string](
				"message, and a requestedSchema of type object with properties"))
		})
	}),

	flatSchemaID: check.WatchWithSetup(client.CollectServerRequests, func(t *check.T, w check.Wire) {
		eachForm(t, w, func(t *check.T, q client.ServerRequest) {
			t.Expect(violations(t, q, flatSchemaID)).
				To(check.BeEmptyList[string]("fields of the kinds that forms have"))
			for _, f := range fieldsOf(q) {
				t.Expect(f.choicesOfOtherTypes()).To(check.BeEmptyList[string]("texts as the values of an enum"),
					"the field %s", f.name)
				t.ExpectShould(f.unsupportedKeywords(t.Revision)).
					To(check.BeEmptyList[string]("no other features of JSON Schema"),
						"the field %s", f.name)
			}
		})
	}),

	stringFormatID: check.WatchWithSetup(client.CollectServerRequests, func(t *check.T, w check.Wire) {
		eachForm(t, w, func(t *check.T, q client.ServerRequest) {
			t.Expect(violations(t, q, stringFormatID)).
				To(check.BeEmptyList[string]("the formats email, uri, date and date-time"))
		})
	}),

	"elicitation/no-sensitive-form-fields": check.WatchWithSetup(client.CollectServerRequests,
		func(t *check.T, w check.Wire) {
			eachForm(t, w, func(t *check.T, q client.ServerRequest) {
				found, isName := secretRequest(q)
				switch {
				case isName:
					t.FailAt(catalogue.Should, "no secrets asked for in a form, as far as names tell", "%s", found)
				case found != "":
					t.FailAt(catalogue.Advice, "no secrets asked for in a form, as far as words tell", "%s", found)
				}
			})
		}),

	"elicitation/form-without-clickable-urls": check.WatchWithSetup(client.CollectServerRequests,
		func(t *check.T, w check.Wire) {
			eachForm(t, w, func(t *check.T, q client.ServerRequest) {
				for _, text := range textsOf(q) {
					t.ExpectAdvice(urlsIn(text)).To(check.BeEmptyList[string]("no URLs to click on in a form"), "in %s",
						check.Show(text))
				}
			})
		}),
}

// field is a field of a form.
type field struct {
	name   string
	schema check.M
}

// fieldsOf returns the fields of a form that have a schema, sorted by name.
func fieldsOf(q client.ServerRequest) (fields []field) {
	form, _ := q.Params["requestedSchema"].(check.M)
	properties, _ := form["properties"].(check.M)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if schema, isObject := properties[name].(check.M); isObject {
			fields = append(fields, field{name, schema})
		}
	}
	return fields
}

// unsupportedKeywords returns the keywords of a field that forms do not have, although the type of the field is
// supported: "other advanced JSON Schema features are intentionally not supported". Unknown members are legal.
func (f field) unsupportedKeywords(revision string) (keywords []string) {
	for _, keyword := range []string{
		"$ref", "allOf", "anyOf", "oneOf", "not", "if", "properties", "patternProperties", "prefixItems", "contains",
	} {
		choices := keyword == "oneOf" && f.schema["type"] == "string" && revision >= "2025-11-25"
		if check.HasMember(f.schema, keyword) && !choices {
			keywords = append(keywords, keyword)
		}
	}
	return keywords
}

// choicesOfOtherTypes are the values of the field's enum that are no texts. A schema for free texts allows any members,
// hence such an enum as well.
func (f field) choicesOfOtherTypes() (others []string) {
	values, _ := f.schema["enum"].([]any)
	for _, v := range values {
		if _, isText := v.(string); !isText {
			others = append(others, check.Show(v))
		}
	}
	return others
}

// isFreeInput reports whether the user enters a value in a field instead of choosing one.
func (f field) isFreeInput() bool {
	switch f.schema["type"] {
	case "number", "integer":
		return true
	case "string":
		return !check.HasMember(f.schema, "enum") && !check.HasMember(f.schema, "oneOf")
	}
	return false
}

// isChoice reports whether the user chooses one of several values.
func (f field) isChoice() bool { return f.schema["type"] != "boolean" && !f.isFreeInput() }

// These patterns match words that name a secret. The words of secretNumberPattern also name numbers. In fields for
// numbers, those of secretTextPattern may be counted things, such as tokens.
var (
	secretNumberPattern = regexp.MustCompile(`\b(pin|pin ?codes?|cvv|cvc|card ?numbers?|credit ?cards?)\b`)
	secretTextPattern   = regexp.MustCompile(
		`\b(pass ?words?|passwd|pass ?phrases?|pass ?codes?|secrets?|tokens?|api ?keys?|private ?keys?)\b`)
)

// secretNamePattern matches the whole name or title of a field for a secret that grants access or authorizes payments.
// Other words that name secrets have other meanings too: a PIN code is also a postal code, and games have tokens.
var secretNamePattern = regexp.MustCompile(`^((the|your|my|user|account|login|current|old|new) )?` +
	`(password|passwd|api key|private key|secret key|access token|cvv|cvc|credit card number)$`)

// secretRequest describes the first sign in a form that it asks for a secret; empty if there is none. isName reports
// that a name is one of secretNamePattern. Only fields for free input count.
func secretRequest(q client.ServerRequest) (found string, isName bool) {
	for _, f := range fieldsOf(q) {
		title, _ := f.schema["title"].(string)
		for _, name := range []string{f.name, title} {
			if f.isFreeInput() && secretNamePattern.MatchString(strings.TrimSpace(splitWords(name))) {
				return "the field " + check.Show(name), true
			}
		}
	}
	return secretWordIn(q), false
}

// secretWordIn describes the first word in a form that names a secret; empty if there is none.
func secretWordIn(q client.ServerRequest) string {
	free := false
	for _, f := range fieldsOf(q) {
		if !f.isFreeInput() {
			continue
		}
		free = true
		title, _ := f.schema["title"].(string)
		description, _ := f.schema["description"].(string)
		for _, text := range []string{f.name, title, withoutWarning(description)} {
			if word := secretWord(text, f.schema["type"] == "string"); word != "" {
				return "the field " + f.name + ", with " + check.Show(word) + " in " + check.Show(text)
			}
		}
	}
	message, _ := q.Params["message"].(string)
	if word := secretWord(withoutWarning(message), true); free && word != "" {
		return "the message, with " + check.Show(word) + " in " + check.Show(message)
	}
	return ""
}

// withoutWarning returns a text, or nothing if it contains a negation: it may tell the user not to enter secrets.
func withoutWarning(text string) string {
	if denialPattern.MatchString(text) {
		return ""
	}
	return text
}

// denialPattern matches a negation.
var denialPattern = regexp.MustCompile(`(?i)\b(not|never|no|without|don['’]t)\b`)

// secretWord returns the first word in a text that names a secret; empty if there is none.
func secretWord(text string, isText bool) string {
	words := splitWords(text)
	if word := secretNumberPattern.FindString(words); word != "" || !isText {
		return word
	}
	return secretTextPattern.FindString(words)
}

// splitWords returns a text or a name in lower case with spaces between its words: "apiKey" and "api_key" become "api
// key".
func splitWords(text string) string {
	var b strings.Builder
	small := false
	for _, r := range text {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		if small = unicode.IsLower(r) || unicode.IsDigit(r); !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// textsOf returns what a form shows its user: the message, titles and descriptions.
func textsOf(q client.ServerRequest) (texts []string) {
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []any:
			for _, one := range v {
				add(one)
			}
		}
	}
	form, _ := q.Params["requestedSchema"].(check.M)
	add(q.Params["message"])
	add(form["title"])
	add(form["description"])
	for _, f := range fieldsOf(q) {
		items, _ := f.schema["items"].(check.M)
		add(f.schema["title"])
		add(f.schema["description"])
		add(f.schema["enumNames"])
		for _, choice := range slices.Concat(protocol.ObjectsIn(f.schema["oneOf"]),
			protocol.ObjectsIn(items["anyOf"])) {
			add(choice["title"])
		}
	}
	return texts
}

// urlPattern matches a URL in a text.
var urlPattern = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>()]+`)

// urlsIn returns the URLs in a text. Hosts that are reserved for examples do not count: they show what to enter.
func urlsIn(text string) (links []string) {
	for _, found := range urlPattern.FindAllString(text, -1) {
		u, err := url.Parse(found)
		if err != nil || !reservedHostPattern.MatchString(u.Hostname()) {
			links = append(links, found)
		}
	}
	return links
}

// reservedHostPattern matches the hosts that RFC 2606 reserves for examples and tests.
var reservedHostPattern = regexp.MustCompile(`(?i)(^|\.)(example(\.(com|net|org|edu))?|test|invalid)$`)
