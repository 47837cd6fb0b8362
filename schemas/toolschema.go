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
	root     *jsonschema.Schema
	dialect  string
	older    *Schema // the same in draft-07, where the revision leaves the dialect open; else nil
	enumCost int     // of comparing one value with the longest enum

	mu     sync.Mutex // guards meter
	budget *workBudget
}

// UnknownDialectError says that $schema names no dialect that mcpcheck knows.
type UnknownDialectError struct{ Dialect string }

func (e *UnknownDialectError) Error() string {
	return fmt.Sprintf("/$schema: unknown dialect %q", truncate(e.Dialect, 120))
}

// InvalidSchemaError says where a schema breaks the metaschema of its dialect, and how.
type InvalidSchemaError struct {
	Path string // JSON pointer to the bad value in the schema: "/properties/a/type"
	Rule string // `expected one of "array", "boolean", …, got "any"`
}

func (e *InvalidSchemaError) Error() string { return orRoot(e.Path) + ": " + e.Rule }

// DanglingRefError names a reference into the schema itself that leads nowhere.
type DanglingRefError struct {
	Path string // JSON pointer to the keyword: "/properties/a/$ref"
	Ref  string
}

func (e *DanglingRefError) Error() string {
	return fmt.Sprintf("%s: %q does not resolve", e.Path, truncate(e.Ref, 120))
}

// ExternalRefError names a reference that leaves the schema. It is never followed.
type ExternalRefError struct {
	Path string // JSON pointer to the keyword: "/properties/a/$ref"
	Ref  string
}

func (e *ExternalRefError) Error() string {
	return fmt.Sprintf("%s: %q is outside the schema, and is not fetched", e.Path, truncate(e.Ref, 120))
}

// LimitError says that a schema, or a value, is larger or more tangled than mcpcheck follows. It is not a verdict:
// neither the schema nor the value has been found wrong.
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
// invalid schema is reported as that even if it also has bad references. Nothing is ever read from the network or from
// files. A pattern that is not ECMA-262 is not an error: JSON Schema only says that it SHOULD be. What it applies to
// has no verdict.
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
// shares them.
var drafts = map[string]*jsonschema.Draft{
	jsonschema.Draft4.String():    jsonschema.Draft4,
	jsonschema.Draft6.String():    jsonschema.Draft6,
	jsonschema.Draft7.String():    jsonschema.Draft7,
	jsonschema.Draft2019.String(): jsonschema.Draft2019,
	jsonschema.Draft2020.String(): jsonschema.Draft2020,
}

// DialectOf returns the dialect that a schema names in $schema: a known one as its metaschema's canonical URL
// ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema"), whatever the scheme and
// with or without a trailing #, any other as it stands, and "" if there is none.
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

// Dialect returns the dialect that the schema was compiled in, the newer one of two, named as by DialectOf.
func (s *Schema) Dialect() string { return s.dialect }

// schemaURL is where a published schema is said to live: the base of its relative references.
const schemaURL = "mcpcheck://tool/schema"

// noLoader refuses to load anything: references out of a schema are not followed.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("not fetched") }

// extraFormats are formats that ValidArguments makes strings for and the library does not know.
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
	c.AssertFormat() // only so that the names of formats are kept for ValidArguments; prepare takes the assertion out
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

// newCompileError turns the library's error into one of ours.
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

// locationPath returns the JSON pointer in a URL's fragment.
func locationPath(location string) string {
	_, fragment, _ := strings.Cut(location, "#")
	path, err := url.PathUnescape(fragment)
	if err != nil {
		return fragment
	}
	return path
}

// Validate tells whether v satisfies the schema, in one of its dialects if there are two. v is JSON as encoding/json
// decodes it, with or without UseNumber. The error is one line, such as "/sum: want number, got string", with at most
// three findings separated by "; ". It is a *LimitError if v or the work is too large, or if v meets a pattern that
// cannot be read, or takes too long: then there is no verdict. format is an annotation, as JSON Schema 2020-12
// Validation section 7.2.1 has it, in all dialects.
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

// validateFirst is Validate in the first dialect.
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

// rejects tells whether it is certain that v does not satisfy the schema, whatever the dialect.
func (s *Schema) rejects(v any) bool {
	err := s.Validate(v)
	return err != nil && !isLimit(err)
}

func isLimit(err error) bool {
	limit := (*LimitError)(nil)
	return errors.As(err, &limit)
}

// check validates v against a part of the schema. The error tells that this could not be done.
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
