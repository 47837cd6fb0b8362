package elicitation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/onsi/gomega/types"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/client"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// responseChecks are the checks of what servers ask clients that lack a mode, and of how they handle the responses.
var responseChecks = check.Suite{
	"elicitation/mode-supported-by-client": check.WatchWithSetup(callInAllModes, func(t *check.T, w check.Wire) {
		noteUncoveredTools(t)
		all := client.ServerRequests(t, w, createMethod)
		client.JudgeServerRequests(t, "question to the user was sent", all, func(t *check.T, q client.ServerRequest) {
			if q.ClientCapabilities()["elicitation"] == nil {
				t.Yield("the client can be asked nothing")
			}
			mode := client.ModeOf(q.Params)
			t.Expect(client.HasMode(q.ClientCapabilities(), mode)).
				To(check.BeTrue("a mode of "+describeClient(q.ClientCapabilities()), "%s", describeMode(q)))
		})
	}),

	"elicitation/decline-handled": check.Probe(func(t *check.T) {
		eachElicitingTool(t, func(t *check.T, a elicitingTool) {
			for _, x := range slices.Concat(a.declined, a.declinedSecond) {
				expectEnd(t, a, x, check.BeAnswered())
				if code, _ := x.Reply.Code(); t.IsModern() && code == errcode.InternalError {
					t.Fail("an orderly answer", "%s when the client answers %s", x.Reply, x.response)
				}
			}
		})
	}),

	"elicitation/decline-not-accepted": check.Probe(func(t *check.T) {
		eachElicitingTool(t, func(t *check.T, a elicitingTool) {
			switch usual := a.accepted.Reply; {
			case !usual.Answered(), usual.IsFailure():
				t.NoVerdict(check.NotObserved, "it fails as well when the user agrees: %s", check.Got(usual))
			case a.secondIsConfirmation(t):
				for _, x := range a.declinedSecond {
					a.expectOtherResult(t, x)
				}
				if !a.needsConsent(t) {
					return
				}
			case !a.needsConsent(t):
				t.Skip(check.NotObserved, "it may do without what it asks for, or a choice may be a refusal")
			}
			for _, x := range a.declined {
				switch {
				case !x.AsksFor(createMethod):
					t.NoVerdict(check.NotObserved, "it has not asked again")
				case !x.Reply.Answered():
					t.Yield("the call does not end when the client answers %s", x.response)
				}
				a.expectOtherResult(t, x)
			}
			for _, x := range a.invalidResponses {
				t.DecidedBy(x.declined.Reply).Expect(!x.equalsDecline()).To(check.BeTrue(
					"another error than after an acceptance "+x.problem, "%s", check.Got(x.declined.Reply)))
			}
		})
	}),

	"elicitation/error-reply-handled": check.Probe(func(t *check.T) {
		eachElicitingTool(t, func(t *check.T, a elicitingTool) {
			for _, x := range a.respondedWithError {
				expectEnd(t, a, x, check.ReportedBy("roots/error-tolerated", check.BeAnswered()))
			}
		})
	}),

	"elicitation/content-validated": check.Probe(func(t *check.T) {
		var all []invalidResponse
		// open is a tool whose calls do not end.
		open := ""
		for _, a := range requireElicitingTools(t) {
			if all = append(all, a.invalidResponses...); a.isFilledIn() && !a.accepted.Reply.Answered() {
				open = fmt.Sprintf("%s, when the user agrees: %v", a.accepted.Tool.Name,
					check.Explain(a.accepted.Reply.Err))
			}
		}
		switch {
		case len(all) > 0:
		case open != "":
			t.NoVerdict(check.NotObserved, "%s", open)
		default:
			t.Skip(check.NotObserved, "no form has a field that could be filled in wrongly, so that it shows")
		}
		check.Each(t, all, invalidResponse.subject, expectValidated)
	}),
}

