package tools

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// definitionChecks are the checks of the definitions of tools.
var definitionChecks = check.Suite{
	"tools/name-is-string": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) { t.Expect(check.Member(tool, "name")).To(check.BeString()) })
	}),

	"tools/name-length": check.Probe(func(t *check.T) {
		eachName(t, func(t *check.T, name string) {
			n := utf8.RuneCountInString(name)
			t.Expect(n >= 1 && n <= 128).To(check.BeTrue("a name of 1 to 128 characters", "%d", n))
		})
	}),

	"tools/name-charset": check.Probe(func(t *check.T) {
		allowed := regexp.MustCompile(`^[A-Za-z0-9_.-]*$`) // tools/name-length judges the length
		eachName(t, func(t *check.T, name string) {
			t.Expect(name).To(check.Satisfy("only ASCII letters, digits, _, - and .", allowed.MatchString))
		})
	}),

	"tools/input-schema-object": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) { expectObjectSchema(t, tool, "inputSchema") })
	}),

	"tools/input-schema-valid": check.Probe(func(t *check.T) {
		eachInputSchema(t, func(t *check.T, schema check.M) {
			schema = withoutType(schema) // tools/input-schema-object reports another type
			// tools/input-schema-required-strings reports others.
			if !t.IsModern() && !isStringList(schema["required"]) {
				delete(schema, "required")
			}
			expectValidSchema(t, schema)
		})
	}),

	"tools/input-schema-properties-are-objects": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) {
			if _, isObject := tool["inputSchema"].(check.M); !isObject {
				t.Yield("inputSchema is not an object")
			}
			seen := false
			for _, schema := range publishedSchemas(t, tool) {
				properties, _ := schema["properties"].(check.M)
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					seen = true
					_, boolean := properties[name].(bool) // other types are invalid schemas
					t.Expect(!boolean).To(check.BeTrue("an object as the schema of "+name, "%v", properties[name]))
				}
			}
			if !seen {
				t.Skip(check.NotOffered, "no tool has properties")
			}
		})
	}),

	"tools/input-schema-required-strings": check.Probe(func(t *check.T) {
		eachInputSchema(t, func(t *check.T, schema check.M) {
			if !check.HasMember(schema, "required") {
				t.Skip(check.NotOffered, "no tool has required arguments")
			}
			t.Expect(schema["required"]).To(check.Satisfy("an array of strings",
				func(v any) bool { return isStringList(v) }))
		})
	}),

	"tools/input-schema-refs-resolve": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) {
			refs := refsOf(t, tool)
			if t.IsModern() { // tools/schema-no-external-refs judges it
				refs = slices.DeleteFunc(refs, needsFetch)
			}
			if len(refs) == 0 {
				t.Skip(check.NotOffered, "no schema has a reference")
			}
			for _, ref := range refs {
				t.Expect(ref.Resolves).To(check.BeTrue("references that resolve within the schema",
					"%s at %s", ref.Target, ref.Path))
			}
		})
	}),

	"tools/schema-no-external-refs": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) {
			for _, ref := range refsOf(t, tool) {
				t.Expect(!needsFetch(ref)).To(check.BeTrue("references that stay within the schema",
					"%s at %s", ref.Target, ref.Path))
			}
		})
	}),

	"tools/schema-dialect-known": check.Probe(func(t *check.T) {
		known := []string{
			"", "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/schema",
			"http://json-schema.org/draft-07/schema",
		}
		eachTool(t, func(t *check.T, tool check.M) {
			published := publishedSchemas(t, tool)
			if len(published) == 0 {
				t.Skip(check.NotOffered, "no schema is published")
			}
			for _, schema := range published {
				t.Expect(schemas.DialectOf(schema)).To(check.BeOneOf(known...))
			}
		})
	}),

	"tools/no-param-schema": check.Probe(func(t *check.T) {
		eachInputSchema(t, func(t *check.T, schema check.M) {
			if takesArguments(schema) {
				t.Skip(check.NotOffered, "every tool has parameters")
			}
			t.Expect(schema).To(check.Satisfy(`additionalProperties false, since there are no parameters`, isClosed))
		})
	}),

	"tools/output-schema-object": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) {
			if !check.HasMember(tool, "outputSchema") {
				t.Skip(check.NotOffered, "no tool has an outputSchema")
			}
			expectObjectSchema(t, tool, "outputSchema")
		})
	}),

	"tools/output-schema-valid": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) {
			schema, ok := tool["outputSchema"].(check.M)
			switch {
			case t.IsModern() && check.HasMember(tool, "outputSchema"):
				t.Expect(tool["outputSchema"]).To(check.BeObject())
			case !ok:
				t.Skip(check.NotOffered, "no tool has an outputSchema that is an object")
			default: // tools/output-schema-object reports it
				schema = withoutType(schema)
			}
			expectValidSchema(t, schema)
		})
	}),

	"tools/annotations-valid": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) {
			if !check.HasMember(tool, "annotations") {
				t.Skip(check.NotOffered, "no tool has annotations")
			}
			t.Expect(tool["annotations"]).To(check.BeObject())
			hints := tool["annotations"].(check.M)
			for _, name := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
				_, boolean := hints[name].(bool)
				t.Expect(boolean || !check.HasMember(hints, name)).To(check.BeTrue("a boolean "+name, "%s",
					check.Show(hints[name])))
			}
			_, text := hints["title"].(string)
			t.Expect(text || !check.HasMember(hints, "title")).To(check.BeTrue("a string as title", "%s",
				check.Show(hints["title"])))
		})
	}),

	"tools/annotations-coherent": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) {
			hints, ok := tool["annotations"].(check.M)
			if !ok {
				t.Skip(check.NotOffered, "no tool has annotations")
			}
			both := hints["readOnlyHint"] == true && hints["destructiveHint"] == true
			t.Expect(!both).To(check.BeTrue("a tool that is either read-only or destructive", "both hints true"))
		})
	}),

	"tools/execution-task-support": check.Probe(func(t *check.T) {
		eachTool(t, func(t *check.T, tool check.M) {
			execution, _ := tool["execution"].(check.M)
			if !check.HasMember(execution, "taskSupport") {
				t.Skip(check.NotOffered, "no tool has execution.taskSupport")
			}
			t.Expect(execution["taskSupport"]).To(check.BeOneOf("forbidden", "optional", "required"))
		})
	}),

	"tools/description-type": check.Probe(func(t *check.T) { expectOptionalString(t, "description") }),

	"tools/title-type": check.Probe(func(t *check.T) { expectOptionalString(t, "title") }),
}

