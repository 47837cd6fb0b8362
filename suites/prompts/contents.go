package prompts

import (
	"bytes"
	"regexp"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// contentChecks are the checks of what comes of getting prompts.
var contentChecks = Suite{
	"prompts/get-result-schema": Probe(func(t *T) {
		eachResult(t, func(t *T, result M) {
			rules := protocol.Violations(t, "prompts/get-result-schema", "GetPromptResult", result)
			t.Expect(rules).To(BeEmptyList[string]("a valid GetPromptResult"))
		})
	}),

	"prompts/message-role": Probe(func(t *T) {
		role := func(message M) bool { _, isString := message["role"].(string); return isString }
		eachMessage(t, "role", role, func(t *T, message M) {
			t.Expect(message["role"]).To(BeOneOf[any]("user", "assistant"))
		})
	}),

	"prompts/content-types": Probe(func(t *T) {
		eachBlock(t, "", func(t *T, block M) {
			t.Expect(Member(block, "type")).To(BeOneOf(toolcall.ContentTypes(t.Revision)...))
		})
	}),

	"prompts/image-content": Probe(func(t *T) {
		eachBlock(t, "image", func(t *T, block M) { expectMedia(t, block, "image/") })
	}),

	"prompts/audio-content": Probe(func(t *T) {
		eachBlock(t, "audio", func(t *T, block M) { expectMedia(t, block, "audio/") })
	}),

	"prompts/embedded-resource": Probe(func(t *T) {
		eachBlock(t, "resource", func(t *T, block M) {
			resource := toolcall.ExpectEmbeddedResource(t, block)
			t.Expect(resource["uri"]).To(Satisfy("an absolute URI", toolcall.IsAbsoluteURI))
			t.ExpectShould(Member(resource, "mimeType")).To(BeString())
		})
	}),
}

// mediaTypePattern is type/subtype, maybe with parameters (RFC 6838, RFC 2045).
var mediaTypePattern = regexp.MustCompile("^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+([ \t]*;.*)?$")

// expectMedia wants base64 data of a type that is one, and begins so.
func expectMedia(t *T, block M, prefix string) {
	t.Expect(Member(block, "mimeType")).To(Satisfy("a MIME type, type/subtype", mediaTypePattern.MatchString))
	toolcall.ExpectMedia(t, block, prefix)
}

// eachResult tries a check on what came of prompts.
func eachResult(t *T, run func(*T, M)) {
	eachPromptResult(t, func(t *T, _ *toolcall.FetchedPrompt, result M) { run(t, result) })
}

// eachPromptResult is eachResult for who wants to know what was asked for.
func eachPromptResult(t *T, run func(*T, *toolcall.FetchedPrompt, M)) {
	Each(t, toolcall.GetPrompts(t).RequireAny(t).List, (*toolcall.FetchedPrompt).Subject, func(t *T, got *toolcall.FetchedPrompt) {
		result := got.Result(t)
		if result == nil {
			t.Yield("no prompt was got")
		}
		run(t, got, result)
	})
}

// eachMessage tries a check on the messages of a kind in all results; what names them in the reason. Content may be
// made of the arguments: nothing is held against one that has a value which mcpcheck has made up.
func eachMessage(t *T, what string, of func(message M) bool, run func(*T, M)) {
	eachPromptResult(t, func(t *T, got *toolcall.FetchedPrompt, result M) {
		var seen []Subject
		for i, message := range protocol.ObjectsIn(result["messages"]) {
			if of(message) {
				seen = append(seen, Subject{Name: "message " + Show(i+1), Value: message})
			}
		}
		if len(seen) == 0 {
			t.WithReason(NotObserved).Skip("no %s was seen in a prompt", what)
		}
		t.Each(seen, func(t *T, message Subject) {
			if got.HasPlaceholder && bytes.Contains(CompactJSON(message.Value), CompactJSON(toolcall.Placeholder)) {
				t.Inconclusive("it has a value that mcpcheck has made up for an argument: %s", toolcall.Placeholder)
			}
			run(t, message.Value)
		})
	})
}

// eachBlock tries a check on the content of a type in all messages; the empty type means all of it.
func eachBlock(t *T, kind string, run func(*T, M)) {
	what, of := kind+" content", func(message M) bool {
		block, ok := message["content"].(M)
		return ok && (kind == "" || block["type"] == kind)
	}
	if kind == "" {
		what = "content"
	}
	eachMessage(t, what, of, func(t *T, message M) { run(t, message["content"].(M)) })
}
