package tools

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/schemas"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

var definitionChecks = Suite{
	"tools/name-is-string": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) { t.Expect(Member(tool, "name")).To(BeString()) })
	}),

	"tools/name-length": Probe(func(t *T) {
		eachName(t, func(t *T, name string) {
			n := utf8.RuneCountInString(name)
			t.Expect(n >= 1 && n <= 128).To(BeTrue("a name of 1 to 128 characters", "%d", n))
		})
	}),

	"tools/name-charset": Probe(func(t *T) {
		allowed := regexp.MustCompile(`^[A-Za-z0-9_.-]*$`) // how many, tools/name-length judges
		eachName(t, func(t *T, name string) {
			t.Expect(name).To(Satisfy("only ASCII letters, digits, _, - and .", allowed.MatchString))
		})
	}),

	"tools/input-schema-object": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) { expectObjectSchema(t, tool, "inputSchema") })
	}),

	"tools/input-schema-valid": Probe(func(t *T) {
		eachInputSchema(t, func(t *T, schema M) {
			schema = withoutType(schema)                            // tools/input-schema-object
			if !t.IsModern() && !isStringList(schema["required"]) { // tools/input-schema-required-strings
				delete(schema, "required")
			}
			expectValidSchema(t, schema)
		})
	}),

	"tools/input-schema-properties-are-objects": Probe(func(t *T) {
		eachInputSchema(t, func(t *T, schema M) {
			properties, _ := schema["properties"].(M)
			if len(properties) == 0 {
				t.WithReason(NotOffered).Skip("no tool has properties")
			}
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				_, boolean := properties[name].(bool) // any other type is not a valid schema
				t.Expect(!boolean).To(BeTrue("an object as the schema of "+name, "%v", properties[name]))
			}
		})
	}),

	"tools/input-schema-required-strings": Probe(func(t *T) {
		eachInputSchema(t, func(t *T, schema M) {
			if !HasMember(schema, "required") {
				t.WithReason(NotOffered).Skip("no tool has required arguments")
			}
			t.Expect(schema["required"]).To(Satisfy("an array of strings", func(v any) bool { return isStringList(v) }))
		})
	}),

	"tools/input-schema-refs-resolve": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) {
			refs := refsOf(t, tool)
			if t.IsModern() { // tools/schema-no-external-refs
				refs = slices.DeleteFunc(refs, needsFetch)
			}
			if len(refs) == 0 {
				t.WithReason(NotOffered).Skip("no schema has a reference")
			}
			for _, ref := range refs {
				t.Expect(ref.Resolves).To(BeTrue("references that resolve within the schema",
					"%s at %s", ref.Target, ref.Path))
			}
		})
	}),

	"tools/schema-no-external-refs": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) {
			for _, ref := range refsOf(t, tool) {
				t.Expect(!needsFetch(ref)).To(BeTrue("references that stay within the schema",
					"%s at %s", ref.Target, ref.Path))
			}
		})
	}),

	"tools/schema-dialect-known": Probe(func(t *T) {
		known := []string{
			"", "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
			"http://json-schema.org/draft-07/schema",
		}
		eachTool(t, func(t *T, tool M) {
			published := publishedSchemas(t, tool)
			if len(published) == 0 {
				t.WithReason(NotOffered).Skip("no schema is published")
			}
			for _, schema := range published {
				t.Expect(schemas.DialectOf(schema)).To(BeOneOf(known...))
			}
		})
	}),

	"tools/no-param-schema": Probe(func(t *T) {
		eachInputSchema(t, func(t *T, schema M) {
			if takesArguments(schema) {
				t.WithReason(NotOffered).Skip("every tool has parameters")
			}
			t.Expect(schema).To(Satisfy(`additionalProperties false, since there are no parameters`, isClosed))
		})
	}),

	"tools/output-schema-object": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) {
			if !HasMember(tool, "outputSchema") {
				t.WithReason(NotOffered).Skip("no tool has an outputSchema")
			}
			expectObjectSchema(t, tool, "outputSchema")
		})
	}),

	"tools/output-schema-valid": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) {
			schema, ok := tool["outputSchema"].(M)
			switch {
			case t.IsModern() && HasMember(tool, "outputSchema"):
				t.Expect(tool["outputSchema"]).To(BeObject())
			case !ok:
				t.WithReason(NotOffered).Skip("no tool has an outputSchema that is an object")
			default: // tools/output-schema-object
				schema = withoutType(schema)
			}
			expectValidSchema(t, schema)
		})
	}),

	"tools/annotations-valid": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) {
			if !HasMember(tool, "annotations") {
				t.WithReason(NotOffered).Skip("no tool has annotations")
			}
			t.Expect(tool["annotations"]).To(BeObject())
			hints := tool["annotations"].(M)
			for _, name := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
				_, boolean := hints[name].(bool)
				t.Expect(boolean || !HasMember(hints, name)).To(BeTrue("a boolean "+name, "%s", Show(hints[name])))
			}
			_, text := hints["title"].(string)
			t.Expect(text || !HasMember(hints, "title")).To(BeTrue("a string as title", "%s", Show(hints["title"])))
		})
	}),

	"tools/annotations-coherent": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) {
			hints, ok := tool["annotations"].(M)
			if !ok {
				t.WithReason(NotOffered).Skip("no tool has annotations")
			}
			both := hints["readOnlyHint"] == true && hints["destructiveHint"] == true
			t.Expect(!both).To(BeTrue("a tool that is either read-only or destructive", "both hints true"))
		})
	}),

	"tools/execution-task-support": Probe(func(t *T) {
		eachTool(t, func(t *T, tool M) {
			execution, _ := tool["execution"].(M)
			if !HasMember(execution, "taskSupport") {
				t.WithReason(NotOffered).Skip("no tool has execution.taskSupport")
			}
			t.Expect(execution["taskSupport"]).To(BeOneOf("forbidden", "optional", "required"))
		})
	}),

	"tools/description-type": Probe(func(t *T) { expectOptionalString(t, "description") }),

	"tools/title-type": Probe(func(t *T) { expectOptionalString(t, "title") }),
}

