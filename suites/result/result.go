// Package result holds the checks of what all results have in common in the modern revisions: resultType, and
// serverInfo in _meta.
//
// The checks watch the results of the run, except those that the server also returns for an unknown method.
package result

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/invalid"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// tasksExtension is the extension that defines the result type "task".
const tasksExtension = "io.modelcontextprotocol/tasks"

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.Suite{
	"result/type-present": check.WatchWithSetup(requestAll, func(t *check.T, w check.Wire) {
		t.Judge(meaningfulResults(t, w), func(t *check.T, m check.Message) {
			t.Expect(check.Member(protocol.ResultOf(m), "resultType")).To(check.BeString(), "resultType")
		})
	}),

	"result/type-complete": check.WatchWithSetup(requestAll, func(t *check.T, w check.Wire) {
		final := meaningfulResults(t, w).Filter("result of server/discover or a list", func(m check.Message) bool {
			return protocol.IsAlwaysComplete(m.Request.Method)
		})
		t.Judge(final, func(t *check.T, m check.Message) {
			kind := requireResultType(t, m)
			if !slices.Contains(knownTypes(t, m), kind) {
				t.Yield("%q is not a known type", kind)
			}
			if kind == "task" {
				t.Yield("only tools/call may begin a task")
			}
			t.Expect(kind).To(check.BeOneOf("complete"))
		})
	}),

	"result/type-known": check.WatchWithSetup(requestAll, func(t *check.T, w check.Wire) {
		t.Judge(meaningfulResults(t, w), func(t *check.T, m check.Message) {
			kind := requireResultType(t, m)
			if kind == "task" && m.Request.Method == "tools/call" && !slices.Contains(knownTypes(t, m), kind) {
				t.Yield("it is a task that nobody asked for")
			}
			t.Expect(kind).To(check.BeOneOf(knownTypes(t, m)...))
		})
	}),

	"result/server-info-on-results": check.WatchWithSetup(requestAll, func(t *check.T, w check.Wire) {
		others := meaningfulResults(t, w).Filter("result beside that of server/discover", func(m check.Message) bool {
			return m.Request.Method != "server/discover"
		})
		if !check.HasMember(protocol.MetaOf(t.Server.ConnectResult), driver.MetaServer) {
			t.Yield("server/discover does not name the server either")
		}
		t.Judge(others, func(t *check.T, m check.Message) {
			t.Expect(check.HasMember(protocol.MetaOf(protocol.ResultOf(m)), driver.MetaServer)).To(check.BeTrue(
				driver.MetaServer+" in _meta, as server/discover has it", "none in a result of %s", m.Request.Method))
		})
	}),

	"result/server-info-shape": check.WatchWithSetup(requestAll, func(t *check.T, w check.Wire) {
		t.Judge(resultsWithServerInfo(t, w), func(t *check.T, m check.Message) {
			meta := check.M{"_meta": protocol.MetaOf(protocol.ResultOf(m)), "resultType": "complete"}
			broken := protocol.Violations(t, "result/server-info-shape", "Result", meta)
			t.Expect(broken).To(check.BeEmptyList[string]("serverInfo with a name and a version"))
		})
	}),

	"result/server-info-stable": check.WatchWithSetup(requestAll, func(t *check.T, w check.Wire) {
		all := resultsWithServerInfo(t, w)
		if len(all.List) < 2 {
			t.Skip(check.NotObserved, "no two results name the server")
		}
		info := func(m check.Message) string {
			return string(text.CompactJSON(protocol.MetaOf(protocol.ResultOf(m))[driver.MetaServer]))
		}
		first := info(all.List[0])
		t.Judge(all, func(t *check.T, m check.Message) { t.Expect(info(m)).To(check.BeOneOf(first)) })
	}),
}

// requestAll sends the requests that every server answers with a result: server/discover, and the declared lists.
func requestAll(t *check.T) {
	check.TryNoOp(t, t.Session())
	protocol.AskLists(t)
}

// meaningfulResults returns the results of the run that differ from the result of an unknown method.
func meaningfulResults(t *check.T, w check.Wire) check.Messages {
	return check.MemoOf(t, w, "meaningful results", func() check.Messages {
		meaningless := invalid.SameAsUnknownMethod(w)
		return protocol.ModernResults(t, w).Filter("result",
			func(m check.Message) bool { return !meaningless(protocol.ResultOf(m)) })
	})
}

// resultsWithServerInfo returns the results that name the server.
func resultsWithServerInfo(t *check.T, w check.Wire) check.Messages {
	return meaningfulResults(t, w).Filter("result that names the server", func(m check.Message) bool {
		return check.HasMember(protocol.MetaOf(protocol.ResultOf(m)), driver.MetaServer)
	})
}

// requireResultType returns the resultType of a result; without one, it ends the check.
func requireResultType(t *check.T, m check.Message) string {
	kind, isString := protocol.ResultOf(m)["resultType"].(string)
	if !isString {
		t.Yield("there is no resultType")
	}
	return kind
}

// knownTypes returns the types that a result may have: those of the specification, and those of extensions that both
// sides have declared. The client declares them with each request.
func knownTypes(t *check.T, m check.Message) []string {
	known := []string{"complete", "input_required"}
	client, _ := protocol.RequestMeta(m)[driver.MetaCapabilities].(check.M)
	if extensions, _ := client["extensions"].(check.M); extensions[tasksExtension] != nil &&
		t.Server.Extension(tasksExtension) != nil {
		known = append(known, "task")
	}
	return known
}
