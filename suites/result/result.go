// Package result is the area of what all results have in common since 2026-07-28: their type, and who sent them.
package result

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// tasksExtension is the extension that adds the type task.
const tasksExtension = "io.modelcontextprotocol/tasks"

// Checks are those of the area.
var Checks = Suite{
	"result/type-present": WatchWithSetup(requestAll, func(t *T, w Wire) {
		t.Judge(meaningfulResults(t, w), func(t *T, m Message) {
			t.Expect(Member(protocol.ResultOf(m), "resultType")).To(BeString(), "resultType")
		})
	}),

	"result/type-complete": WatchWithSetup(requestAll, func(t *T, w Wire) {
		final := meaningfulResults(t, w).Filter("result of server/discover or a list", func(m Message) bool {
			return protocol.IsAlwaysComplete(m.Request.Method)
		})
		t.Judge(final, func(t *T, m Message) {
			kind := requireResultType(t, m)
			if !slices.Contains(knownTypes(t, m), kind) {
				t.Yield("%q is not a known type", kind)
			}
			if kind == "task" {
				t.Yield("only tools/call may begin a task")
			}
			t.Expect(kind).To(BeOneOf("complete"))
		})
	}),

	"result/type-known": WatchWithSetup(requestAll, func(t *T, w Wire) {
		t.Judge(meaningfulResults(t, w), func(t *T, m Message) {
			kind := requireResultType(t, m)
			if kind == "task" && m.Request.Method == "tools/call" && !slices.Contains(knownTypes(t, m), kind) {
				t.Yield("it is a task that nobody asked for")
			}
			t.Expect(kind).To(BeOneOf(knownTypes(t, m)...))
		})
	}),

	"result/server-info-on-results": WatchWithSetup(requestAll, func(t *T, w Wire) {
		others := meaningfulResults(t, w).Filter("result beside that of server/discover", func(m Message) bool {
			return m.Request.Method != "server/discover"
		})
		if !HasMember(protocol.MetaOf(t.Server.ConnectResult), driver.MetaServer) {
			t.Yield("server/discover does not name the server either")
		}
		t.Judge(others, func(t *T, m Message) {
			t.Expect(HasMember(protocol.MetaOf(protocol.ResultOf(m)), driver.MetaServer)).To(BeTrue(
				driver.MetaServer+" in _meta, as server/discover has it", "none in a result of %s", m.Request.Method))
		})
	}),

	"result/server-info-shape": WatchWithSetup(requestAll, func(t *T, w Wire) {
		t.Judge(resultsWithServerInfo(t, w), func(t *T, m Message) {
			meta := M{"_meta": protocol.MetaOf(protocol.ResultOf(m)), "resultType": "complete"}
			broken := protocol.Violations(t, "result/server-info-shape", "Result", meta)
			t.Expect(broken).To(BeEmptyList[string]("serverInfo with a name and a version"))
		})
	}),

	"result/server-info-stable": WatchWithSetup(requestAll, func(t *T, w Wire) {
		all := resultsWithServerInfo(t, w)
		if len(all.List) < 2 {
			t.WithReason(NotObserved).Skip("no two results name the server")
		}
		info := func(m Message) string {
			return string(CompactJSON(protocol.MetaOf(protocol.ResultOf(m))[driver.MetaServer]))
		}
		t.Judge(all, func(t *T, m Message) { t.Expect(info(m)).To(BeOneOf(info(all.List[0]))) })
	}),
}

// requestAll asks for what every server answers with a result: server/discover, and the lists that it declares.
func requestAll(t *T) {
	TryNoOp(t, t.Session())
	protocol.AskLists(t)
}

// meaningfulResults are those of the run that mean something.
func meaningfulResults(t *T, w Wire) Messages {
	meaningless := invalid.SameAsUnknownMethod(w)
	return protocol.ModernResults(t, w).Filter("result", func(m Message) bool { return !meaningless(protocol.ResultOf(m)) })
}

// resultsWithServerInfo are those that name the server.
func resultsWithServerInfo(t *T, w Wire) Messages {
	return meaningfulResults(t, w).Filter("result that names the server", func(m Message) bool {
		return HasMember(protocol.MetaOf(protocol.ResultOf(m)), driver.MetaServer)
	})
}

// requireResultType is the type of a result, for a check that cannot do without.
func requireResultType(t *T, m Message) string {
	kind, isString := protocol.ResultOf(m)["resultType"].(string)
	if !isString {
		t.Yield("there is no resultType")
	}
	return kind
}

// knownTypes are the types that a result may have: those of the specification, and those of extensions that both sides
// have declared, the client with the request.
func knownTypes(t *T, m Message) []string {
	known := []string{"complete", "input_required"}
	client, _ := protocol.RequestMeta(m)[driver.MetaCapabilities].(M)
	if extensions, _ := client["extensions"].(M); extensions[tasksExtension] != nil &&
		t.Server.Extension(tasksExtension) != nil {
		known = append(known, "task")
	}
	return known
}