// eachElicitingTool runs a check on every tool that elicits.
func eachElicitingTool(t *check.T, run func(*check.T, elicitingTool)) {
	subject := func(a elicitingTool) check.Subject { return a.accepted.Subject() }
	check.Each(t, requireElicitingTools(t), subject, run)
}

// expectEnd requires a call to be answered after another response than acceptance.
func expectEnd(t *check.T, a elicitingTool, x answeredCall, answered types.GomegaMatcher) {
	code, _ := a.accepted.Reply.Code()
	switch {
	case !a.hasEnded(), t.IsModern() && code == errcode.InternalError:
		t.Yield("it does not end well either when the user agrees: %s", check.Got(a.accepted.Reply))
	case !x.AsksFor(createMethod):
		t.NoVerdict(check.NotObserved, "it has not asked again")
	}
	x.RequireAnswered(t, createMethod)
	t.Expect(x.Reply).To(answered, "when the client answers %s", x.response)
}

// invalidResponse is a call in which the client has responded to a form with content that the form does not allow. It
// is compared with calls that got valid content.
type invalidResponse struct {
	// problem describes what is wrong with the content.
	problem string
	// validText and invalidText are the value of the field in texts. An empty invalidText means that the field is
	// missing.
	validText, invalidText string
	// missing is the name of the field that is missing; empty if none is.
	missing string
	// valid and repeated are two calls with the same valid content; they show whether results are stable.
	valid, repeated *client.InteractiveCall
	// declined is the call in which the user declined.
	declined *client.InteractiveCall
	// InteractiveCall is the call with the invalid content.
	*client.InteractiveCall
}

func (x invalidResponse) subject() check.Subject {
	s := x.Subject()
	s.Name += ": " + x.problem
	return s
}

// sampleField is a field of a form with values that can be recognised in a text.
type sampleField struct {
	field
	valid, invalid any
	required       bool
}

// equalsDecline reports whether a decline brought the same error as content without a required field, by its name.
func (x invalidResponse) equalsDecline() bool {
	return x.missing != "" && x.Reply.IsFailure() && x.declined.Reply.IsFailure() &&
		x.Reply.MessageText() == x.declined.Reply.MessageText() && strings.Contains(x.Reply.MessageText(), x.missing)
}

// needsConsent reports whether the tool asks for nothing but forms that are to be confirmed, or to be filled in, and
// that the client has accepted. What a user has to choose from may be a refusal as well. Roots are no question to the
// user, and servers also ask for them when a session begins, which may be during the call.
func (a elicitingTool) needsConsent(t *check.T) bool {
	asked := slices.DeleteFunc(slices.Clone(a.accepted.ServerRequests),
		func(q client.ServerRequest) bool { return q.Method == "roots/list" })
	return !slices.ContainsFunc(asked, func(q client.ServerRequest) bool {
		answer, _ := toolcall.ClientResult(t, check.M{"method": q.Method, "params": q.Params}).(check.M)
		form, _ := q.Params["requestedSchema"].(check.M)
		required, _ := form["required"].([]any)
		fields := fieldsOf(q)
		isChoice := func(f field) bool { return slices.Contains(required, any(f.name)) && f.isChoice() }
		return q.Method != createMethod || client.ModeOf(q.Params) != formMode || answer["action"] != "accept" ||
			len(fields) > 0 && len(required) == 0 || slices.ContainsFunc(fields, isChoice)
	})
}

// secondIsConfirmation reports whether the second elicitation of the tool is a form without fields, or with nothing but
// booleans, which the client has accepted.
func (a elicitingTool) secondIsConfirmation(t *check.T) bool {
	asked := a.accepted.RequestsFor(createMethod)
	isOther := func(f field) bool { return f.schema["type"] != "boolean" }
	return len(asked) > 1 && isAccepted(t, asked[1]) && !slices.ContainsFunc(fieldsOf(asked[1]), isOther)
}

