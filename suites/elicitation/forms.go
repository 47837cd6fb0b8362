package elicitation

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// forms are the checks of the forms that users are asked to fill in.
var forms = Suite{
	formSchema: WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judgeForms(t, w, func(t *T, q kit.Question) {
			t.Expect(broken(t, q, formSchema)).To(BeEmptyList[string](
				"message, and a requestedSchema of type object with properties"))
		})
	}),

	flatSchema: WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judgeForms(t, w, func(t *T, q kit.Question) {
			t.Expect(broken(t, q, flatSchema)).To(BeEmptyList[string]("fields of the kinds that forms have"))
			for _, f := range fieldsOf(q) {
				t.Warn(f.advanced(t.Revision)).To(BeEmptyList[string]("no other features of JSON Schema"),
					"the field %s", f.name)
			}
		})
	}),

	formats: WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judgeForms(t, w, func(t *T, q kit.Question) {
			t.Expect(broken(t, q, formats)).To(BeEmptyList[string]("the formats email, uri, date and date-time"))
		})
	}),

	"elicitation/no-sensitive-form-fields": WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judgeForms(t, w, func(t *T, q kit.Question) {
			if found := sensitive(q); found != "" {
				t.FailAt(Should, "no secrets asked for in a form, as far as words tell", "%s", found)
			}
		})
	}),

	"elicitation/form-without-clickable-urls": WatchAfter(kit.LetInquire, func(t *T, w Wire) {
		judgeForms(t, w, func(t *T, q kit.Question) {
			for _, text := range textsOf(q) {
				t.Expect(linksIn(text)).To(BeEmptyList[string]("no URLs to click on in a form"), "in %s", Show(text))
			}
		})
	}),
}

// field is one of a form.
type field struct {
	name   string
	schema M
}

// fieldsOf are those of a form that have a schema, by name.
func fieldsOf(q kit.Question) (fields []field) {
	form, _ := q.Params["requestedSchema"].(M)
	properties, _ := form["properties"].(M)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if schema, isObject := properties[name].(M); isObject {
			fields = append(fields, field{name, schema})
		}
	}
	return fields
}

// advanced are the keywords of a field that forms do not have although it is of one of their kinds: "other advanced
// JSON Schema features are intentionally not supported". Further members without such a meaning are legal.
func (f field) advanced(revision string) (keywords []string) {
	for _, keyword := range []string{
		"$ref", "allOf", "anyOf", "oneOf", "not", "if", "properties", "patternProperties", "prefixItems", "contains",
	} {
		choices := keyword == "oneOf" && f.schema["type"] == "string" && revision >= "2025-11-25"
		if Has(f.schema, keyword) && !choices {
			keywords = append(keywords, keyword)
		}
	}
	return keywords
}

// isFree reports whether the user may enter in a field what the server does not offer.
func (f field) isFree() bool {
	switch f.schema["type"] {
	case "number", "integer":
		return true
	case "string":
		return !Has(f.schema, "enum") && !Has(f.schema, "oneOf")
	}
	return false
}

// Words that tell secrets. Some are those of numbers as well; others count something there, as tokens do.
var (
	secretNumbers = regexp.MustCompile(`\b(pin|pin ?codes?|cvv|cvc|card ?numbers?|credit ?cards?)\b`)
	secretTexts   = regexp.MustCompile(
		`\b(pass ?words?|passwd|pass ?phrases?|pass ?codes?|secrets?|tokens?|api ?keys?|private ?keys?)\b`)
)

// sensitive tells the first sign in a form that it asks for a secret; empty when there is none. Only what the user
// enters freely can be one.
func sensitive(q kit.Question) string {
	free := false
	for _, f := range fieldsOf(q) {
		if !f.isFree() {
			continue
		}
		free = true
		title, _ := f.schema["title"].(string)
		description, _ := f.schema["description"].(string)
		for _, text := range []string{f.name, title, unlessWarning(description)} {
			if word := secretWord(text, f.schema["type"] == "string"); word != "" {
				return "the field " + f.name + ", with " + Show(word) + " in " + Show(text)
			}
		}
	}
	message, _ := q.Params["message"].(string)
	if word := secretWord(unlessWarning(message), true); free && word != "" {
		return "the message, with " + Show(word) + " in " + Show(message)
	}
	return ""
}

// unlessWarning is a text, unless it denies something: it may ask not to be given secrets.
func unlessWarning(text string) string {
	if denial.MatchString(text) {
		return ""
	}
	return text
}

var denial = regexp.MustCompile(`(?i)\b(not|never|no|without|don['’]t)\b`)

// secretWord is the first word in a text that tells a secret; empty when there is none.
func secretWord(text string, isText bool) string {
	words := inWords(text)
	if word := secretNumbers.FindString(words); word != "" || !isText {
		return word
	}
	return secretTexts.FindString(words)
}

// inWords is a text or a name in small letters with blanks between its words: "apiKey" and "api_key" are "api key".
func inWords(text string) string {
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

// textsOf are what a form shows its user: the message, titles and descriptions.
func textsOf(q kit.Question) (texts []string) {
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
	form, _ := q.Params["requestedSchema"].(M)
	add(q.Params["message"])
	add(form["title"])
	add(form["description"])
	for _, f := range fieldsOf(q) {
		items, _ := f.schema["items"].(M)
		add(f.schema["title"])
		add(f.schema["description"])
		add(f.schema["enumNames"])
		for _, choice := range slices.Concat(kit.ObjectsIn(f.schema["oneOf"]), kit.ObjectsIn(items["anyOf"])) {
			add(choice["title"])
		}
	}
	return texts
}

var link = regexp.MustCompile(`(?i)\bhttps?://[^\s"'<>()]+`)

// linksIn are the URLs in a text. Those of hosts that are reserved for examples lead nowhere: they show what to enter.
func linksIn(text string) (links []string) {
	for _, found := range link.FindAllString(text, -1) {
		u, err := url.Parse(found)
		if err != nil || !reserved.MatchString(u.Hostname()) {
			links = append(links, found)
		}
	}
	return links
}

// reserved are the hosts of RFC 2606 for examples and tests.
var reserved = regexp.MustCompile(`(?i)(^|\.)(example(\.(com|net|org|edu))?|test|invalid)$`)
