package tasks

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// negotiation are the checks of what a server declares of tasks, and of what follows from that.
var negotiation = Suite{
	"tasks/capability-shape": Probe(func(t *T) {
		declared := Member(t.Server.Capabilities, "tasks")
		if declared == (Absent{}) {
			t.Because(NotDeclared).Skip("the server does not declare tasks")
		}
		t.By(t.Server.First).Expect(declared).To(BeObject(), "tasks")
		welcome := t.Server.Welcome
		broken := kit.Broken(t, "tasks/capability-shape", "InitializeResult", welcome)
		t.By(t.Server.First).Expect(broken).To(BeEmptyList[string]("objects throughout"))
	}),

	"tasks/undeclared-task-param-ignored": Probe(func(t *T) {
		wantShape(t)
		if augments(t) {
			t.Because(NotOffered).Skip("the server declares tasks.requests.tools.call")
		}
		s := t.Hostile()
		ignoresTask(t, s)
		for _, call := range kit.ValidCalls(t).List {
			if call.IsPlain() && support(call.Tool.Value) == "forbidden" {
				again := kit.TryAmiss(t, s, "tools/call", augmented(call.Params(s)))
				kit.WantAnswer(t, again)
				t.Expect(!isTask(again)).To(Hold("the result of the tool", "%s", again))
				if again.Result() == nil && kit.TryAmiss(t, s, "tools/call", call.Params(s)).Result() != nil {
					t.Fail("the same kind of answer as without the parameter task", "%s", again)
				}
				return
			}
		}
	}),

	"tasks/not-in-earlier-revisions": Probe(func(t *T) {
		ignoresTask(t, t.Hostile())
		declared := Member(t.Server.Capabilities, "tasks")
		t.By(t.Server.First).Inform(declared).To(BeOneOf[any](Absent{}), "capabilities.tasks")
	}),

	"tasks/list-undeclared": Probe(func(t *T) {
		kit.WantCapabilities(t, t.Server.Welcome)
		wantShape(t)
		if declaresList(t) {
			t.Because(NotOffered).Skip("the server declares tasks.list")
		}
		r := kit.AskAmiss(t, t.Hostile(), "tasks/list", nil)
		wantOwnCode(t, r)
		t.Expect(r).To(BeError(-32601))
	}),

	"tasks/cancel-undeclared": Probe(func(t *T) {
		kit.WantCapabilities(t, t.Server.Welcome)
		wantShape(t)
		if declaresCancel(t) {
			t.Because(NotOffered).Skip("the server declares tasks.cancel")
		}
		r := kit.AskAmiss(t, t.Hostile(), "tasks/cancel", M{"taskId": kit.NoTask})
		wantOwnCode(t, r)
		t.Expect(r).To(BeError(-32601, -32602))
		t.Inform(r).To(BeError(-32601))
	}),

	"tasks/forbidden-tool-augmented": Probe(func(t *T) {
		wantAugments(t)
		var forbidden []kit.ToolCall
		for _, call := range kit.ValidCalls(t).List {
			if support(call.Tool.Value) == "forbidden" && call.IsPlain() && len(forbidden) < mostForbidden {
				forbidden = append(forbidden, call)
			}
		}
		if len(forbidden) == 0 {
			kit.NothingSeen(t, "tool that does not run as a task was served", kit.ValidCalls(t).Uncalled, isForbidden)
		}
		s := t.Hostile()
		kit.EachCall(t, forbidden, func(t *T, call kit.ToolCall) {
			r := kit.AskAmiss(t, s, "tools/call", augmented(call.Params(s)))
			kit.NotLimited(t, s, r, -32601)
			t.Expect(r).To(BeError(-32601))
		})
	}),

	"tasks/required-tool-not-augmented": Probe(func(t *T) {
		wantAugments(t)
		required := slices.DeleteFunc(kit.ListedTools(t), func(tool Subject) bool {
			return support(tool.Value) != "required"
		})
		if len(required) == 0 {
			t.Because(NotOffered).Skip("no tool has taskSupport required")
		}
		s := t.Hostile()
		t.Each(required, func(t *T, tool Subject) {
			args, not := kit.TaskArguments(t, tool)
			if not != nil {
				t.Inconclusive("it cannot be called with valid arguments (%v)", *not)
			}
			r := kit.AskAmiss(t, s, "tools/call", M{"name": tool.Name, "arguments": args})
			kit.NotLimited(t, s, r, -32601, -32600)
			t.Expect(r).To(BeError(-32601, -32600))
			t.Warn(r).To(BeError(-32601))
		})
	}),

	"tasks/optional-tool-plain-call": Probe(func(t *T) {
		wantAugments(t)
		calls := kit.ValidCalls(t)
		optional := slices.DeleteFunc(kit.Answered(calls.List), func(call kit.ToolCall) bool {
			return support(call.Tool.Value) != "optional"
		})
		isOptional := func(tool M) bool { return support(tool) == "optional" }
		kit.Seen(t, len(optional), "tool with optional task support was called", calls.Uncalled, isOptional)
		kit.EachCall(t, optional, func(t *T, call kit.ToolCall) {
			t.Expect(!isTask(call.Reply)).To(Hold("the result of the tool", "%s", call.Reply))
			t.Warn(call.Reply).NotTo(BeError(-32601, -32600)) // which a receiver MAY answer by another sentence
		})
	}),

	"tasks/tool-support-without-capability": Probe(func(t *T) {
		wantShape(t)
		all := kit.ListedTools(t)
		if len(all) == 0 {
			t.Because(NotOffered).Skip("the server lists no tool")
		}
		if augments(t) {
			return
		}
		t.Each(all, func(t *T, tool Subject) {
			t.Expect(support(tool.Value)).NotTo(BeOneOf("optional", "required"), "execution.taskSupport")
		})
	}),

	"tasks/list-needs-identity": Probe(func(t *T) {
		if t.Server.Protected || t.Credentials.Bearer != "" {
			t.Because(NotOffered).Skip("the server identifies clients by token")
		}
		t.By(t.Server.First).Expect(member(t.Server.Capabilities, "tasks", "list") == nil).To(Hold(
			"no tasks.list where anybody may ask", "%s", Show(t.Server.Capabilities["tasks"])))
	}),
}

