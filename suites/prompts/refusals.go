package prompts

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// refusalChecks are the checks of requests that name no prompt of the server.
var refusalChecks = Suite{
	"prompts/unknown-name-is-error": Probe(func(t *T) {
		r := unknownPromptReply(t)
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(BeError())
	}),

	"prompts/unknown-name-code": Probe(func(t *T) {
		r := unknownPromptReply(t)
		if r.Message()["error"] == nil {
			t.Yield("no error came")
		}
		t.Expect(r).To(BeError(-32602))
	}),

	"prompts/get-missing-name": Probe(func(t *T) {
		if err := KnownUnanswered(t, "prompts/get"); err != nil {
			NoAnswer(t, "%v", err)
		}
		codes := []int{-32602}
		if t.IsModern() && t.Server.Transport == "http" {
			codes = append(codes, protocol.HeaderMismatch)
		}
		r := invalid.TryInvalid(t, t.SessionForInvalidInput(), "prompts/get", M{})
		invalid.SkipUnlessServerRejects(t, r)
		invalid.SkipUnlessServed(t, r, M{"name": toolcall.UnknownPromptName(t)})
		t.Expect(r).To(BeError())
		t.ExpectShould(r).To(BeError(codes...))
	}),
}

// unknownPromptReply is the answer to a request for a prompt that does not exist.
func unknownPromptReply(t *T) driver.Reply {
	return Step(t, "unknown prompt", func(t *T) driver.Reply {
		return invalid.RequestInvalid(t, t.Session(), "prompts/get", M{"name": toolcall.UnknownPromptName(t)})
	})
}