// eachTool runs a check on the definition of every listed tool.
func eachTool(t *check.T, run func(*check.T, check.M)) {
	list := toolcall.ListedTools(t)
	if len(list) == 0 {
		t.Skip(check.NotOffered, "the server lists no tool")
	}
	t.Each(list, func(t *check.T, tool check.Subject) { run(t, tool.Value) })
}

func eachName(t *check.T, run func(*check.T, string)) {
	eachTool(t, func(t *check.T, tool check.M) {
		name, ok := tool["name"].(string)
		if !ok {
			t.Yield("the name is not a string")
		}
		run(t, name)
	})
}

// eachInputSchema runs a check on every inputSchema that is an object. A type that tools/input-schema-object reports is
// removed.
func eachInputSchema(t *check.T, run func(*check.T, check.M)) {
	eachTool(t, func(t *check.T, tool check.M) {
		schema, ok := tool["inputSchema"].(check.M)
		if !ok {
			t.Yield("inputSchema is not an object")
		}
		run(t, schema)
	})
}

// publishedSchemas returns the schemas of a tool that the revision defines and that are objects.
func publishedSchemas(t *check.T, tool check.M) (published []check.M) {
	members := []any{tool["inputSchema"]}
	if t.Revision >= "2025-06-18" {
		members = append(members, tool["outputSchema"])
	}
	return check.Objects(members)
}

func expectObjectSchema(t *check.T, tool check.M, member string) {
	schema := check.Member(tool, member)
	t.Expect(schema).To(check.BeObject())
	t.Expect(check.Member(schema.(check.M), "type")).To(check.Satisfy(`the type "object"`,
		func(v string) bool { return v == "object" }))
}

// refsOf returns the references in the schemas of a tool.
func refsOf(t *check.T, tool check.M) (refs []schemas.Ref) {
	for _, schema := range publishedSchemas(t, tool) {
		refs = append(refs, schemas.Refs(schema)...)
	}
	return refs
}

// needsFetch reports whether a reference leads to a document that would have to be fetched. The metaschemas of known
// dialects need not be.
func needsFetch(ref schemas.Ref) bool { return ref.External && !ref.Resolves }

// withoutType returns a copy of a schema without a type that another entry reports.
func withoutType(schema check.M) check.M {
	schema = maps.Clone(schema)
	if schema["type"] != "object" {
		delete(schema, "type")
	}
	return schema
}

// expectValidSchema requires a schema to be valid. Other entries judge its references.
func expectValidSchema(t *check.T, schema check.M) {
	_, err := schemas.Compile(schema, t.Revision)
	var unknown *schemas.UnknownDialectError
	var limit *schemas.LimitError
	if errors.As(err, &unknown) || errors.As(err, &limit) {
		t.NoVerdict(check.Limit, "%v", err)
	}
	var invalid *schemas.InvalidSchemaError
	dialect := cmp.Or(schemas.DialectOf(schema), "2020-12, which is meant without $schema")
	t.Expect(!errors.As(err, &invalid)).To(check.BeTrue("a valid JSON Schema of "+dialect, "%v", err))
}

func expectOptionalString(t *check.T, member string) {
	eachTool(t, func(t *check.T, tool check.M) {
		if !check.HasMember(tool, member) {
			t.Skip(check.NotOffered, "no tool has a %s", member)
		}
		t.Expect(tool[member]).To(check.BeString())
	})
}

// isStringList reports whether a value is an array of strings.
func isStringList(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(item any) bool { _, is := item.(string); return !is })
}

// takesArguments reports whether a schema declares arguments or explicitly allows any.
func takesArguments(schema check.M) bool {
	properties, _ := schema["properties"].(check.M)
	required, _ := schema["required"].([]any)
	onPurpose := []string{"patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "minProperties"}
	for _, member := range onPurpose {
		if check.HasMember(schema, member) {
			return true
		}
	}
	return len(properties) > 0 || len(required) > 0 ||
		check.HasMember(schema, "additionalProperties") && schema["additionalProperties"] != false
}

// isClosed reports whether a schema without properties allows none at all.
func isClosed(schema check.M) bool {
	return schema["additionalProperties"] == false || schema["unevaluatedProperties"] == false ||
		check.Show(schema["maxProperties"]) == "0"
}
