package suites

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var toolCalling = Suite{
	"tools/unknown-tool-not-success": Probe(func(t *T) {
		_, r := unknownTool(t)
		t.Expect(r).To(BeRefused())
	}),

	"tools/unknown-tool-protocol-error": Probe(func(t *T) {
		t.Expect(aboutStranger(t).reply).To(BeError())
	}),

	"tools/unknown-tool-code": Probe(func(t *T) {
		r := aboutStranger(t).reply
		if r.M["error"] == nil {
			t.Skip("the unknown tool was not answered with a JSON-RPC error: tools/unknown-tool-protocol-error")
		}
		t.Expect(r).To(BeError(-32602))
	}),

	"tools/name-case-sensitive": Probe(func(t *T) {
		unknown := aboutStranger(t)
		tool, swapped := otherCase(t)
		s := t.Session()
		r := t.Ask(s, "tools/call", M{"name": swapped, "arguments": M{"mcpcheck": 1}})
		if unknown.sameFor(r, swapped) {
			return
		}
		own := t.Ask(s, "tools/call", M{"name": tool, "arguments": M{"mcpcheck": 1}})
		alike := wording(r) == strings.ReplaceAll(wording(own), tool, swapped)
		t.Expect(refused(r) && !alike).To(Hold(swapped+" to be an unknown tool", "an answer as to %s: %s", tool, Got(r)))
	}),

	"tools/call-missing-name": Probe(func(t *T) {
		r := malformedCall(t, M{"arguments": M{}})
		t.Expect(r).To(BeRefused())
		t.Warn(r).To(BeError(-32602))
	}),

	"tools/call-missing-params": Probe(func(t *T) {
		r := malformedCall(t, nil)
		t.Expect(r).To(BeRefused())
		t.Warn(r).To(BeError(-32602, -32600))
	}),

	"tools/call-arguments-not-object": Probe(func(t *T) {
		tool := callable(t)
		s := t.Hostile()
		var replies []driver.Reply
		for _, arguments := range []any{"x", []any{1}} {
			replies = append(replies, t.Ask(s, "tools/call", M{"name": tool, "arguments": arguments}))
		}
		for _, r := range replies {
			t.Expect(r).To(BeRefused())
		}
		for _, r := range replies {
			t.Warn(r).To(BeError())
		}
	}),

	"tools/call-meta-tolerated": Probe(func(t *T) {
		name, plain := unknownTool(t)
		if !plain.Answered() {
			t.Inconclusive("%v", plain.Err)
		}
		meta := M{"progressToken": 1, "com.example/x": true}
		r := t.Ask(t.Session(), "tools/call", M{"name": name, "arguments": M{}, "_meta": meta})
		t.Expect(kindOf(r)).To(That(kindOf(plain)+", as without _meta", func(kind string) bool { return kind == kindOf(plain) }))
		complaint := regexp.MustCompile(`_meta|com\.example/x|progressToken`)
		complains := complaint.MatchString(wording(r)) && !complaint.MatchString(wording(plain))
		t.Expect(!complains).To(Hold("no complaint about _meta", "%s", Got(r)))
	}),

	"tools/call-arguments-optional": Probe(func(t *T) {
		var calls []toolCall
		for _, c := range validCalls(t).List {
			if len(c.Arguments) == 0 && needsNothing(c.Tool.Value) {
				calls = append(calls, c)
			}
		}
		if len(calls) == 0 {
			nothing(t, "tool without required arguments was called", validCalls(t).Refused, needsNothing)
		}
		s := t.Session()
		eachCall(t, calls[:min(len(calls), 3)], func(t *T, c toolCall) {
			if !c.Reply.Answered() || refused(c.Reply) {
				t.Inconclusive("it fails with arguments {} too: %s", Got(c.Reply))
			}
			r := t.Ask(s, "tools/call", M{"name": c.Tool.Name})
			t.Expect(r).To(That("a result, as with arguments {}", func(r driver.Reply) bool { return !refused(r) }))
		})
	}),

	"tools/listed-tool-callable": Probe(func(t *T) {
		unknown := aboutStranger(t)
		valid := validCalls(t)
		calls := answered(slices.Concat(valid.List, invalidCalls(t).List))
		if len(calls) == 0 {
			nothing(t, "listed tool was called", valid.Refused, anyTool)
		}
		var tools []Subject
		for _, c := range calls {
			if !slices.ContainsFunc(tools, func(tool Subject) bool { return tool.Name == c.Tool.Name }) {
				tools = append(tools, c.Tool)
			}
		}
		t.Each(tools, func(t *T, tool Subject) {
			if valid.After != nil && !slices.Contains(valid.After, tool.Name) {
				t.Skip("the tool has left the list")
			}
			own := slices.DeleteFunc(slices.Clone(calls), func(c toolCall) bool { return c.Tool.Name != tool.Name })
			if slices.ContainsFunc(own, func(c toolCall) bool { return !unknown.missing(c) }) {
				return
			}
			first := own[0].Reply
			if code, _ := first.Code(); code != -32601 && !unknown.plain() {
				t.Inconclusive("unknown tools and this one are answered alike, but not as unknown: %s", Got(first))
			}
			t.Expect(first).To(That("an answer other than to an unknown tool", func(driver.Reply) bool { return false }))
		})
	}),

	"tools/inputs-validated-required": Probe(func(t *T) {
		expectRefusal(t, invalidCalls(t).Refused, "required")
	}),

	"tools/inputs-validated-type": Probe(func(t *T) {
		expectRefusal(t, invalidCalls(t).Refused, "type")
	}),

	"tools/inputs-validated-enum": Probe(func(t *T) {
		expectRefusal(t, invalidCalls(t).Refused, "enum", "const")
	}),

	"tools/inputs-validated-bounds": Probe(func(t *T) {
		expectRefusal(t, validCalls(t).Refused, bounds...)
	}),

	"tools/inputs-validated-additional": Probe(func(t *T) {
		expectRefusal(t, validCalls(t).Refused, "additionalProperties")
	}),

	"tools/invalid-input-is-tool-error": Probe(func(t *T) {
		expectToolErrors(t, "invalid input was refused", invalidCalls(t))
	}),

	"tools/tool-failure-is-tool-error": Probe(func(t *T) {
		calls := validCalls(t)
		if t.Revision < "2025-11-25" { // arguments may be refused in either way, whatever is wrong with them
			calls.List = slices.DeleteFunc(slices.Clone(calls.List), func(c toolCall) bool { code, _ := c.Reply.Code(); return code == -32602 })
		}
		expectToolErrors(t, "tool that was called has failed", calls)
	}),

	"tools/list-changed-sent": Probe(func(t *T) {
		if tools, _ := t.Server.Capabilities["tools"].(M); tools["listChanged"] != true {
			t.Skip("the server does not declare tools.listChanged")
		}
		if t.Server.Sessionless {
			t.Skip("the server has no sessions: there is no stream on which it could announce a change")
		}
		calls := validCalls(t)
		switch {
		case calls.After == nil:
			t.Inconclusive("the session did not survive the calls of its tools")
		case slices.Equal(calls.Before, calls.After):
			nothing(t, "call has changed the list", calls.Refused, anyTool)
		}
		t.Expect(calls.Notified).To(Hold("notifications/tools/list_changed", "none, although the list changed from %s to %s",
			Show(calls.Before), Show(calls.After)))
	}),
}

