package schemas

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema that a server published (inputSchema or outputSchema of a tool), compiled. It may be used by
// several goroutines; they validate one after the other.
type Schema struct {
	root    *jsonschema.Schema
	dialect string
	// older is the same schema in draft-07 if the revision leaves the dialect open; otherwise nil.
	older *Schema
	// enumCost is the cost of comparing one value with the longest enum.
	enumCost int

	mu     sync.Mutex // guards budget
	budget *workBudget
}

// UnknownDialectError reports that $schema names an unknown dialect.
type UnknownDialectError struct{ Dialect string }

func (e *UnknownDialectError) Error() string {
	return fmt.Sprintf("/$schema: unknown dialect %q", truncate(e.Dialect, 120))
}

// InvalidSchemaError reports where a schema violates the metaschema of its dialect.
type InvalidSchemaError struct {
	// Path is the JSON pointer to the invalid value in the schema: "/properties/a/type".
	Path string
	// Rule says what was expected: `expected one of "array", "boolean", …, got "any"`.
	Rule string
}

func (e *InvalidSchemaError) Error() string { return orRoot(e.Path) + ": " + e.Rule }

// DanglingRefError reports a reference within the schema that does not resolve.
type DanglingRefError struct {
	// Path is the JSON pointer to the keyword: "/properties/a/$ref".
	Path string
	Ref  string
}

func (e *DanglingRefError) Error() string {
	return fmt.Sprintf("%s: %q does not resolve", e.Path, truncate(e.Ref, 120))
}

// ExternalRefError reports a reference to another document, which is never followed.
type ExternalRefError struct {
	// Path is the JSON pointer to the keyword: "/properties/a/$ref".
	Path string
	Ref  string
}

func (e *ExternalRefError) Error() string {
	return fmt.Sprintf("%s: %q is outside the schema, and is not fetched", e.Path, truncate(e.Ref, 120))
}

// LimitError reports that a schema or value exceeds the limits of mcpcheck. It says nothing about their validity.
type LimitError struct{ What string }

func (e *LimitError) Error() string { return "beyond what mcpcheck checks: " + e.What }

// defaultDialectSince is the first revision that fixes a dialect for schemas without $schema
// (basic/index#schema-dialect); revision names sort as dates.
const defaultDialectSince = "2025-11-25"

// Compile compiles a schema that a server published in a session of the given revision. doc is JSON as encoding/json
// decodes it, with or without UseNumber. The dialect is the one that $schema names; without $schema it is 2020-12. In
// revisions that name no default dialect it is then draft-07 as well, or alone if the schema is not valid 2020-12.
//
// The error is an *UnknownDialectError, *InvalidSchemaError, *DanglingRefError, *ExternalRefError or *LimitError; an
// invalid schema is reported as such even if it also has bad references. Nothing is ever read from the network or from
// files. A pattern that is not ECMA-262 is not an error, since JSON Schema only says that it SHOULD be; values that it
// applies to cannot be validated.
func Compile(doc any, revision string) (*Schema, error) {
	if err := measureSchema(doc); err != nil {
		return nil, err
	}
	if name := DialectOf(doc); name != "" {
		draft := drafts[name]
		if draft == nil {
			return nil, &UnknownDialectError{name}
		}
		return compileAs(doc, draft)
	}
	s, err := compileAs(doc, jsonschema.Draft2020)
	if revision >= defaultDialectSince {
		return s, err
	}
	older, bad := compileAs(doc, jsonschema.Draft7)
	if err != nil {
		return older, bad
	}
	if bad == nil {
		s.older = older
	}
	return s, nil
}

// drafts are the known dialects by the name that DialectOf gives them. The library compiles their metaschemas once and
// shares these.
var drafts = map[string]*jsonschema.Draft{
	jsonschema.Draft4.String():    jsonschema.Draft4,
	jsonschema.Draft6.String():    jsonschema.Draft6,
	jsonschema.Draft7.String():    jsonschema.Draft7,
	jsonschema.Draft2019.String(): jsonschema.Draft2019,
	jsonschema.Draft2020.String(): jsonschema.Draft2020,
}

// DialectOf is the dialect that a schema names in $schema: a known one as the canonical URL of its metaschema
// ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema"), whatever the scheme and
// with or without a trailing #; any other one unchanged; and "" if there is none.
func DialectOf(doc any) string {
	object, _ := doc.(map[string]any)
	named, _ := object["$schema"].(string)
	bare := withoutScheme(strings.TrimSuffix(named, "#"))
	if bare == "json-schema.org/schema" {
		return jsonschema.Draft2020.String()
	}
	for name := range drafts {
		if withoutScheme(name) == bare {
			return name
		}
	}
	return named
}