// expectOtherResult requires another result than after an acceptance, if the call was answered.
func (a elicitingTool) expectOtherResult(t *check.T, x answeredCall) {
	same := x.Reply.Answered() && resultText(x.InteractiveCall) == resultText(a.accepted) && !x.Reply.IsFailure()
	t.DecidedBy(x.Reply).Expect(!same).To(check.BeTrue("another result than after an acceptance",
		"the same when the client answers %s: %s", x.response, check.Got(x.Reply)))
}

// isFilledIn reports whether the first elicitation of the tool is a form that was filled in.
func (a elicitingTool) isFilledIn() bool {
	asked := a.accepted.RequestsFor(createMethod)
	return len(asked) > 0 && contentOf(asked[0]) != nil
}

// respondInvalidly fills in a form with a value of another type, and without a required value. It does so only for a
// tool whose call is answered when the user accepts, since the results are compared.
func (c *elicitationClient) respondInvalidly(a *elicitingTool) {
	if !a.accepted.Reply.Answered() {
		return
	}
	q := a.accepted.RequestsFor(createMethod)[0]
	content := contentOf(q)
	samples := sampleFields(c.t, q)
	if len(samples) == 0 || content == nil {
		return
	}
	accept := func(content check.M) *client.InteractiveCall {
		answer := client.ClientResponse{Result: check.M{"action": "accept", "content": content}}
		return c.call(a.accepted, respondOnce(c.t, createMethod, 1, answer))
	}
	add := func(s sampleField, what, bad, missing string, invalidContent check.M) {
		good := maps.Clone(content)
		good[s.name] = s.valid
		a.invalidResponses = append(a.invalidResponses, invalidResponse{
			missing: missing,
			problem: what + " " +
				s.name, validText: unquotedText(s.valid), invalidText: bad, valid: accept(good), repeated: accept(good),
			declined: a.declined[0].InteractiveCall, InteractiveCall: accept(invalidContent),
		})
	}
	invalidContent := maps.Clone(content)
	invalidContent[samples[0].name] = samples[0].invalid
	add(samples[0], "another type of", unquotedText(samples[0].invalid), "", invalidContent)
	if i := slices.IndexFunc(samples, func(s sampleField) bool { return s.required }); i >= 0 {
		invalidContent := maps.Clone(content)
		delete(invalidContent, samples[i].name)
		add(samples[i], "without", "", samples[i].name, invalidContent)
	}
}

// isAccepted reports whether the client has filled in a form.
func isAccepted(t *check.T, q client.ServerRequest) bool {
	if !t.IsModern() {
		return contentOf(q) != nil
	}
	answer, _ := toolcall.ClientResult(t, check.M{"method": q.Method, "params": q.Params}).(check.M)
	return client.ModeOf(q.Params) == formMode && answer["action"] == "accept" && answer["content"] != nil
}

// contentOf returns the content that the client has filled in.
func contentOf(q client.ServerRequest) check.M {
	if q.Response == nil {
		return nil
	}
	result, _ := q.Response.JSON()["result"].(check.M)
	content, _ := result["content"].(check.M)
	return content
}

// These values are unlikely to be in a text for another reason. In the schema of 2025-06-18, integers are the only
// numbers in content.
const (
	sampleText   = "mcpcheck-words"
	sampleNumber = 7325
)

// sampleFields returns the fields of a form whose value a result may show, in the order of sampleRank.
func sampleFields(t *check.T, q client.ServerRequest) (samples []sampleField) {
	form, _ := q.Params["requestedSchema"].(check.M)
	required, _ := form["required"].([]any)
	for _, f := range fieldsOf(q) {
		s := sampleField{field: f, invalid: sampleText, required: slices.Contains(required, any(f.name))}
		switch f.schema["type"] {
		case "string":
			s.valid, s.invalid = sampleText, sampleNumber
		case "number", "integer":
			s.valid = sampleNumber
		case "boolean":
			s.valid = true
		}
		if s.valid != nil && f.allows(t, s.valid) {
			samples = append(samples, s)
		}
	}
	slices.SortStableFunc(samples, func(a, b sampleField) int { return sampleRank(b) - sampleRank(a) })
	return samples
}