// bounds are the keywords that bound a value of the right type.
var bounds = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
	"minLength", "maxLength", "pattern", "minItems", "maxItems",
}

// malformedCall is what comes of tools/call with params that name no tool.
func malformedCall(t *T, params M) driver.Reply {
	if !t.MayCallUnknown() {
		t.Inconclusive("tools are not called (--calls none)")
	}
	return t.Try(t.Hostile(), "tools/call", params)
}

// callable is the name of a tool that may be called with invalid arguments.
func callable(t *T) (name string) {
	var why []refusal
	for _, tool := range readOnlyFirst(listedTools(t)) {
		p := t.MayCall(tool)
		switch {
		case !p.Invalid:
			why = append(why, refusal{tool, p.Why})
		case Uncallable(tool.Value) != "":
			why = append(why, refusal{tool, Uncallable(tool.Value)})
		default:
			return tool.Name
		}
	}
	t.Inconclusive("no tool may be called (%v)", why[0]) // without any, the plan skips what needs one
	return ""
}

// otherCase is the name of a tool that may be called, and the same in the other
// letter case, which no tool has.
func otherCase(t *T) (name, swapped string) {
	var refused []refusal
	for _, tool := range readOnlyFirst(listedTools(t)) {
		p := t.MayCall(tool)
		swapped := strings.Map(swapCase, tool.Name)
		taken := slices.ContainsFunc(listedTools(t), func(x Subject) bool { return x.Name == swapped })
		switch {
		case Uncallable(tool.Value) != "" || taken:
		case !p.Valid:
			refused = append(refused, refusal{tool, p.Why})
		default:
			return tool.Name, swapped
		}
	}
	nothing(t, "tool has a name with letters whose other case is free", refused, anyTool)
	return "", ""
}

