package jsonrpc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var answers = Suite{
	"jsonrpc/single-response-per-request": WatchAfter(kit.Notify, func(t *T, w Wire) {
		answers := func(r *kit.Response) bool { return r.Of != nil || r.Again != nil }
		kit.JudgeResponses(t, "response to a request", kit.Dialogues(w), answers, func(t *T, r *kit.Response) {
			switch {
			case r.Again == nil:
			case r.Again.Cancelled && r.Noted:
				t.Yield("it may be a reply to the cancellation")
			case kit.Listening(t, r.Line) || kit.Listening(t, r.Again.Answer):
				t.Yield("it came on the GET stream as well")
			case r.Session.AskedBeside(r.ID):
				t.Yield("another session has asked under that id, too")
			}
			t.Expect(r.Again == nil).To(Hold("one answer to "+r.Request.Method, "another one under the same id"))
		})
	}),

	"jsonrpc/no-unsolicited-response": WatchAfter(kit.Notify, func(t *T, w Wire) {
		early := kit.SpokeFirst(w)
		once := func(r *kit.Response) bool { return r.Again == nil }
		kit.JudgeResponses(t, "response", kit.Dialogues(w), once, func(t *T, r *kit.Response) {
			switch {
			case r.Misnamed():
				t.Yield("it answers %s", r.Request.Method)
			case r.Of == nil && kit.Listening(t, r.Line):
				t.Yield("it came on a GET stream")
			case early && r.Of == nil && kit.BeforeWelcome(r.Message):
				t.Yield("the server does not wait for initialize")
			case r.Of == nil && r.Session.AskedBeside(r.ID):
				t.Yield("it may be for another session")
			case r.Meant != nil:
				t.Skip("it may be meant for a request that has no answer")
			case r.Of == nil && r.Noted:
				t.Yield("it may be a reply to a notification")
			case kit.IsBare(r.ID):
				t.Yield("it has no id")
			}
			t.Expect(r.Of != nil).To(Hold("responses to requests only",
				"a response with id %s, which no request has", Show(ID(r.Frame))))
		})
	}),

	"jsonrpc/no-response-without-id": WatchAfter(kit.Notify, func(t *T, w Wire) {
		all := func(*kit.Response) bool { return true }
		kit.JudgeResponses(t, "response", kit.Dialogues(w), all, func(t *T, r *kit.Response) {
			if r.Of == nil && kit.Listening(t, r.Line) {
				t.Yield("it came on a GET stream")
			}
			t.Expect(!r.IsStray()).To(Hold("the id of a request in each response",
				"one without, though everything that was sent could be read: %s", r.Frame))
		})
	}),

	"jsonrpc/every-request-answered": WatchAfter(kit.AskLists, func(t *T, w Wire) {
		all := requestsIn(t, w)
		hung := hungCalls(all.exchanges)
		Judge(t, "answer", all.exchanges, all.subject, func(t *T, x *kit.Exchange) {
			if excess := x.Excess(); excess != nil {
				t.Inconclusive("%v", excess)
			}
			if slices.Contains(hung.blocking, x) {
				t.Fail("an answer to the call of "+toolOf(x), "%s, nor to ping meanwhile", x.Fate())
			}
			if why := excuse(t, w, x, all); why != "" {
				t.Skip("%s", why)
			}
			t.Expect(x.Answer != nil).To(Hold("an answer to "+x.Request.Method, "%s", x.Fate()))
		})
		if len(all.coming) > 0 {
			t.Because(Silent).Inconclusive("the server was still answering when the --timeout had passed: %s",
				strings.Join(all.coming, ", "))
		}
		if len(hung.slow) > 0 {
			t.Because(Silent).Inconclusive("some tools did not answer in time and may run for long (--timeout): %s",
				strings.Join(hung.slow, ", "))
		}
	}),
}

// requests are those of a run, and which of them call tools that are listed.
type requests struct {
	exchanges []*kit.Exchange
	tools     map[*kit.Exchange]Subject // by the requests that call them
	first     *kit.Exchange             // of these; nil when there is none
	mute      bool                      // there are some, and none was answered
	sullen    bool                      // what is to be refused has no answer
	renamed   bool                      // results have come under another id than that of their request, or under none
	coming    []string                  // methods of those whose answers were still on their way when they were due
	again     map[string]string         // see regained
}

func requestsIn(t *T, w Wire) *requests {
	dialogues := kit.Dialogues(w)
	all := &requests{
		tools: map[*kit.Exchange]Subject{}, sullen: kit.LeavesErrors(dialogues), again: map[string]string{},
	}
	for _, d := range dialogues {
		all.exchanges = append(all.exchanges, d.Exchanges...)
	}
	listed := map[string]Subject{}
	for _, tool := range slices.Backward(kit.ListedTools(t)) { // the first of a name
		listed[tool.Name] = tool
	}
	answered := false
	for _, x := range all.exchanges {
		if method := x.Request.Method; x.StillComing() && !slices.Contains(all.coming, method) {
			all.coming = append(all.coming, method)
		}
		all.renamed = all.renamed || x.Answer != nil && x.Answer.HasResult && !driver.SameID(x.Answer.ID, x.Request.ID)
		if x.Request.Method != "tools/call" {
			continue
		}
		if tool, isListed := listed[toolOf(x)]; isListed {
			all.tools[x] = tool
			all.first = cmp.Or(all.first, x)
			answered = answered || x.Answer != nil
		}
	}
	all.mute = all.first != nil && !answered
	return all
}

// isListed reports whether a request calls a tool that is listed.
func (all *requests) isListed(x *kit.Exchange) bool {
	_, has := all.tools[x]
	return has
}

