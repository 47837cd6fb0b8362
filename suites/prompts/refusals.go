package prompts

import (
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// refusalChecks are the checks of requests for prompts that the server does not have.
var refusalChecks = check.Suite{
	"prompts/unknown-name-is-error": check.Probe(func(t *check.T) {
		r := unknownPromptReply(t)
		invalid.SkipUnlessServerRejects(t, r)
		t.Expect(r).To(check.BeError())
	}),

	"prompts/unknown-name-code": check.Probe(func(t *check.T) {
		r := unknownPromptReply(t)
		if r.Message()["error"] == nil {
			t.Yield("no error came")
		}
		t.Expect(r).To(check.BeError(errcode.InvalidParams))
	}),

	"prompts/get-missing-name": check.Probe(func(t *check.T) {
		if err := check.KnownUnanswered(t, "prompts/get"); err != nil {
			check.NoAnswer(t, "%v", err)
		}
		codes := []int{errcode.InvalidParams}
		if t.IsModern() && t.Server.Transport == "http" {
			codes = append(codes, errcode.HeaderMismatch)
		}
		r := invalid.TryInvalid(t, t.Session(check.ForInvalidInput), "prompts/get", check.M{})
		invalid.SkipUnlessServerRejects(t, r)
		invalid.SkipUnlessServed(t, r, check.M{"name": toolcall.UnknownPromptName(t)})
		t.Expect(r).To(check.BeError())
		t.ExpectShould(r).To(check.BeError(codes...))
	}),
}

// unknownPromptReply returns the reply to a request for a prompt that does not exist.
func unknownPromptReply(t *check.T) driver.Reply {
	return check.Step(t, "unknown prompt", func(t *check.T) driver.Reply {
		return invalid.RequestInvalid(t, t.Session(), "prompts/get", check.M{"name": toolcall.UnknownPromptName(t)})
	})
}