func swapCase(r rune) rune {
	switch {
	case r > unicode.MaxASCII:
		return r
	case unicode.IsUpper(r):
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// refused reports whether an answer is an error of either kind.
func refused(r driver.Reply) bool {
	ok, _ := BeRefused().Match(r)
	return ok
}

// kindOf says how a call was answered: "error -32602", "isError", "success".
func kindOf(r driver.Reply) string {
	switch {
	case r.M["error"] != nil:
		return "error " + Show(Member(r.Error(), "code"))
	case refused(r):
		return "isError"
	}
	return "success"
}

// wording is the kind and the text of a refusal.
func wording(r driver.Reply) string {
	text := kindOf(r) + ": " + fmt.Sprint(Member(r.Error(), "message"))
	for _, block := range blocksOf(r.Result()) {
		text += fmt.Sprint(Member(block, "text"))
	}
	return text
}

// stranger is the answer to the call of an unknown tool, which is refused.
type stranger struct {
	name  string
	reply driver.Reply
}

func aboutStranger(t *T) stranger {
	name, r := unknownTool(t)
	switch {
	case !r.Answered():
		t.Inconclusive("%v", r.Err)
	case !refused(r):
		t.Skip("unknown tools are not refused: tools/unknown-tool-not-success")
	}
	return stranger{name, r}
}

// sameFor reports whether an answer says of the tool what the server says of
// unknown ones.
func (s stranger) sameFor(r driver.Reply, tool string) bool {
	return wording(r) == strings.ReplaceAll(wording(s.reply), s.name, tool)
}

// missing reports whether a listed tool was answered as if it did not exist. A
// tool may hand on the -32601 with which mcpcheck has refused a request of the
// server.
func (s stranger) missing(c toolCall) bool {
	code, _ := c.Reply.Code()
	return code == -32601 && !askedUs(c) || s.sameFor(c.Reply, c.Tool.Name)
}

// askedUs reports whether the server requested something while it served the
// call.
func askedUs(c toolCall) bool {
	asked := false
	for _, f := range c.session.Record(0) {
		switch {
		case f.Side == driver.FromClient && f.IsRequest() && driver.SameID(f.ID, c.Reply.Frame.ID):
			asked = false
		case f.Side == driver.FromServer && f.IsRequest() && f.Method != "ping":
			asked = true
		case f == c.Reply.Frame:
			return asked
		}
	}
	return asked
}

var unknownWords = regexp.MustCompile(`(?i)unknown|not found|no such|not exist|n't exist|not recogni[sz]ed|unrecogni[sz]ed|not registered|not available|unsupported|invalid tool`)

// plain reports whether the answer says that the tool is unknown. Some servers
// hide all causes behind one text.
func (s stranger) plain() bool {
	text := wording(s.reply)
	about := strings.Contains(text, s.name) || strings.Contains(strings.ToLower(text), "tool")
	return about && unknownWords.MatchString(text)
}

// answered keeps the calls that were.
func answered(calls []toolCall) (list []toolCall) {
	for _, c := range calls {
		if c.Reply.Answered() {
			list = append(list, c)
		}
	}
	return list
}

// eachCall tries a check on calls. What fails is named by its tool.
func eachCall(t *T, calls []toolCall, run func(*T, toolCall)) {
	subjects := make([]Subject, len(calls))
	for i, c := range calls {
		subjects[i] = Subject{Name: c.Tool.Name, Frames: []*driver.Frame{c.Reply.Request, c.Reply.Frame}}
	}
	next := 0
	t.Each(subjects, func(t *T, _ Subject) {
		next++
		run(t, calls[next-1])
	})
}

// nothing ends a check that found nothing to judge. It does not apply, unless a
// tool that was not called might have shown something.
func nothing(t *T, what string, refused []refusal, might func(tool M) bool) {
	for _, r := range refused {
		if might(r.Tool.Value) {
			t.Inconclusive("nothing of the kind was seen, and not all tools were called (%v)", r) // worded alike: reports put equal reasons together
		}
	}
	t.Skip("no %s", what)
}

func anyTool(M) bool { return true }

// needsNothing reports whether a tool has no required arguments.
func needsNothing(tool M) bool {
	schema, ok := tool["inputSchema"].(M)
	required, _ := schema["required"].([]any)
	return ok && len(required) == 0
}

// expectRefusal wants the calls to be refused whose arguments break one of the
// keywords.
func expectRefusal(t *T, uncalled []refusal, keywords ...string) {
	var calls []toolCall
	for _, c := range invalidCalls(t).List {
		if slices.Contains(keywords, c.Broken.Keyword) {
			calls = append(calls, c)
		}
	}
	if len(calls) == 0 {
		nothing(t, "tool was called with arguments that break "+strings.Join(keywords, " or "), uncalled, func(tool M) bool {
			schema := Compact(tool["inputSchema"])
			return slices.ContainsFunc(keywords, func(k string) bool { return bytes.Contains(schema, []byte(`"`+k+`":`)) })
		})
	}
	eachCall(t, calls, func(t *T, c toolCall) {
		switch {
		case !c.Reply.Answered():
			t.Inconclusive("%v", c.Reply.Err)
		case isTask(c.Reply.Result()):
			t.Inconclusive("the call was answered with a task")
		case refused(c.Reply) && failsAnyway(t, c):
			t.Inconclusive("the tool fails alike with valid arguments: %s", Got(c.Reply))
		}
		want := "an error, or a result with isError true, since " + c.Broken.Why
		if wrappable(c) {
			t.Warn(refused(c.Reply)).To(Hold(want, "%s", Got(c.Reply)))
			return
		}
		t.Expect(refused(c.Reply)).To(Hold(want, "%s", Got(c.Reply)))
	})
}

// failsAnyway reports whether a tool fails with valid arguments just as it does with
// these: for want of a network, say. Its failure tells nothing of validation.
func failsAnyway(t *T, c toolCall) bool {
	return slices.ContainsFunc(validCalls(t).List, func(valid toolCall) bool {
		return valid.Tool.Name == c.Tool.Name && valid.Reply.Answered() && refused(valid.Reply) && wording(valid.Reply) == wording(c.Reply)
	})
}

// wrappable reports whether one value came in place of an array: some servers
// make an array of it, and lose nothing.
func wrappable(c toolCall) bool {
	schema, _ := c.Tool.Value["inputSchema"].(M)
	properties, _ := schema["properties"].(M)
	property, _ := properties[strings.TrimPrefix(c.Broken.Path, "/")].(M)
	return c.Broken.Keyword == "type" && property["type"] == "array"
}

// expectToolErrors wants refused calls to be answered with isError. A tool that the
// server does not know is the business of tools/listed-tool-callable, and -32042
// asks the user for something.
func expectToolErrors(t *T, what string, calls toolCalls) {
	unknown := aboutStranger(t)
	var failed []toolCall
	for _, c := range answered(calls.List) {
		if c.Broken != nil && failsAnyway(t, c) {
			continue
		}
		if code, _ := c.Reply.Code(); refused(c.Reply) && code != -32042 && !unknown.missing(c) {
			failed = append(failed, c)
		}
	}
	if len(failed) == 0 {
		nothing(t, what, calls.Refused, anyTool)
	}
	eachCall(t, failed, func(t *T, c toolCall) { t.Expect(c.Reply).To(BeToolError()) })
}
