package runner

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// maxRereadAnswer is the size in bytes up to which a response is decoded to find out whether it is a failure.
const maxRereadAnswer = 64 << 10

// usedTools returns the tools of the server that were called in the sessions, in the order of its list.
func usedTools(server *check.Server, sessions []*driver.Session) (used []report.ToolUse) {
	at, called := map[string]*report.ToolUse{}, map[string]bool{}
	for _, tool := range server.Tools {
		if name, named := tool["name"].(string); named {
			at[name] = &report.ToolUse{Name: name}
		}
	}
	for _, s := range sessions {
		open := map[string]*driver.Frame{} // calls without a response yet, by their ids
		running := map[string]bool{}       // ids of calls after which the client has sent nothing else
		for _, f := range s.FramesSince(0) {
			key := driver.IDKey(f.RequestID())
			switch {
			case f.Side == driver.FromClient && at[calledTool(f)] != nil:
				called[calledTool(f)] = true
				open[driver.IDKey(f.ID)], running[driver.IDKey(f.ID)] = f, true
			case f.Side == driver.FromClient && f.Method != "ping" && f.Method != "server/discover":
				clear(running)
			case f.Side == driver.SessionEvent && !f.AfterShutdown && strings.HasPrefix(f.Raw.String(), "the server "):
				call := crashingCall(open, running)
				if call != nil && processEnd.MatchString(f.Raw.String()) && server.Transport != "http" {
					recordCrash(at[calledTool(call)], call, f.Raw.String())
				}
				clear(open) // the call did not cause it
			case f.Side == driver.FromServer && f.IsResponse() && open[key] != nil:
				recordAnswer(at[calledTool(open[key])], driver.Reply{Request: open[key], Frame: f})
				delete(open, key)
				delete(running, key)
			}
		}
		for _, call := range open {
			use := at[calledTool(call)]
			use.Silent = !use.Answered
		}
	}
	for _, tool := range server.Tools {
		name, _ := tool["name"].(string)
		if called[name] {
			used = append(used, *at[name])
			delete(called, name) // a server may list it twice
		}
	}
	return used
}

// processEnd matches the event that says that the process of a session has ended. Over HTTP the process serves other
// sessions as well.
var processEnd = regexp.MustCompile(`^the server (exited|was (killed|ended) by)`)

// calledTool returns the name of the tool in a call; empty for other frames.
func calledTool(f *driver.Frame) string {
	if !f.IsRequest() || f.Method != "tools/call" {
		return ""
	}
	params, _ := f.JSON()["params"].(check.M)
	name, _ := params["name"].(string)
	return name
}

// crashingCall returns the call during which a server ended; nil when another message, or a call of another tool, may
// be the cause.
func crashingCall(open map[string]*driver.Frame, running map[string]bool) (call *driver.Frame) {
	for key := range running {
		if call != nil && calledTool(call) != calledTool(open[key]) {
			return nil
		}
		if call == nil || isValidCall(open[key]) {
			call = open[key]
		}
	}
	return call
}

// isValidCall reports whether a call has valid arguments. Calls with valid arguments have a progress token, others do
// not.
func isValidCall(f *driver.Frame) bool {
	params, _ := f.JSON()["params"].(check.M)
	meta, _ := params["_meta"].(check.M)
	return meta["progressToken"] != nil && !f.AfterInvalidInput
}

// recordCrash notes that the server ended during a call.
func recordCrash(u *report.ToolUse, call *driver.Frame, how string) {
	u.Crashed = true
	if isValidCall(call) {
		u.RecordFail(how, true)
	}
}

// recordAnswer notes the response to a call.
func recordAnswer(u *report.ToolUse, r driver.Reply) {
	u.Answered, u.Silent = true, false
	switch {
	case !isValidCall(r.Request):
	case r.Frame.Raw.Len() <= maxRereadAnswer && r.IsFailure():
		u.RecordFail(r.MessageText(), isToolFault(r))
	default:
		*u = report.ToolUse{Name: u.Name, Answered: true, Crashed: u.Crashed, Works: true}
	}
}

// isToolFault reports whether a call with valid arguments failed by a fault of the tool, or of something that it needs.
// A tool may refuse arguments that were made up ("no such file"), use an error code for that, or require another
// client.
func isToolFault(r driver.Reply) bool {
	code, _ := r.Code()
	refusals := []int{errcode.ResourceNotFound, errcode.MissingRequiredClientCapability, errcode.URLElicitationRequired,
		errcode.InvalidParams}
	if r.Error() != nil && !slices.Contains(refusals, code) {
		return !r.IsRateLimited()
	}
	return toolFault.MatchString(r.MessageText()) && !generatedValue.MatchString(r.MessageText())
}

// toolFault matches error messages about a fault of the program or of something that it needs, whatever its arguments
// are.
var toolFault = regexp.MustCompile(`\b(Type|Attribute|Key|Name|Reference|Index|Import|ModuleNotFound|NotImplemented|` +
	`UnboundLocal|ZeroDivision|Assertion|Connection\w*)Error\b|NullPointerException|nil pointer|nil map|` +
	`is not a function|is not defined|[Cc]annot read propert|has no attribute|index out of range|` +
	`\b(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)\b|getaddrinfo|fetch failed|` +
	`[Cc]onnection refused|no such host|[Nn]etwork is unreachable|\bis down\b`)

// generatedValue matches the values that generated arguments consist of: a message with one of them is about the
// arguments.
var generatedValue = regexp.MustCompile(`mcpcheck|example\.(com|org|net)`)