// sampleRank rates how well a field is suited for the comparison.
func sampleRank(s sampleField) (n int) {
	if s.required {
		n++
	}
	if s.valid == any(sampleText) {
		n += 2
	}
	return n
}

// unquotedText returns a value in the form that texts have.
func unquotedText(v any) string { return strings.Trim(string(text.CompactJSON(v)), `"`) }

// allows reports whether a field may have a value. Fields with a format or a pattern are not decided.
func (f field) allows(t *check.T, value any) bool {
	form := check.M{"type": "object", "properties": check.M{f.name: f.schema}}
	schema, err := schemas.Compile(form, t.Revision)
	return err == nil && !check.HasMember(f.schema, "format") && !check.HasMember(f.schema, "pattern") &&
		schema.Validate(check.M{f.name: value}) == nil
}

// expectValidated requires the server to have noticed invalid content. Acceptance is proved only by a result that
// equals the one for valid content but for the value.
func expectValidated(t *check.T, x invalidResponse) {
	usual, got := resultText(x.valid), resultText(x.InteractiveCall)
	t.Expect(x.Reply).To(check.BeAnswered(), "with content %s", x.problem)
	switch {
	case x.valid.Reply.Result() == nil, x.valid.Reply.IsFailure(), !x.AsksFor(createMethod):
		t.NoVerdict(check.NotObserved, "valid content is not taken either: %s", check.Got(x.valid.Reply))
	case x.Reply.IsFailure(), len(x.ServerRequests) > len(x.valid.ServerRequests), got == resultText(x.declined):
		return
	case got == usual:
		t.Skip(check.NotObserved, "what the tool returns does not depend on the content")
	case usual != resultText(x.repeated):
		t.NoVerdict(check.NotObserved, "what the tool returns is something else each time")
	}
	t.Expect(!x.isAccepted(usual, got)).To(check.BeTrue("an error, or the question again",
		"the result to valid content, but for the value: %s", check.Show(x.Reply.Result())))
	t.NoVerdict(check.Undecided, "what the tool returns does not tell whether it has taken the content: %s",
		check.Got(x.Reply))
}

// isAccepted reports whether a result equals the usual one but for the value.
func (x invalidResponse) isAccepted(usual, got string) bool {
	const gap = "\x00"
	if x.invalidText != "" {
		return strings.Contains(got, x.invalidText) &&
			strings.ReplaceAll(usual, x.validText, gap) == strings.ReplaceAll(got, x.invalidText, gap)
	}
	left := strings.Split(got, "\n")
	others := 0
	for line := range strings.SplitSeq(usual, "\n") {
		if strings.Contains(line, x.validText) || strings.Trim(line, " {}[],") == "" {
			continue
		}
		i := slices.Index(left, line)
		if i < 0 {
			return false
		}
		left = left[i+1:]
		others++
	}
	return others > 0
}

// resultText returns the result of a call as text. Quotes are removed, since only some values have them.
func resultText(i *client.InteractiveCall) string {
	result := i.Reply.Result()
	var all strings.Builder
	for _, block := range protocol.ObjectsIn(result["content"]) {
		content, _ := block["text"].(string)
		all.WriteString(content + "\n")
	}
	if check.HasMember(result, "structuredContent") {
		all.Write(text.CompactJSON(result["structuredContent"]))
	}
	return strings.NewReplacer(`"`, "", `\`, "").Replace(all.String())
}

// respondOnce gives a response to the nth request of a method, and accepts all others.
func respondOnce(t *check.T, method string, nth int32, answer client.ClientResponse) client.Responder {
	var asked atomic.Int32
	others := client.AcceptAll(t)
	return func(q client.ServerRequest) client.ClientResponse {
		if q.Method != method || asked.Add(1) != nth {
			return others(q)
		}
		return answer
	}
}
