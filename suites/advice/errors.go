package advice

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// errorChecks are the checks of what the server says in errors.
var errorChecks = check.Suite{
	"advice/error-text-actionable": check.Probe(func(t *check.T) {
		calls := toolcall.InvalidCalls(t)
		refused := slices.DeleteFunc(toolcall.AnsweredCalls(calls.List), func(c toolcall.ToolCall) bool {
			return !isArgumentError(c.Reply)
		})
		toolcall.RequireObserved(t, len(refused), "call with invalid arguments was refused", calls.Uncalled,
			toolcall.AnyTool)
		toolcall.EachToolCall(t, refused, func(t *check.T, c toolcall.ToolCall) {
			said := c.Reply.MessageText()
			if data, has := c.Reply.Error()["data"]; has {
				said += " " + string(text.CompactJSON(data))
			}
			if !mentionsParameter(said, c.Counterexample) && !hasSucceeded(t, c.Tool.Name) {
				t.NoVerdict(check.Undecided, "the tool may have failed for another reason: no call of it has succeeded")
			}
			t.Expect(mentionsParameter(said,
				c.Counterexample)).
				To(check.BeTrue("the parameter or what is expected of it, since "+c.Counterexample.Reason,
					"%s"+byPattern, check.Show(said)))
		})
	}),

	"advice/error-without-stack-trace": check.WatchWithSetup(triggerErrors, func(t *check.T, w check.Wire) {
		t.Judge(errorsIn(w), func(t *check.T, m check.Message) {
			trace := stackTracePattern.FindString(errorText(m))
			if bytes.Contains(m.Request.Raw.Bytes(), []byte(trace)) {
				return // the text only quotes the request
			}
			t.Expect(trace).To(check.Satisfy("no stack trace, no line of a source file"+byPattern,
				func(found string) bool {
					return found == ""
				}))
		})
	}),

	"advice/error-without-secrets": check.WatchWithSetup(triggerErrors, func(t *check.T, w check.Wire) {
		secrets := toolcall.Secrets(t)
		if len(secrets) == 0 {
			t.Skip(check.NotGiven, "the server was given no secret that it could tell")
		}
		t.Judge(errorsIn(w), func(t *check.T, m check.Message) {
			text := m.Raw.Bytes()
			for _, secret := range secrets {
				encoded := base64.RawStdEncoding.EncodeToString([]byte(secret))
				tells := bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte(encoded))
				t.Expect(!tells).To(check.BeTrue("no credentials", "one that the server was given"))
			}
		})
	}),
}

// triggerErrors runs the shared steps that make a server report errors.
func triggerErrors(t *check.T) {
	if t.Server.Declares("tools") && check.MayCallUnknown(t) {
		toolcall.InvalidCalls(t)
		toolcall.CallTools(t)
	}
}

// errorsIn returns the responses that report an error: a JSON-RPC error, or a tool result with isError.
func errorsIn(w check.Wire) check.Messages {
	return w.Responses().Filter("error", func(m check.Message) bool {
		return m.Request != nil && (m.HasError || protocol.ResultOf(m)["isError"] == true)
	})
}

// errorText returns the text of an error, or of the result of a tool that failed.
func errorText(m check.Message) string {
	e, _ := m.JSON()["error"].(check.M)
	content := textIn(e, "message") + "\n"
	if data, isString := e["data"].(string); isString {
		content += data
	} else if check.HasMember(e, "data") {
		content += string(text.CompactJSON(e["data"]))
	}
	for _, block := range protocol.ObjectsIn(protocol.ResultOf(m)["content"]) {
		content += "\n" + textIn(block, "text")
	}
	// Line breaks are escaped in a text that is part of the data.
	return strings.ReplaceAll(content, `\n`, "\n")
}

// stackTracePattern matches a line of a stack trace in the form of common runtimes, or a position in a source file.
var stackTracePattern = regexp.MustCompile(`Traceback \(most recent call last\)` +
	`|(?m:^\s*at .{1,200}:\d+(?::\d+)?\)?$)` + // JavaScript, Java, Kotlin
	`|(?m:^\s*at .{1,200} in .{1,200}:line \d+$)` + // C#
	`|(?m:^goroutine \d+ \[)` +
	`|thread '[^']{1,80}' panicked at` + // Rust
	`|(?:[A-Za-z]:\\|/)(?:[\w.@+ -]+[\\/])+[\w.-]+\.(?:py|js|mjs|cjs|ts|go|rs|java|kt|cs|rb|php|c|cc|cpp)` +
	`(?::\d+|", line \d+|\(\d+[,)])`)

// isArgumentError reports whether a call was refused in one of the ways in which arguments are refused. Other errors,
// such as those of a rate limit, have nothing to do with the arguments.
func isArgumentError(r driver.Reply) bool {
	code, _ := r.Code()
	return r.Result()["isError"] == true || code == errcode.InvalidParams
}

// mentionsParameter reports whether a text names the invalid parameter, or says what is expected of it.
func mentionsParameter(said string, broken *schemas.Counterexample) bool {
	said = strings.ToLower(said)
	for _, name := range strings.Split(broken.Path, "/") {
		word := `(?:^|[^\pL\d])` + regexp.QuoteMeta(strings.ToLower(name)) + `(?:[^\pL\d]|$)`
		if name != "" && regexp.MustCompile(word).MatchString(said) {
			return true
		}
	}
	if slices.ContainsFunc(expectationWords, func(word string) bool { return strings.Contains(said, word) }) {
		return true
	}
	_, expected, _ := strings.Cut(broken.Reason, " not ") // for example: "a", "b"
	return slices.ContainsFunc(quotedValuePattern.FindAllStringSubmatch(expected, -1), func(value []string) bool {
		return strings.Contains(said, strings.ToLower(value[1]))
	})
}

// quotedValuePattern matches a value in double quotes.
var quotedValuePattern = regexp.MustCompile(`"([^"]+)"`)

// expectationWords are words with which a text says what is expected.
var expectationWords = []string{
	"expected", "required", "must be", "must have", "must match", "missing", "should be", "one of",
	"minimum", "maximum", "at least", "at most", "additional", "unexpected", "unrecognized", "unknown arg",
	"unknown param", "unknown field", "unknown prop", "unknown key", "too long", "too short", "too small", "too large",
}

// hasSucceeded reports whether a call of a tool with valid arguments has succeeded.
func hasSucceeded(t *check.T, tool string) bool {
	return slices.ContainsFunc(toolcall.ValidCalls(t).List, func(c toolcall.ToolCall) bool {
		return c.Tool.Name == tool && c.Reply.Result() != nil && !c.Reply.IsFailure()
	})
}
