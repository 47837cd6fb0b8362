package tools

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// contentChecks are the checks of the results of tools.
var contentChecks = check.Suite{
	"tools/call-result-schema": check.Probe(func(t *check.T) {
		eachResult(t, "tool result", isAnyResult, func(t *check.T, result check.M) {
			rules := protocol.Violations(t, "tools/call-result-schema", "CallToolResult", result)
			t.Expect(rules).To(check.BeEmptyList[string]("a valid CallToolResult"))
		})
	}),

	"tools/call-content-present": check.Probe(func(t *check.T) {
		eachResult(t, "tool result", isAnyResult, func(t *check.T, result check.M) {
			t.Expect(check.Member(result, "content")).To(check.BeArray())
		})
	}),

	"tools/call-content-types": check.Probe(func(t *check.T) {
		eachBlock(t, "", func(t *check.T, block check.M) {
			t.Expect(check.Member(block, "type")).To(check.BeOneOf(toolcall.ContentTypes(t.Revision)...))
		})
	}),

	"tools/text-content-shape": check.Probe(func(t *check.T) {
		eachBlock(t, "text",
			func(t *check.T, block check.M) { t.Expect(check.Member(block, "text")).To(check.BeString()) })
	}),

	"tools/image-content-shape": check.Probe(func(t *check.T) {
		eachBlock(t, "image", func(t *check.T, block check.M) { toolcall.ExpectMedia(t, block, "image/") })
	}),

	"tools/audio-content-shape": check.Probe(func(t *check.T) {
		eachBlock(t, "audio", func(t *check.T, block check.M) { toolcall.ExpectMedia(t, block, "audio/") })
	}),

	"tools/embedded-resource-shape": check.Probe(func(t *check.T) {
		eachBlock(t, "resource", func(t *check.T, block check.M) { toolcall.ExpectEmbeddedResource(t, block) })
	}),

	"tools/embedded-resource-implies-capability": check.Probe(func(t *check.T) {
		eachBlock(t, "resource", func(t *check.T, _ check.M) {
			t.Expect(t.Server.Declares("resources")).
				To(check.BeTrue("the capability resources, since tools return resources",
					"capabilities without it"))
		})
	}),

	"tools/resource-link-shape": check.Probe(func(t *check.T) {
		eachBlock(t, "resource_link", func(t *check.T, block check.M) {
			t.Expect(check.Member(block, "uri")).To(check.BeString())
			t.Expect(check.Member(block, "name")).To(check.BeString())
			t.ExpectShould(block["uri"]).To(check.Satisfy("an absolute URI", toolcall.IsAbsoluteURI))
		})
	}),

	"tools/iserror-type": check.Probe(func(t *check.T) {
		has := func(result check.M) bool { return check.HasMember(result, "isError") }
		eachResult(t, "isError", has,
			func(t *check.T, result check.M) { t.Expect(result["isError"]).To(check.BeBoolean()) })
	}),

	"tools/error-result-has-content": check.Probe(func(t *check.T) {
		eachResult(t, "result with isError true", isError, func(t *check.T, result check.M) {
			requireTexts(t, result)
			explains := func(block check.M) bool {
				text, _ := block["text"].(string)
				return strings.TrimSpace(text) != ""
			}
			t.Expect(slices.ContainsFunc(contentBlocks(result), explains)).
				To(check.BeTrue("a text that explains the error", "%s", check.Show(result)))
		})
	}),

	"tools/structured-content-object": check.Probe(func(t *check.T) {
		eachResult(t, "structuredContent", isStructured, func(t *check.T, result check.M) {
			t.Expect(result["structuredContent"]).To(check.BeObject())
		})
	}),

	"tools/structured-content-present": check.Probe(func(t *check.T) {
		eachStructured(t, func(t *check.T, _, result check.M) {
			t.Expect(isStructured(result)).To(check.BeTrue("structuredContent, since the tool declares outputSchema",
				"%s", check.Show(result)))
		})
	}),

	"tools/structured-content-conforms": check.Probe(func(t *check.T) {
		eachStructured(t, func(t *check.T, schema, result check.M) {
			_, object := result["structuredContent"].(check.M)
			if !isStructured(result) || !object && !t.IsModern() {
				t.Yield("no structuredContent that is an object")
			}
			err := validateOutput(t, schema, result["structuredContent"])
			t.Expect(err == nil).To(check.BeTrue("structuredContent that satisfies the outputSchema", "%v", err))
		})
	}),

	"tools/error-structured-content-conforms": check.Probe(func(t *check.T) {
		valid, invalid := toolcall.ValidCalls(t), toolcall.InvalidCalls(t)
		failed := slices.DeleteFunc(slices.Concat(valid.List, invalid.List), func(c toolcall.ToolCall) bool {
			return !isError(c.Reply.Result())
		})
		toolcall.RequireObserved(t, len(failed), "tool has failed", slices.Concat(valid.Uncalled, invalid.Uncalled),
			toolcall.AnyTool)
		toolcall.EachToolCall(t, failed, func(t *check.T, c toolcall.ToolCall) {
			schema, result := outputSchemaOf(c.Tool.Value), c.Reply.Result()
			if schema == nil || !isStructured(result) {
				return
			}
			if _, object := result["structuredContent"].(check.M); !object && !t.IsModern() {
				t.Yield("structuredContent is not an object")
			}
			err := validateOutput(t, schema, result["structuredContent"])
			t.Expect(err == nil).To(check.BeTrue(
				"no structuredContent with isError, or one that satisfies outputSchema", "%v", err))
		})
	}),

	"tools/structured-content-mirrored": check.Probe(func(t *check.T) {
		plain := func(result check.M) bool { // tools/structured-content-object judges other values
			_, object := result["structuredContent"].(check.M)
			return (object || t.IsModern() && isStructured(result)) && !isError(result)
		}
		eachResult(t, "structuredContent", plain, func(t *check.T, result check.M) {
			value := result["structuredContent"]
			requireTexts(t, result)
			repeats := func(block check.M) bool {
				text, _ := block["text"].(string)
				return isText(block) && sameJSON(driver.Decode([]byte(text)), value)
			}
			want, got := "a text block with "+check.Show(value), check.Show(check.Member(result, "content"))
			// The example of the specification has prose here.
			if t.IsModern() && slices.ContainsFunc(contentBlocks(result), isText) {
				t.ExpectAdvice(slices.ContainsFunc(contentBlocks(result), repeats)).To(check.BeTrue(want, "%s", got))
				return
			}
			t.Expect(slices.ContainsFunc(contentBlocks(result), repeats)).To(check.BeTrue(want, "%s", got))
		})
	}),
}

