package jsonrpc

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/handshake"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// responseChecks are the checks that each request has one response.
var responseChecks = check.Suite{
	"jsonrpc/single-response-per-request": check.WatchWithSetup(handshake.NotifyAndIdle,
		func(t *check.T, w check.Wire) {
			answers := func(r *transcript.Response) bool { return r.Call != nil || r.DuplicateOf != nil }
			judgeResponses(t, "response to a request", transcript.Transcripts(w), answers,
				func(t *check.T, r *transcript.Response) {
					switch {
					case r.DuplicateOf == nil:
					case r.DuplicateOf.Cancelled && r.MaybeForNotification:
						t.Yield("it may be a reply to the cancellation")
					case r.IsCopyOnGETStream(t):
						t.Yield("it came on the GET stream as well")
					case isInPostOverSSE(r.WireFrame) || isInPostOverSSE(r.DuplicateOf.Response):
						t.Yield("one of them came in the body of the answer to the POST")
					case r.Session.OtherSessionUsedID(r.ID):
						t.Yield("another session has asked under that id, too")
					}
					isOnlyOne := check.BeTrue("one answer to "+r.Request.Method, "another one under the same id")
					// It may be meant for a request with another id.
					t.Expect(r.DuplicateOf == nil).To(check.ReportedBy("jsonrpc/response-id-echo-integer", isOnlyOne))
				})
		}).InOwnSession().StartsFirst(),

	"jsonrpc/no-unsolicited-response": check.WatchWithSetup(handshake.NotifyAndIdle, func(t *check.T, w check.Wire) {
		early := handshake.ServerSpokeFirst(w)
		once := func(r *transcript.Response) bool { return r.DuplicateOf == nil }
		all := transcript.Transcripts(w)
		hasWrongIDs := slices.ContainsFunc(all, func(d *transcript.Transcript) bool {
			return slices.ContainsFunc(d.Responses, hasWrongID)
		})
		judgeResponses(t, "response", all, once,
			func(t *check.T, r *transcript.Response) {
				switch {
				case hasWrongID(r):
					t.Yield("it answers %s", r.Request.Method)
				case r.Call == nil && hasWrongIDs:
					t.Yield("other responses do not have the id of their request")
				case r.Call == nil && transcript.IsOnGETStream(t, r.WireFrame):
					t.Yield("it came on a GET stream")
				case early && r.Call == nil && handshake.IsBeforeConnectReply(r.Message):
					t.Yield("the server does not wait for initialize")
				case r.Call == nil && r.Session.OtherSessionUsedID(r.ID):
					t.Yield("it may be for another session")
				case r.GuessedCall != nil:
					t.Skip(check.NotApplicable, "it may be meant for a request that has no answer")
				case r.Call == nil && r.MaybeForNotification:
					t.Yield("it may be a reply to a notification")
				case protocol.IsMissingID(r.ID):
					t.Yield("it has no id")
				}
				t.Expect(r.Call != nil).To(check.BeTrue("responses to requests only",
					"a response with id %s, which no request has", check.Show(check.FrameID(r.Frame))))
			})
	}).InOwnSession(),

	"jsonrpc/no-response-without-id": check.WatchWithSetup(handshake.NotifyAndIdle, func(t *check.T, w check.Wire) {
		all := func(*transcript.Response) bool { return true }
		judgeResponses(t, "response", transcript.Transcripts(w), all,
			func(t *check.T, r *transcript.Response) {
				if r.Call == nil && transcript.IsOnGETStream(t, r.WireFrame) {
					t.Yield("it came on a GET stream")
				}
				t.Expect(!isUnsolicited(r)).To(check.BeTrue("the id of a request in each response",
					"one without, though everything that was sent could be read: %s", r.Frame))
			})
	}).InOwnSession(),

	"jsonrpc/every-request-answered": check.WatchWithSetup(askWithEdgeCases, func(t *check.T, w check.Wire) {
		all := runCallsIn(t, w)
		hung := unansweredCallsIn(all.calls)
		check.Judge(t, "answer", all.calls, all.subject, func(t *check.T, x *transcript.Call) {
			if excess := limitErr(x); excess != nil {
				t.NoVerdict(check.Undecided, "%v", excess)
			}
			if slices.Contains(hung.blocking, x) && all.waitReason(t, w, x) == "" {
				t.Fail("an answer to the call of "+toolName(x), "%s, nor to ping meanwhile", noAnswerReason(x))
			}
			if why := exemptReason(t, w, x, all); why != "" {
				t.Skip(check.NotApplicable, "%s", why)
			}
			switch {
			case mayBeInMalformedLine(x) || endsInLine(x) && hasMalformedLine(w):
				t.Yield("its answer may be in a line that is not a message")
			case transcript.UnterminatedResponse(x) != nil:
				t.Yield("no newline comes after its answer")
			case isInBodyOfPost(x):
				t.Yield("its answer is the body of the answer to the POST")
			}
			isAnswered := check.BeTrue("an answer to "+x.Request.Method, "%s", noAnswerReason(x))
			if x.Response == nil && x.WrongIDResponse != nil {
				isAnswered = check.ReportedBy("jsonrpc/response-id-echo-integer",
					check.ReportedBy("jsonrpc/response-id-echo-string", isAnswered))
			}
			t.Expect(x.Response != nil).To(isAnswered)
		})
		if len(all.pendingMethods) > 0 {
			t.NoVerdict(check.Silent, "the server was still answering when the --timeout had passed: %s",
				strings.Join(all.pendingMethods, ", "))
		}
		if len(hung.slowTools) > 0 {
			t.NoVerdict(check.Silent, "some tools did not answer in time and may run for long (--timeout): %s",
				strings.Join(hung.slowTools, ", "))
		}
	}),
}