// eachTool tries a check on the definition of every tool that is listed.
func eachTool(t *T, run func(*T, M)) {
	list := toolcall.ListedTools(t)
	if len(list) == 0 {
		t.WithReason(NotOffered).Skip("the server lists no tool")
	}
	t.Each(list, func(t *T, tool Subject) { run(t, tool.Value) })
}

func eachName(t *T, run func(*T, string)) {
	eachTool(t, func(t *T, tool M) {
		name, ok := tool["name"].(string)
		if !ok {
			t.Yield("the name is not a string")
		}
		run(t, name)
	})
}

// eachInputSchema tries a check on every inputSchema that is an object. A type that tools/input-schema-object reports
// is left out.
func eachInputSchema(t *T, run func(*T, M)) {
	eachTool(t, func(t *T, tool M) {
		schema, ok := tool["inputSchema"].(M)
		if !ok {
			t.Yield("inputSchema is not an object")
		}
		run(t, schema)
	})
}

// publishedSchemas are the schemas of a tool that the revision knows and that are objects.
func publishedSchemas(t *T, tool M) (published []M) {
	members := []any{tool["inputSchema"]}
	if t.Revision >= "2025-06-18" {
		members = append(members, tool["outputSchema"])
	}
	return Objects(members)
}

func expectObjectSchema(t *T, tool M, member string) {
	schema := Member(tool, member)
	t.Expect(schema).To(BeObject())
	t.Expect(Member(schema.(M), "type")).To(Satisfy(`the type "object"`, func(v string) bool { return v == "object" }))
}

// refsOf are the references in the schemas of a tool.
func refsOf(t *T, tool M) (refs []schemas.Ref) {
	for _, schema := range publishedSchemas(t, tool) {
		refs = append(refs, schemas.Refs(schema)...)
	}
	return refs
}

// needsFetch reports whether a reference leads to what would have to be fetched. The metaschemas of known dialects need
// not be.
func needsFetch(ref schemas.Ref) bool { return ref.External && !ref.Resolves }

// withoutType is a copy of a schema without a type that another entry reports.
func withoutType(schema M) M {
	schema = maps.Clone(schema)
	if schema["type"] != "object" {
		delete(schema, "type")
	}
	return schema
}

// expectValidSchema wants a schema to be valid. What its references are worth, other entries judge.
func expectValidSchema(t *T, schema M) {
	_, err := schemas.Compile(schema, t.Revision)
	var unknown *schemas.UnknownDialectError
	var limit *schemas.LimitError
	if errors.As(err, &unknown) || errors.As(err, &limit) {
		t.WithReason(Limit).Inconclusive("%v", err)
	}
	var invalid *schemas.InvalidSchemaError
	dialect := cmp.Or(schemas.DialectOf(schema), "2020-12, which is meant without $schema")
	t.Expect(!errors.As(err, &invalid)).To(BeTrue("a valid JSON Schema of "+dialect, "%v", err))
}

func expectOptionalString(t *T, member string) {
	eachTool(t, func(t *T, tool M) {
		if !HasMember(tool, member) {
			t.WithReason(NotOffered).Skip("no tool has a %s", member)
		}
		t.Expect(tool[member]).To(BeString())
	})
}

// isStringList reports whether a value is an array of strings.
func isStringList(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(item any) bool { _, is := item.(string); return !is })
}

// takesArguments reports whether a schema declares arguments or allows any on purpose.
func takesArguments(schema M) bool {
	properties, _ := schema["properties"].(M)
	required, _ := schema["required"].([]any)
	onPurpose := []string{"patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "minProperties"}
	for _, member := range onPurpose {
		if HasMember(schema, member) {
			return true
		}
	}
	return len(properties) > 0 || len(required) > 0 ||
		HasMember(schema, "additionalProperties") && schema["additionalProperties"] != false
}

// isClosed reports whether a schema without properties allows none at all.
func isClosed(schema M) bool {
	return schema["additionalProperties"] == false || schema["unevaluatedProperties"] == false ||
		Show(schema["maxProperties"]) == "0"
}