func withoutScheme(u string) string {
	if rest, ok := strings.CutPrefix(u, "http://"); ok {
		return rest
	}
	return strings.TrimPrefix(u, "https://")
}

// Dialect is the dialect that the schema was compiled in, named as by DialectOf; the newer one of two.
func (s *Schema) Dialect() string { return s.dialect }

// schemaURL is the URL of a published schema, the base of its relative references.
const schemaURL = "mcpcheck://tool/schema"

// noLoader is a loader that refuses to load anything, so that external references are not followed.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("not fetched") }

// extraFormats are formats that ValidArguments can make strings for and the library does not know.
var extraFormats = []string{"url", "idn-email", "idn-hostname"}

func compileAs(doc any, draft *jsonschema.Draft) (s *Schema, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, &LimitError{fmt.Sprint(r)}
		}
	}()
	s = &Schema{dialect: draft.String(), budget: &workBudget{}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draft)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(source string) (jsonschema.Regexp, error) { return newPattern(source, s.budget), nil })
	c.AssertFormat() // only to keep the names of formats for ValidArguments; prepare removes the assertion
	for _, name := range extraFormats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(any) error { return nil }})
	}
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	root, err := c.Compile(schemaURL)
	if err != nil {
		return nil, newCompileError(err, doc)
	}
	s.root = root
	return s, s.prepare()
}

// newCompileError translates an error of the library.
func newCompileError(err error, doc any) error {
	if bad := (*jsonschema.SchemaValidationError)(nil); errors.As(err, &bad) {
		return newInvalidSchemaError(bad)
	}
	if bad := (*jsonschema.UnsupportedVocabularyError)(nil); errors.As(err, &bad) {
		return &UnknownDialectError{bad.Vocabulary}
	}
	for _, r := range Refs(doc) {
		switch {
		case r.Resolves:
		case r.External:
			return &ExternalRefError{r.Path, r.Target}
		default:
			return &DanglingRefError{r.Path, r.Target}
		}
	}
	if bad := (*jsonschema.LoadURLError)(nil); errors.As(err, &bad) { // $schema of an embedded schema
		return &UnknownDialectError{bad.URL}
	}
	return &InvalidSchemaError{"", strings.ReplaceAll(err.Error(), schemaURL, "")}
}

func newInvalidSchemaError(bad *jsonschema.SchemaValidationError) error {
	invalid := (*jsonschema.ValidationError)(nil)
	if !errors.As(bad.Err, &invalid) {
		return &InvalidSchemaError{locationPath(bad.URL), bad.Err.Error()}
	}
	first := toolTranslator.keywordErrors(invalid)[0]
	return &InvalidSchemaError{locationPath(bad.URL) + jsonPointer(first.path), first.text}
}

// locationPath is the JSON pointer in a URL's fragment.
func locationPath(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	path, err := url.PathUnescape(fragment)
	if err != nil {
		return fragment
	}
	return path
}

// Validate returns an error if v does not satisfy the schema, in one of its dialects if there are two. v is JSON as
// encoding/json decodes it, with or without UseNumber. The error is one line, such as "/sum: expected number, got
// string", with at most three findings separated by "; ". It is a *LimitError if v or the work is too large, or if v
// meets a pattern that is invalid or takes too long: then the validity is not known. format is an annotation (JSON
// Schema 2020-12 Validation, section 7.2.1) in all dialects.
func (s *Schema) Validate(v any) error {
	err := s.validateFirst(v)
	if err == nil || s.older == nil {
		return err
	}
	if other := s.older.validateFirst(v); other == nil || isLimit(other) {
		return other
	}
	return err
}

// validateFirst is Validate in the first dialect only.
func (s *Schema) validateFirst(v any) error {
	invalid, err := s.check(s.root, v)
	if err != nil {
		return err
	}
	if invalid == nil {
		return nil
	}
	return describeError(invalid)
}

// validateAll is Validate in every dialect.
func (s *Schema) validateAll(v any) error {
	err := s.validateFirst(v)
	if err == nil && s.older != nil {
		err = s.older.validateFirst(v)
	}
	return err
}

// rejects reports whether v certainly does not satisfy the schema in any dialect.
func (s *Schema) rejects(v any) bool {
	err := s.Validate(v)
	return err != nil && !isLimit(err)
}

func isLimit(err error) bool {
	limit := (*LimitError)(nil)
	return errors.As(err, &limit)
}

// check validates v by a part of the schema. The error says why that was not possible.
func (s *Schema) check(part *jsonschema.Schema, v any) (invalid *jsonschema.ValidationError, err error) {
	if err := measureValue(v, s.enumCost); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			err = &LimitError{fmt.Sprint(r)}
		}
	}()
	s.budget.remaining = maxSteps / (1 + s.enumCost/100)
	errors.As(part.Validate(v), &invalid)
	return invalid, nil
}