// runCalls holds the requests of a run, with what is known of the calls of listed tools among them.
type runCalls struct {
	calls []*transcript.Call
	// tools maps the calls of listed tools to the tools.
	tools map[*transcript.Call]check.Subject
	// firstToolCall is the first call of a listed tool; nil if there is none.
	firstToolCall *transcript.Call
	// toolsUnanswered reports that listed tools were called and no call was answered.
	toolsUnanswered bool
	// ignoresErrors reports that the server does not answer requests that have to be rejected.
	ignoresErrors bool
	// hasOtherIDs reports that results were received under another id than that of their request, or without one.
	hasOtherIDs bool
	// pendingMethods are the methods of requests whose responses were still being received when they were due.
	pendingMethods []string
	// retryReasons caches retryReason by method and params.
	retryReasons map[string]string
}

// runCallsIn collects the requests of a run.
func runCallsIn(t *check.T, w check.Wire) *runCalls {
	dialogues := transcript.Transcripts(w)
	all := &runCalls{
		tools: map[*transcript.Call]check.Subject{}, ignoresErrors: invalid.NeverAnswersWithErrors(dialogues),
		retryReasons: map[string]string{},
	}
	for _, d := range dialogues {
		all.calls = append(all.calls, d.Calls...)
	}
	listed := map[string]check.Subject{}
	// The first tool of a name counts.
	for _, tool := range slices.Backward(toolcall.ListedTools(t)) {
		listed[tool.Name] = tool
	}
	answered := false
	for _, x := range all.calls {
		if method := x.Request.Method; isReceiving(x) && !slices.Contains(all.pendingMethods, method) {
			all.pendingMethods = append(all.pendingMethods, method)
		}
		all.hasOtherIDs = all.hasOtherIDs || x.Response != nil && x.Response.HasResult && !driver.SameID(x.Response.ID,
			x.Request.ID)
		if x.Request.Method != "tools/call" {
			continue
		}
		if tool, isListed := listed[toolName(x)]; isListed {
			all.tools[x] = tool
			all.firstToolCall = cmp.Or(all.firstToolCall, x)
			answered = answered || x.Response != nil
		}
	}
	all.toolsUnanswered = all.firstToolCall != nil && !answered
	return all
}

// callsListedTool reports whether a request calls a listed tool.
func (all *runCalls) callsListedTool(x *transcript.Call) bool {
	_, has := all.tools[x]
	return has
}

// subject returns a request as a subject. The subject of a call without a known tool also refers to a call of a listed
// tool: if there were none, another check would judge the response.
func (all *runCalls) subject(x *transcript.Call) check.Subject {
	subject := callSubject(x)
	if x.Request.Method == "tools/call" && !all.callsListedTool(x) && all.firstToolCall != nil {
		subject.SourceFrames = append(subject.SourceFrames, all.firstToolCall.Request)
	}
	return subject
}