// subject is a request as a subject. Behind a call without a known tool is one of a tool that is listed: without it,
// another check would judge the answer.
func (all *requests) subject(x *kit.Exchange) Subject {
	subject := x.Subject()
	if x.Request.Method == "tools/call" && !all.isListed(x) && all.first != nil {
		subject.Behind = append(subject.Behind, all.first.Request)
	}
	return subject
}

// excuse is why it is not for jsonrpc/every-request-answered to report that a request, one of all, has no answer; empty
// when it is.
func excuse(t *T, w Wire, x *kit.Exchange, all *requests) string {
	other := judgedElsewhere(t, x, all)
	control, down := ServerDown(t)
	switch {
	case x.Answer != nil:
		return ""
	case x.StillComing():
		return "it was still coming"
	case !x.Ready:
		return "the handshake was not complete"
	case x.Batched:
		return "it was in a batch"
	case x.Standing:
		return "its answer is that a stream stays open"
	case x.Cancelled:
		return "it was cancelled"
	case x.Empty:
		return "the HTTP answer holds no response: http/request-not-202, http/sse-response-eventually, " +
			"http/json-reply-single-object"
	case x.Instead != nil && all.renamed:
		return "results do not have the id of their request: jsonrpc/response-id-echo-integer"
	case x.Mistaken:
		return "an error without its id came: jsonrpc/error-echoes-request-id"
	case x.Streamed():
		return "its event stream is open without a response: http/sse-response-eventually"
	case x.Session.Muted && (x.Dead() || x.Last()):
		return "nobody read its stderr: stdio/responsive-without-stderr-reader"
	case x.Left():
		return "the server has ended the session: lifecycle/server-shutdown-is-clean"
	case x.Dead() && x.Declined():
		return "the client did not agree to what it was asked for: elicitation/decline-handled, " +
			"elicitation/error-reply-handled, sampling/rejection-handled, roots/error-tolerated"
	case isLost(w, x):
		if why := cmp.Or(other, whyUndeclared(x)); why != "" {
			return why
		}
		return all.regained(t, x)
	case x.Session == control, x.Crashed() && (other == "" || servesAny(t, other, all)):
		return ""
	case other != "":
		return other
	case down && control == nil && x.Last():
		return "the server has stopped to answer anything"
	case whyUndeclared(x) != "":
		return whyUndeclared(x)
	case !x.Dead() && x.Waited() < x.Session.Patience():
		return "the session was over before an answer was due"
	case heldUp(t, x, all):
		return "it came after a request that is never answered, which another check judges, and nothing was any more"
	case all.sullen && !x.Dead() && all.serves(x.Request.Method):
		return "it may be what is to be refused, and that has no answer: jsonrpc/unknown-method-is-error"
	case all.isListed(x) && !x.Dead() && !breaksSchema(t, x, all.tools[x]):
		return "a tool may run for long"
	}
	return ""
}

// judgedElsewhere says which answers another check judges, that to a request, one of all, among them; empty when none
// does.
func judgedElsewhere(t *T, x *kit.Exchange, all *requests) string {
	harmless, _ := x.Session.Harmless()
	judged := []string{harmless, t.Server.Greeting(), "ping", "tools/list", "tasks/result"}
	switch method := x.Request.Method; {
	case slices.Contains(judged, method), kit.IsNoMethod(method):
		return "another check judges the answers to " + method
	case method == "tools/call" && !all.isListed(x) && (x.Dead() || !all.mute):
		return "another check judges calls without a known tool"
	}
	return ""
}

// servesAny reports whether any of the requests was answered that are judged elsewhere for the same reason.
func servesAny(t *T, judged string, all *requests) bool {
	return slices.ContainsFunc(all.exchanges, func(x *kit.Exchange) bool {
		return x.Answer != nil && judgedElsewhere(t, x, all) == judged
	})
}

// serves reports whether any request of a method was answered.
func (all *requests) serves(method string) bool {
	return slices.ContainsFunc(all.exchanges, func(x *kit.Exchange) bool {
		return x.Answer != nil && x.Request.Method == method
	})
}

// heldUp reports whether a request, one of all, came in its session after one that is judged elsewhere, of a kind that
// is never answered, and nothing was answered there any more: it may have had to wait for that.
func heldUp(t *T, x *kit.Exchange, all *requests) bool {
	return x.Last() && slices.ContainsFunc(all.exchanges, func(y *kit.Exchange) bool {
		if y.Session != x.Session || y.Answer != nil || y.Request.At >= x.Request.At {
			return false
		}
		other := judgedElsewhere(t, y, all)
		return other != "" && !servesAny(t, other, all)
	})
}

// whyUndeclared says that the session's capabilities do not cover the method; empty when they do.
func whyUndeclared(x *kit.Exchange) string {
	family, verb, _ := strings.Cut(x.Request.Method, "/")
	if family == "completion" {
		family = "completions"
	}
	capability, _ := x.Session.Capabilities[family].(M)
	subscribes := verb == "subscribe" || verb == "unsubscribe"
	if capability == nil || subscribes && capability["subscribe"] != true {
		return "the server does not declare the method"
	}
	return ""
}

// breaksSchema reports whether a call of a listed tool has to be answered soon: its arguments are invalid even without
// those that the tool does not know.
func breaksSchema(t *T, x *kit.Exchange, tool Subject) bool {
	params, _ := x.Request.JSON()["params"].(M)
	arguments := Member(params, "arguments")
	args, ok := arguments.(M)
	if !ok {
		return arguments != Absent{}
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return false
	}
	known := M{}
	input, _ := tool.Value["inputSchema"].(M)
	properties, _ := input["properties"].(M)
	for name, v := range args {
		if Has(properties, name) {
			known[name] = v
		}
	}
	return schema.Validate(known) != nil
}
