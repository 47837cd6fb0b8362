package prompts

import (
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// refusals are the checks of requests that name no prompt of the server.
var refusals = Suite{
	"prompts/unknown-name-is-error": Probe(func(t *T) {
		r := aboutStranger(t)
		kit.WantRefuser(t, r)
		t.Expect(r).To(BeError())
	}),

	"prompts/unknown-name-code": Probe(func(t *T) {
		r := aboutStranger(t)
		if r.M()["error"] == nil {
			t.Yield("no error came")
		}
		t.Expect(r).To(BeError(-32602))
	}),

	"prompts/get-missing-name": Probe(func(t *T) {
		if err := KnownUnanswered(t, "prompts/get"); err != nil {
			NoAnswer(t, "%v", err)
		}
		codes := []int{-32602}
		if t.Modern() && t.Server.Transport == "http" {
			codes = append(codes, kit.HeaderMismatch)
		}
		r := kit.TryAmiss(t, t.Hostile(), "prompts/get", M{})
		kit.WantRefuser(t, r)
		kit.WantServed(t, r, M{"name": kit.UnknownPrompt(t)})
		t.Expect(r).To(BeError())
		t.Warn(r).To(BeError(codes...))
	}),
}

// aboutStranger is the answer to a request for a prompt that does not exist.
func aboutStranger(t *T) driver.Reply {
	return Step(t, "unknown prompt", func(t *T) driver.Reply {
		return kit.AskAmiss(t, t.Session(), "prompts/get", M{"name": kit.UnknownPrompt(t)})
	})
}
