package tools

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

var contentChecks = Suite{
	"tools/call-result-schema": Probe(func(t *T) {
		eachResult(t, "tool result", isAnyResult, func(t *T, result M) {
			rules := protocol.Violations(t, "tools/call-result-schema", "CallToolResult", result)
			t.Expect(rules).To(BeEmptyList[string]("a valid CallToolResult"))
		})
	}),

	"tools/call-content-present": Probe(func(t *T) {
		eachResult(t, "tool result", isAnyResult, func(t *T, result M) {
			t.Expect(Member(result, "content")).To(BeArray())
		})
	}),

	"tools/call-content-types": Probe(func(t *T) {
		eachBlock(t, "", func(t *T, block M) {
			t.Expect(Member(block, "type")).To(BeOneOf(toolcall.ContentTypes(t.Revision)...))
		})
	}),

	"tools/text-content-shape": Probe(func(t *T) {
		eachBlock(t, "text", func(t *T, block M) { t.Expect(Member(block, "text")).To(BeString()) })
	}),

	"tools/image-content-shape": Probe(func(t *T) {
		eachBlock(t, "image", func(t *T, block M) { toolcall.ExpectMedia(t, block, "image/") })
	}),

	"tools/audio-content-shape": Probe(func(t *T) {
		eachBlock(t, "audio", func(t *T, block M) { toolcall.ExpectMedia(t, block, "audio/") })
	}),

	"tools/embedded-resource-shape": Probe(func(t *T) {
		eachBlock(t, "resource", func(t *T, block M) { toolcall.ExpectEmbeddedResource(t, block) })
	}),

	"tools/embedded-resource-implies-capability": Probe(func(t *T) {
		eachBlock(t, "resource", func(t *T, _ M) {
			t.Expect(t.Server.Declares("resources")).To(BeTrue("the capability resources, since tools return resources",
				"capabilities without it"))
		})
	}),

	"tools/resource-link-shape": Probe(func(t *T) {
		eachBlock(t, "resource_link", func(t *T, block M) {
			t.Expect(Member(block, "uri")).To(BeString())
			t.Expect(Member(block, "name")).To(BeString())
			t.ExpectShould(block["uri"]).To(Satisfy("an absolute URI", toolcall.IsAbsoluteURI))
		})
	}),

	"tools/iserror-type": Probe(func(t *T) {
		has := func(result M) bool { return HasMember(result, "isError") }
		eachResult(t, "isError", has, func(t *T, result M) { t.Expect(result["isError"]).To(BeBoolean()) })
	}),

	"tools/error-result-has-content": Probe(func(t *T) {
		eachResult(t, "result with isError true", isError, func(t *T, result M) {
			explains := func(block M) bool { text, _ := block["text"].(string); return strings.TrimSpace(text) != "" }
			t.Expect(slices.ContainsFunc(contentBlocks(result), explains)).To(BeTrue("a text that explains the error",
				"%s", Show(result)))
		})
	}),

	"tools/structured-content-object": Probe(func(t *T) {
		eachResult(t, "structuredContent", isStructured, func(t *T, result M) {
			t.Expect(result["structuredContent"]).To(BeObject())
		})
	}),

	"tools/structured-content-present": Probe(func(t *T) {
		eachStructured(t, func(t *T, _, result M) {
			t.Expect(isStructured(result)).To(BeTrue("structuredContent, since the tool declares outputSchema",
				"%s", Show(result)))
		})
	}),

	"tools/structured-content-conforms": Probe(func(t *T) {
		eachStructured(t, func(t *T, schema, result M) {
			_, object := result["structuredContent"].(M)
			if !isStructured(result) || !object && !t.IsModern() {
				t.Yield("no structuredContent that is an object")
			}
			err := validateOutput(t, schema, result["structuredContent"])
			t.Expect(err == nil).To(BeTrue("structuredContent that satisfies the outputSchema", "%v", err))
		})
	}),

	"tools/structured-content-mirrored": Probe(func(t *T) {
		plain := func(result M) bool { // other values are tools/structured-content-object
			_, object := result["structuredContent"].(M)
			return (object || t.IsModern() && isStructured(result)) && !isError(result)
		}
		eachResult(t, "structuredContent", plain, func(t *T, result M) {
			value := result["structuredContent"]
			isText := func(block M) bool { return block["type"] == "text" }
			repeats := func(block M) bool {
				text, _ := block["text"].(string)
				return isText(block) && sameJSON(driver.Decode([]byte(text)), value)
			}
			want, got := "a text block with "+Show(value), Show(Member(result, "content"))
			if t.IsModern() && slices.ContainsFunc(contentBlocks(result), isText) { // the page has an example in prose
				t.ExpectAdvice(slices.ContainsFunc(contentBlocks(result), repeats)).To(BeTrue(want, "%s", got))
				return
			}
			t.Expect(slices.ContainsFunc(contentBlocks(result), repeats)).To(BeTrue(want, "%s", got))
		})
	}),
}

