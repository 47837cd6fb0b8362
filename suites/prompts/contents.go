package prompts

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// contentChecks are the checks of the results of prompts/get.
var contentChecks = check.Suite{
	"prompts/get-result-schema": check.Probe(func(t *check.T) {
		eachResult(t, func(t *check.T, result check.M) {
			rules := protocol.Violations(t, "prompts/get-result-schema", "GetPromptResult", result)
			t.Expect(rules).To(check.BeEmptyList[string]("a valid GetPromptResult"))
		})
	}),

	"prompts/message-role": check.Probe(func(t *check.T) {
		role := func(message check.M) bool { _, isString := message["role"].(string); return isString }
		eachMessage(t, "role", "role", role, func(t *check.T, message check.M) {
			t.Expect(message["role"]).To(check.BeOneOf[any]("user", "assistant"))
		})
	}),

	"prompts/content-types": check.Probe(func(t *check.T) {
		eachBlock(t, "", func(t *check.T, block check.M) {
			t.Expect(check.Member(block, "type")).To(check.BeOneOf(toolcall.ContentTypes(t.Revision)...))
		})
	}),

	"prompts/image-content": check.Probe(func(t *check.T) {
		eachBlock(t, "image", func(t *check.T, block check.M) { expectMedia(t, block, "image/") })
	}),

	"prompts/audio-content": check.Probe(func(t *check.T) {
		eachBlock(t, "audio", func(t *check.T, block check.M) { expectMedia(t, block, "audio/") })
	}),

	"prompts/embedded-resource": check.Probe(func(t *check.T) {
		eachBlock(t, "resource", func(t *check.T, block check.M) {
			resource := toolcall.ExpectEmbeddedResource(t, block)
			t.Expect(resource["uri"]).To(check.Satisfy("an absolute URI", toolcall.IsAbsoluteURI))
			t.ExpectShould(check.Member(resource, "mimeType")).To(check.BeString())
		})
	}),
}

// mediaTypePattern matches type/subtype with optional parameters (RFC 6838, RFC 2045).
var mediaTypePattern = regexp.MustCompile("^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+([ \t]*;.*)?$")

// expectMedia requires base64 data with a valid media type that has a prefix.
func expectMedia(t *check.T, block check.M, prefix string) {
	t.Expect(check.Member(block, "mimeType")).To(check.Satisfy("a MIME type, type/subtype",
		mediaTypePattern.MatchString))
	toolcall.ExpectMedia(t, block, prefix)
}

// eachResult runs a check on every result of prompts/get.
func eachResult(t *check.T, run func(*check.T, check.M)) {
	eachPromptResult(t, func(t *check.T, _ *toolcall.FetchedPrompt, result check.M) { run(t, result) })
}

// eachPromptResult is eachResult for checks that need the prompt and its arguments, too. Other arguments than required
// ones may be refused.
func eachPromptResult(t *check.T, run func(*check.T, *toolcall.FetchedPrompt, check.M)) {
	all := requireFetched(t)
	served := slices.DeleteFunc(slices.Clone(toolcall.GetPromptVariants(t)), func(got *toolcall.FetchedPrompt) bool {
		return got.LastReply.Result() == nil || toolcall.ResultType(got.LastReply.Result()) != "complete"
	})
	check.Each(t, slices.Concat(all, served), (*toolcall.FetchedPrompt).Subject,
		func(t *check.T, got *toolcall.FetchedPrompt) {
			result := got.Result(t)
			if result == nil {
				t.Yield("no prompt was got")
			}
			run(t, got, result)
		})
}

// eachMessage runs a check of a member on the selected messages in all results; what names them in the reason. Content
// may be made of the arguments, so that a member with a value that mcpcheck has made up does not count.
func eachMessage(
	t *check.T, what, member string, of func(message check.M) bool, run func(*check.T, check.M),
) {
	eachPromptResult(t, func(t *check.T, got *toolcall.FetchedPrompt, result check.M) {
		var seen []check.Subject
		for i, message := range protocol.ObjectsIn(result["messages"]) {
			if of(message) {
				seen = append(seen, check.Subject{Name: "message " + check.Show(i+1), Value: message})
			}
		}
		if len(seen) == 0 {
			t.Skip(check.NotObserved, "no %s was seen in a prompt", what)
		}
		t.Each(seen, func(t *check.T, message check.Subject) {
			if got.HasPlaceholder && bytes.Contains(text.CompactJSON(message.Value[member]),
				text.CompactJSON(toolcall.Placeholder)) {
				t.NoVerdict(check.Undecided, "it has a value that mcpcheck has made up for an argument: %s",
					toolcall.Placeholder)
			}
			run(t, message.Value)
		})
	})
}

// eachBlock runs a check on the content of a type in all messages; the empty type selects all content.
func eachBlock(t *check.T, kind string, run func(*check.T, check.M)) {
	what, of := kind+" content", func(message check.M) bool {
		block, ok := message["content"].(check.M)
		return ok && (kind == "" || block["type"] == kind)
	}
	if kind == "" {
		what = "content"
	}
	eachMessage(t, what, "content", of, func(t *check.T, message check.M) { run(t, message["content"].(check.M)) })
}