// toolResults returns the final results of all tool calls of the run, including those of invalid arguments and unknown
// names.
func toolResults(t *check.T) (results []check.Subject) {
	calls := allValidCalls(t)
	if !check.IsRecording(t) {
		name, unknown := invalid.CallUnknownTool(t)
		calls = append(calls, toolcall.InvalidCalls(t).List...)
		calls = append(calls, toolcall.ToolCall{Tool: check.Subject{Name: name}, Reply: unknown})
	}
	for _, c := range calls {
		if result := c.Reply.Result(); result != nil && !isUnfinished(result) && !invalid.AcceptsAnything(t, c.Reply) {
			results = append(results, check.Subject{Name: c.Tool.Name, Value: result})
		}
	}
	return results
}

// isUnfinished reports whether a result is a task or asks for input, and not the result of the tool.
func isUnfinished(result check.M) bool {
	_, task := result["task"].(check.M)
	return (task || toolcall.ResultType(result) != "complete") && !check.HasMember(result, "content")
}

func isAnyResult(check.M) bool { return true }

func isError(result check.M) bool { return result["isError"] == true }

func isStructured(result check.M) bool { return check.HasMember(result, "structuredContent") }

// eachResult runs a check on the tool results that of selects.
func eachResult(t *check.T, what string, of func(check.M) bool, run func(*check.T, check.M)) {
	var seen []check.Subject
	for _, result := range toolResults(t) {
		if of(result.Value) {
			seen = append(seen, result)
		}
	}
	toolcall.RequireObserved(t, len(seen), what+" was seen", toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	t.Each(seen, func(t *check.T, result check.Subject) { run(t, result.Value) })
}

// contentBlocks returns the content blocks of a result that are objects.
func contentBlocks(result check.M) []check.M {
	content, _ := result["content"].([]any)
	return check.Objects(content)
}

func isText(block check.M) bool { return block["type"] == "text" }

// requireTexts leaves results without content, and such with a text block that has no text, to the checks of these.
func requireTexts(t *check.T, result check.M) {
	if _, isList := result["content"].([]any); !isList {
		t.Yield("it has no content")
	}
	hasNone := func(block check.M) bool { _, has := block["text"].(string); return isText(block) && !has }
	if slices.ContainsFunc(contentBlocks(result), hasNone) {
		t.Yield("a text block has no text")
	}
}

// eachBlock runs a check on the content blocks of a type in all tool results; the empty type selects every block.
func eachBlock(t *check.T, kind string, run func(*check.T, check.M)) {
	var seen []check.Subject
	for _, result := range toolResults(t) {
		for _, block := range contentBlocks(result.Value) {
			if kind == "" || block["type"] == kind {
				seen = append(seen, check.Subject{Name: result.Name, Value: block})
			}
		}
	}
	what := strings.TrimSpace(kind + " content block was seen")
	toolcall.RequireObserved(t, len(seen), what, toolcall.ValidCalls(t).Uncalled, toolcall.AnyTool)
	t.Each(seen, func(t *check.T, block check.Subject) { run(t, block.Value) })
}

// eachStructured runs a check on the results of successful calls of tools with an outputSchema.
func eachStructured(t *check.T, run func(t *check.T, schema, result check.M)) {
	uncalled := toolcall.ValidCalls(t).Uncalled
	seen := slices.DeleteFunc(allValidCalls(t), func(c toolcall.ToolCall) bool {
		result := c.Reply.Result()
		return outputSchemaOf(c.Tool.Value) == nil || result == nil || isUnfinished(result) || isError(result)
	})
	declares := func(tool check.M) bool { return outputSchemaOf(tool) != nil }
	toolcall.RequireObserved(t, len(seen), "tool with an outputSchema was called successfully", uncalled, declares)
	toolcall.EachToolCall(t, seen,
		func(t *check.T, c toolcall.ToolCall) { run(t, outputSchemaOf(c.Tool.Value), c.Reply.Result()) })
}

// outputSchemaOf returns the outputSchema of a tool; nil if it has none.
func outputSchemaOf(tool check.M) check.M { schema, _ := tool["outputSchema"].(check.M); return schema }

// validateOutput returns how a value violates an outputSchema; nil if it does not.
func validateOutput(t *check.T, schema check.M, value any) error {
	compiled, err := schemas.Compile(schema, t.Revision)
	if err != nil {
		// tools/output-schema-valid and tools/input-schema-refs-resolve report it.
		t.Yield("the outputSchema cannot be used: %v", err)
	}
	err = compiled.Validate(value)
	if limit := (*schemas.LimitError)(nil); errors.As(err, &limit) {
		t.NoVerdict(check.Limit, "%v", err)
	}
	return err
}

// sameJSON reports whether two values are equal; numbers are compared by their value.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case check.M:
		b, ok := b.(check.M)
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

// allValidCalls returns the valid calls of tools, with varied ones and those after invalid ones.
func allValidCalls(t *check.T) []toolcall.ToolCall {
	valid := toolcall.ValidCalls(t)
	return slices.Concat(valid.List, valid.ForOtherChanges, toolcall.VariedCalls(t).List,
		callsAfterInvalid(t))
}