// toolResults are the results of all tool calls of the run, those provoked by invalid arguments and unknown names
// included, as far as they are final.
func toolResults(t *T) (results []Subject) {
	name, unknown := invalid.CallUnknownTool(t)
	calls := slices.Concat(toolcall.ValidCalls(t).List, toolcall.InvalidCalls(t).List)
	calls = append(calls, toolcall.ToolCall{Tool: Subject{Name: name}, Reply: unknown})
	for _, c := range calls {
		if result := c.Reply.Result(); result != nil && !isUnfinished(result) && !invalid.AcceptsAnything(t, c.Reply) {
			results = append(results, Subject{Name: c.Tool.Name, Value: result})
		}
	}
	return results
}

// isUnfinished reports whether a result is not what the tool comes to, but a task, or asks for something first.
func isUnfinished(result M) bool {
	_, task := result["task"].(M)
	return (task || toolcall.ResultType(result) != "complete") && !HasMember(result, "content")
}

func isAnyResult(M) bool { return true }

func isError(result M) bool { return result["isError"] == true }

func isStructured(result M) bool { return HasMember(result, "structuredContent") }

// eachResult tries a check on the tool results of a kind.
func eachResult(t *T, what string, of func(M) bool, run func(*T, M)) {
	var seen []Subject
	for _, result := range toolResults(t) {
		if of(result.Value) {
			seen = append(seen, result)
		}
	}
	toolcall.RequireObserved(t, len(seen), what+" was seen", toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	t.Each(seen, func(t *T, result Subject) { run(t, result.Value) })
}

// contentBlocks are the content blocks of a result that are objects.
func contentBlocks(result M) []M {
	content, _ := result["content"].([]any)
	return Objects(content)
}

// eachBlock tries a check on the content blocks of a type in all tool results; the empty type means every block.
func eachBlock(t *T, kind string, run func(*T, M)) {
	var seen []Subject
	for _, result := range toolResults(t) {
		for _, block := range contentBlocks(result.Value) {
			if kind == "" || block["type"] == kind {
				seen = append(seen, Subject{Name: result.Name, Value: block})
			}
		}
	}
	what := strings.TrimSpace(kind + " content block was seen")
	toolcall.RequireObserved(t, len(seen), what, toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	t.Each(seen, func(t *T, block Subject) { run(t, block.Value) })
}

// eachStructured tries a check on the results of successful calls of tools that declare an outputSchema.
func eachStructured(t *T, run func(t *T, schema, result M)) {
	schemaOf := func(tool M) M { schema, _ := tool["outputSchema"].(M); return schema }
	calls := toolcall.ValidCalls(t)
	seen := slices.DeleteFunc(slices.Clone(calls.List), func(c toolcall.ToolCall) bool {
		result := c.Reply.Result()
		return schemaOf(c.Tool.Value) == nil || result == nil || isUnfinished(result) || isError(result)
	})
	declares := func(tool M) bool { return schemaOf(tool) != nil }
	toolcall.RequireObserved(t, len(seen), "tool with an outputSchema was called successfully", calls.Uncalled, declares)
	toolcall.EachToolCall(t, seen, func(t *T, c toolcall.ToolCall) { run(t, schemaOf(c.Tool.Value), c.Reply.Result()) })
}

// validateOutput says in what way a value does not satisfy an outputSchema.
func validateOutput(t *T, schema M, value any) error {
	compiled, err := schemas.Compile(schema, t.Revision)
	if err != nil {
		// tools/output-schema-valid, tools/input-schema-refs-resolve
		t.Yield("the outputSchema cannot be used: %v", err)
	}
	err = compiled.Validate(value)
	if limit := (*schemas.LimitError)(nil); errors.As(err, &limit) {
		t.WithReason(Limit).Inconclusive("%v", err)
	}
	return err
}

// sameJSON reports whether two values are equal, numbers by their value.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case M:
		b, ok := b.(M)
		return ok && maps.EqualFunc(a, b, sameJSON)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameJSON)
	}
	x, isNumber := a.(json.Number)
	y, bothAre := b.(json.Number)
	if !isNumber || !bothAre {
		return a == b
	}
	return driver.SameNumber(x, y)
}