// mostForbidden is how many tools are called as tasks that do not run as such.
const mostForbidden = 3

var errNotAsked = errors.New("it was not asked")

func isForbidden(tool M) bool { return support(tool) == "forbidden" }

// member is what is in an object under names, one in the other; nil when it is not there.
func member(object M, names ...string) any {
	var v any = object
	for _, name := range names {
		inner, _ := v.(M)
		v = inner[name]
	}
	return v
}

// augments reports whether calls of tools may run as tasks.
func augments(t *T) bool {
	return t.Server.Declares("tasks") && member(t.Server.Capabilities, "tasks", "requests", "tools", "call") != nil
}

// wantAugments ends a check of a server that runs no calls as tasks.
func wantAugments(t *T) {
	if !augments(t) {
		t.Because(NotDeclared).Skip("the server does not declare tasks.requests.tools.call")
	}
}

// wantShape ends a check of what is not declared where the capability makes no sense.
func wantShape(t *T) {
	if declared := Member(t.Server.Capabilities, "tasks"); declared != (Absent{}) && !isObject(declared) {
		t.Yield("the capability tasks is not an object")
	}
}

func isObject(v any) bool {
	_, is := v.(M)
	return is
}

func declaresCancel(t *T) bool { return member(t.Server.Capabilities, "tasks", "cancel") != nil }

func declaresList(t *T) bool { return member(t.Server.Capabilities, "tasks", "list") != nil }

// ignoresTask wants a call of a tool that does not exist to be answered with the parameter task as without.
func ignoresTask(t *T, s *driver.Session) {
	kit.WantCalls(t)
	params := M{"name": kit.UnknownName(t), "arguments": M{}}
	plain := kit.AskAmiss(t, s, "tools/call", params)
	with := kit.AskAmiss(t, s, "tools/call", augmented(params))
	t.Expect(!isTask(with)).To(Hold("no task", "%s", with))
	if kit.KindOf(with) != kit.KindOf(plain) {
		kit.NotLimited(t, s, with)
		again := kit.AskAmiss(t, s, "tools/call", params)
		t.Expect(kit.KindOf(with) == kit.KindOf(again)).To(Hold("the same outcome with and without `task`",
			"with: %s; without: %s", with, again))
	}
}

// wantOwnCode ends a check of a method that has the code of any that the server does not know, be it the wrong one.
func wantOwnCode(t *T, r driver.Reply) {
	unknown, coded := kit.UnknownMethod(t).Reply.Code()
	if code, _ := r.Code(); coded && code == unknown && code != -32601 {
		t.Yield("unknown methods have the code %d", code)
	}
}
