package advice

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/roundtrip"
)

// openAIChallengePath is where the directory of OpenAI looks for the token of a submission.
const openAIChallengePath = "/.well-known/openai-apps-challenge"

// serverChecks are the checks of how a server describes itself.
var serverChecks = check.Suite{
	"advice/instructions-present": check.Probe(func(t *check.T) {
		instructions := textIn(t.Server.ConnectResult, "instructions")
		t.DecidedBy(t.Server.ConnectReply).Expect(instructions != "").To(check.BeTrue("instructions for the model",
			"none"))
	}),

	"advice/instructions-begin-complete": check.Probe(func(t *check.T) {
		instructions := []rune(textIn(t.Server.ConnectResult, "instructions"))
		if len(instructions) == 0 {
			t.Skip(check.NotOffered, "there are no instructions")
		}
		const shown = 512
		t.DecidedBy(t.Server.ConnectReply).
			Expect(len(instructions) <= shown || sentenceEnd.MatchString(string(instructions[:shown]))).
			To(check.BeTrue("the end of a sentence in the first 512 characters", "none"+byPattern))
	}),

	"advice/lists-without-configuration": check.ProcessProbe(func(t *check.T) {
		check.RequireUnconfigured(t)
		if len(t.Server.Tools) == 0 {
			t.Skip(check.NotOffered, "the server lists no tool")
		}
		s := t.Session(check.ProcessWith(driver.Options{Unconfigured: true}))
		s.MarkInvalidInputFromStart() // what it does without its configuration is nobody else's concern
		t.Expect(s.Connect(driver.ConnectParams(t.Revision))).To(check.BeResult(), "%s without a configuration",
			t.Server.ConnectMethod())
		if !t.IsModern() {
			s.Notify("notifications/initialized", nil)
		}
		t.Expect(t.Send(s, "tools/list", nil, check.AllowSilence)).To(check.BeResult(), "without a configuration")
	}),

	"advice/openai-challenge-served": check.Probe(func(t *check.T) {
		token := check.DeclarationsOf(t).OpenAIChallenge
		if token == "" {
			t.Skip(check.NotGiven, "there is no token of a submission (openai-challenge in mcpcheck.yaml)")
		}
		x := t.Session(check.Process).HTTP().Do(driver.HTTPRequest{Method: http.MethodGet, URL: openAIChallengePath,
			Header: http.Header{"Authorization": nil}})
		a := roundtrip.RequireHTTPResponse(t, roundtrip.AwaitResponse(x))
		served := strings.TrimSpace(a.Body.String())
		t.DecidedBy(a).Expect(a.StatusCode == http.StatusOK && served == token).To(check.BeTrue(
			"the token of openai-challenge at "+openAIChallengePath, "%s", a))
	}),

	"advice/instructions-stable": check.WatchWithSetup(rereadTexts, func(t *check.T, w check.Wire) {
		again := textComparisons(t, w)
		if len(again) == 0 {
			t.NoVerdict(check.NotObserved, "neither instructions nor descriptions were read more than once")
		}
		check.Each(t, again, textComparison.subject, func(t *check.T, r textComparison) {
			t.Expect(r.second == r.first).To(check.BeTrue("the same text every time", "%s, and before %s",
				check.Show(r.second), check.Show(r.first)))
		})
	}).InOwnSession(),

	"advice/server-name-machine-friendly": check.Probe(func(t *check.T) {
		name, ok := skipIfNoServerInfo(t)["name"].(string)
		if !ok {
			t.Yield("the server has no name")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(len(name) <= 64 && namePattern.MatchString(name)).To(check.BeTrue(
			"a short name of lower-case letters, digits, hyphens, dots and underscores", "%s", check.Show(name)))
	}),

	"advice/server-description-present": check.Probe(func(t *check.T) {
		description := textIn(skipIfNoServerInfo(t), "description")
		t.DecidedBy(t.Server.ConnectReply).Expect(description != "").To(check.BeTrue("a description in serverInfo",
			"none"))
	}),

	"advice/completions-for-enumerable-arguments": check.Probe(func(t *check.T) {
		what := completableFeature(t.Server)
		if what == "" {
			t.Skip(check.NotOffered, "no prompt has arguments, and no template of resources is listed")
		}
		t.DecidedBy(t.Server.ConnectReply).Expect(t.Server.Declares("completions")).To(
			check.BeTrue("the capability completions, since "+what, "none"))
	}),
}

// sentenceEnd matches the end of a sentence or of a line.
var sentenceEnd = regexp.MustCompile(`[.!?:;]\s|[。！？；：\n]`)

// namePattern matches a name in lower case, which may have a scope or a namespace before a slash.
var namePattern = regexp.MustCompile(`^@?[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?$`)

// skipIfNoServerInfo returns the serverInfo; if there is none, it ends the check as skip.
func skipIfNoServerInfo(t *check.T) check.M {
	identity := t.Server.Identity()
	if identity == nil {
		t.Skip(check.NotOffered, "the server does not name itself")
	}
	return identity
}

// completableFeature returns what a client could complete at the server, for a message; empty if nothing.
func completableFeature(s *check.Server) string {
	for _, prompt := range s.Prompts {
		if len(protocol.ObjectsIn(prompt["arguments"])) > 0 {
			return "the prompt " + check.Show(prompt["name"]) + " has arguments"
		}
	}
	if len(s.Templates) > 0 {
		return "there are templates of resources"
	}
	return ""
}