// exemptReason returns why jsonrpc/every-request-answered does not report that a request has no response; empty if it
// does.
func exemptReason(t *check.T, w check.Wire, x *transcript.Call, all *runCalls) string {
	other := otherCheckReason(t, x, all)
	control, down := check.ServerDown(t)
	switch {
	case x.Response != nil:
		return ""
	case isReceiving(x):
		return "it was still coming"
	case !x.Ready:
		return "the handshake was not complete"
	case x.Batched:
		return "it was in a batch"
	case x.OpensStream:
		return "its answer is that a stream stays open"
	case x.Cancelled:
		return "it was cancelled"
	case x.NoResponseInBody:
		return "the HTTP answer holds no response: http/request-not-202, http/sse-response-eventually, " +
			"http/json-reply-single-object"
	case x.WrongIDResponse != nil && all.hasOtherIDs:
		return "results do not have the id of their request: jsonrpc/response-id-echo-integer"
	case x.ErrorWithoutID:
		return "an error without its id came: jsonrpc/error-echoes-request-id"
	case isStreamOpen(x):
		return "its event stream is open without a response: http/sse-response-eventually"
	case t.Site().IsCrowded():
		return "the server handles few requests at a time, and open streams were among them"
	case x.Session.StderrDiscarded && (x.SessionEnded() || isNothingAnsweredAfter(x)):
		return "nobody read its stderr: stdio/responsive-without-stderr-reader"
	case hasExitedZero(x):
		return "the server has ended the session: lifecycle/server-shutdown-is-clean"
	case x.SessionEnded() && endedAfterDecline(x):
		return "the client did not agree to what it was asked for: elicitation/decline-handled, " +
			"elicitation/error-reply-handled, sampling/rejection-handled, roots/error-tolerated"
	case isLost(w, x):
		if why := cmp.Or(other, undeclaredReason(x)); why != "" {
			return why
		}
		return all.retryReason(t, x)
	case x.Session == control, hasCrashed(x) && (other == "" || isAnyAnswered(t, other, all)):
		return ""
	case other != "":
		return other
	case down && control == nil && isNothingAnsweredAfter(x):
		return "the server has stopped to answer anything"
	case undeclaredReason(x) != "":
		return undeclaredReason(x)
	case !x.SessionEnded() && waitTime(x) < x.Session.Patience(x.Request):
		return "the session was over before an answer was due"
	case all.waitReason(t, w, x) != "":
		return all.waitReason(t, w, x)
	case isBlocked(t, x, all):
		return "it came after a request that is never answered, which another check judges, and nothing was any more"
	case all.ignoresErrors && !x.SessionEnded() && all.hasAnswered(x.Request.Method):
		return "it may be what is to be refused, and that has no answer: jsonrpc/unknown-method-is-error"
	case all.callsListedTool(x) && !x.SessionEnded() && !hasInvalidArguments(t, x, all.tools[x]):
		return "a tool may run for long"
	}
	return ""
}

// otherCheckReason returns which other check judges responses to requests such as this one; empty if none does.
func otherCheckReason(t *check.T, x *transcript.Call, all *runCalls) string {
	harmless, _ := x.Session.NoOp()
	judged := []string{harmless, t.Server.ConnectMethod(), "ping", "tools/list", "tasks/result"}
	switch method := x.Request.Method; {
	case slices.Contains(judged, method), invalid.IsUnknownMethod(method):
		return "another check judges the answers to " + method
	case method == "tools/call" && !all.callsListedTool(x) && (x.SessionEnded() || !all.toolsUnanswered):
		return "another check judges calls without a known tool"
	}
	return ""
}

// isAnyAnswered reports whether any request with the same otherCheckReason was answered.
func isAnyAnswered(t *check.T, judged string, all *runCalls) bool {
	return slices.ContainsFunc(all.calls, func(x *transcript.Call) bool {
		return x.Response != nil && otherCheckReason(t, x, all) == judged
	})
}

// hasAnswered reports whether any request of a method was answered.
func (all *runCalls) hasAnswered(method string) bool {
	return slices.ContainsFunc(all.calls, func(x *transcript.Call) bool {
		return x.Response != nil && x.Request.Method == method
	})
}

// isBlocked reports whether a request may have had to wait for an earlier one in its session. The earlier one is judged
// by another check and of a kind that is never answered, and nothing was answered after it.
func isBlocked(t *check.T, x *transcript.Call, all *runCalls) bool {
	return isNothingAnsweredAfter(x) && slices.ContainsFunc(all.calls, func(y *transcript.Call) bool {
		if y.Session != x.Session || y.Response != nil || y.Request.At >= x.Request.At {
			return false
		}
		other := otherCheckReason(t, y, all)
		return other != "" && !isAnyAnswered(t, other, all)
	})
}

// undeclaredReason returns that the server has not declared the method in the session; empty if it has.
func undeclaredReason(x *transcript.Call) string {
	family, verb, _ := strings.Cut(x.Request.Method, "/")
	if family == "completion" {
		family = "completions"
	}
	capability, _ := x.Session.Capabilities[family].(check.M)
	subscribes := verb == "subscribe" || verb == "unsubscribe"
	if capability == nil || subscribes && capability["subscribe"] != true {
		return "the server does not declare the method"
	}
	return ""
}

// hasInvalidArguments reports whether a call of a listed tool has to be rejected soon: the arguments are invalid even
// without those that the tool does not know.
func hasInvalidArguments(t *check.T, x *transcript.Call, tool check.Subject) bool {
	params, _ := x.Request.JSON()["params"].(check.M)
	arguments := check.Member(params, "arguments")
	args, ok := arguments.(check.M)
	if !ok {
		return arguments != check.Absent{}
	}
	schema, err := schemas.Compile(tool.Value["inputSchema"], t.Revision)
	if err != nil {
		return false
	}
	known := check.M{}
	input, _ := tool.Value["inputSchema"].(check.M)
	properties, _ := input["properties"].(check.M)
	for name, v := range args {
		if check.HasMember(properties, name) {
			known[name] = v
		}
	}
	return schema.Validate(known) != nil
}
