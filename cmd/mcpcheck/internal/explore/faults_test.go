package explore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/fixtures/proof"
)

type m = map[string]any

// matcher matches a request with its response.
type matcher = func(req, reply m) bool

// is matches requests of a method.
func is(method string) matcher { return func(req, _ m) bool { return req["method"] == method } }

// param returns a member of the params of a request; nil when there is none.
func param(req m, name string) any {
	params, _ := req["params"].(m)
	return params[name]
}

// both matches what two matchers match.
func both(a, b matcher) matcher {
	return func(req, reply m) bool { return a(req, reply) && b(req, reply) }
}

// isFailing matches errors.
func isFailing(_, reply m) bool { return reply["error"] != nil }

// isAny matches everything.
func isAny(_, _ m) bool { return true }

// withParam matches requests with a member of params.
func withParam(name string) matcher { return func(req, _ m) bool { return param(req, name) != nil } }

// withMeta matches requests with a member of _meta.
func withMeta(name string) matcher {
	return func(req, _ m) bool {
		meta, _ := param(req, "_meta").(m)
		return meta[name] != nil
	}
}

// oldVersion makes a response break jsonrpc/version-field.
func oldVersion(reply m) { reply["jsonrpc"] = "1.0" }

// replyHook is the hook Reply of a fault.
type replyHook = func(c *fixtures.Conn, req, reply m)

// after spoils what matches then, once what matches first was answered in the session.
func after(first, then matcher) replyHook {
	return func(c *fixtures.Conn, req, reply m) {
		if then(req, reply) && c.Count("explored") > 0 {
			oldVersion(reply)
		}
		if first(req, reply) {
			c.Increment("explored")
		}
	}
}

// between spoils what matches then, after what matches first and before what matches last.
func between(first, last, then matcher) replyHook {
	return func(c *fixtures.Conn, req, reply m) {
		begun, ended := c.Count("begun"), c.Count("ended")
		if begun > ended && then(req, reply) {
			oldVersion(reply)
		}
		switch {
		case first(req, reply) && begun == ended:
			c.Increment("begun")
		case last(req, reply) && begun > ended:
			c.Increment("ended")
		}
	}
}

// nth spoils the nth response in a session that matches.
func nth(n int, then matcher) replyHook {
	return func(c *fixtures.Conn, req, reply m) {
		if then(req, reply) && c.Increment("explored") == n {
			oldVersion(reply)
		}
	}
}

// onlyIf spoils what matches.
func onlyIf(then matcher) replyHook {
	return func(_ *fixtures.Conn, req, reply m) {
		if then(req, reply) {
			oldVersion(reply)
		}
	}
}

// idIs matches requests by the text of their ids.
func idIs(fits func(id string) bool) matcher {
	return func(req, _ m) bool {
		text, err := json.Marshal(req["id"])
		return err == nil && fits(string(text))
	}
}

// onIDs changes the ids of responses.
func onIDs(change func(id any) any) replyHook {
	return func(_ *fixtures.Conn, _, reply m) {
		if reply["id"] != nil {
			reply["id"] = change(reply["id"])
		}
	}
}

// sameTool spoils a call of the tool that was called before.
func sameTool(c *fixtures.Conn, req, reply m) {
	if name := param(req, "name"); req["method"] == "tools/call" && c.Increment(fmt.Sprint("tool ", name)) == 2 {
		oldVersion(reply)
	}
}

// secondSession spoils responses while there is another session.
func secondSession(c *fixtures.Conn, req, reply m) {
	if req["method"] != "initialize" && len(c.OtherSessions()) > 0 {
		oldVersion(reply)
	}
}

// hasForeignText matches calls with a text that mcpcheck has not made up.
func hasForeignText(req, _ m) bool {
	arguments, _ := param(req, "arguments").(m)
	text, isText := arguments["text"].(string)
	return isText && !strings.Contains(text, "mcpcheck")
}

// onLines spoils what is answered once lines that fit were received a number of times.
func onLines(fits func(line []byte) bool, times int) fixtures.Fault {
	return fixtures.Fault{
		Receive: func(c *fixtures.Conn, line []byte) []byte {
			if fits(line) {
				c.Increment("received")
			}
			return line
		},
		Reply: func(c *fixtures.Conn, req, reply m) {
			if c.Count("received") >= times && req["method"] != "tools/call" {
				oldVersion(reply)
			}
		},
	}
}

// handshakeFault spoils the lists of tools and the calls of a session whose initialize has a form.
func handshakeFault(name string, fits func(line []byte) bool) sequenceFault {
	return sequenceFault{name: name, setting: stdioLegacy, fault: fixtures.Fault{
		Receive: func(c *fixtures.Conn, line []byte) []byte {
			if bytes.Contains(line, []byte(`"initialize"`)) && fits(line) {
				c.Increment("explored")
			}
			return line
		},
		Reply: func(c *fixtures.Conn, req, reply m) {
			if (req["method"] == "tools/list" || req["method"] == "tools/call") && c.Count("explored") > 0 {
				oldVersion(reply)
			}
		},
	}}
}

// earlyPing spoils what is answered after a ping before the end of the handshake.
func earlyPing() fixtures.Fault {
	return fixtures.Fault{
		Receive: func(c *fixtures.Conn, line []byte) []byte {
			if bytes.Contains(line, []byte(`"notifications/initialized"`)) {
				c.Increment("initialized")
			}
			return line
		},
		Reply: func(c *fixtures.Conn, req, reply m) {
			switch {
			case req["method"] == "ping" && c.Count("initialized") == 0:
				c.Increment("explored")
			case c.Count("explored") > 0:
				oldVersion(reply)
			}
		},
	}
}

// otherRevision spoils the lists of all sessions after one of the oldest revision.
func otherRevision() fixtures.Fault {
	var before atomic.Bool
	return fixtures.Fault{Reply: func(_ *fixtures.Conn, req, reply m) {
		switch {
		case req["method"] == "initialize" && param(req, "protocolVersion") == "2024-11-05":
			before.Store(true)
		case req["method"] == "tools/list" && before.Load():
			oldVersion(reply)
		}
	}}
}

// completesTemplate matches completions of the variables of a URI template.
func completesTemplate(req, _ m) bool {
	ref, _ := param(req, "ref").(m)
	return req["method"] == "completion/complete" && ref["type"] == "ref/resource"
}

// isLine fits lines that contain all texts.
func isLine(texts ...string) func([]byte) bool {
	return func(line []byte) bool {
		return !slices.ContainsFunc(texts, func(s string) bool { return !bytes.Contains(line, []byte(s)) })
	}
}

// hasMethodLast fits lines whose member method comes after params.
func hasMethodLast(line []byte) bool {
	params := bytes.Index(line, []byte(`"params"`))
	return params >= 0 && params < bytes.Index(line, []byte(`"method"`))
}

// overtaken spoils the response to a request during which another one was received.
func overtaken() fixtures.Fault {
	return fixtures.Fault{
		Receive: func(c *fixtures.Conn, line []byte) []byte {
			if bytes.Contains(line, []byte(`"id"`)) && bytes.Contains(line, []byte(`"method"`)) {
				c.Increment("received")
			}
			return line
		},
		Reply: func(c *fixtures.Conn, _, reply m) {
			if answered := c.Increment("answered"); c.Count("received") > answered {
				oldVersion(reply)
			}
		},
	}
}

// These are settings of faults.
var (
	stdioLegacy = proof.Deployments[0].WithRevision("2025-11-25")
	stdioModern = proof.Deployments[0].WithRevision("2026-07-28")
	httpLegacy  = proof.Deployments[1].WithRevision("2025-06-18")
	httpModern  = proof.Deployments[1].WithRevision("2026-07-28")
	httpTasks   = proof.Deployments[1].WithRevision("2025-11-25")
	sse         = proof.Deployments[5].WithRevision("2025-03-26")
)

// sequenceFault is a fault that shows only in some sequences.
type sequenceFault struct {
	name    string
	setting proof.Setting
	fault   fixtures.Fault
	// check is the id of the requirement that fails; empty is jsonrpc/version-field.
	check string
}

// reply is a fault of one hook.
func reply(name string, s proof.Setting, hook replyHook) sequenceFault {
	return sequenceFault{name: name, setting: s, fault: fixtures.Fault{Reply: hook}}
}

// ofID is a fault of the ids of responses.
func ofID(name string, s proof.Setting, change func(id any) any) sequenceFault {
	return sequenceFault{
		name: name, setting: s, fault: fixtures.Fault{Reply: onIDs(change)}, check: "jsonrpc/response-id-echo-string",
	}
}

// sequenceFaults are faults that no message shows by itself.
var sequenceFaults = []sequenceFault{
	reply("second page", stdioLegacy, onlyIf(both(is("tools/list"), withParam("cursor")))),
	reply("second page without a handshake", httpModern, onlyIf(both(is("tools/list"), withParam("cursor")))),
	reply("after an error", httpLegacy, after(isFailing, is("tools/list"))),
	reply("after an error, without a handshake", stdioModern, after(isFailing, is("server/discover"))),
	reply("error after an error", stdioLegacy, after(isFailing, isFailing)),
	reply("after ping", stdioLegacy, after(is("ping"), is("tools/list"))),
	reply("ping after a call", httpLegacy, after(is("tools/call"), is("ping"))),
	reply("second ping", stdioLegacy, nth(2, is("ping"))),
	reply("third list", httpLegacy, nth(3, is("tools/list"))),
	reply("fifth request", stdioModern, nth(6, isAny)),
	reply("read after subscribe", stdioLegacy, after(is("resources/subscribe"), is("resources/read"))),
	reply("list between two subscriptions", stdioLegacy,
		between(is("resources/subscribe"), is("resources/subscribe"), is("resources/list"))),
	reply("read while subscribed", httpLegacy,
		between(is("resources/subscribe"), is("resources/unsubscribe"), is("resources/read"))),
	reply("unsubscribe before subscribe", stdioLegacy, func(c *fixtures.Conn, req, reply m) {
		if req["method"] == "resources/subscribe" {
			c.Increment("explored")
		}
		if req["method"] == "resources/unsubscribe" && c.Count("explored") == 0 {
			oldVersion(reply)
		}
	}),
	reply("call after a level", httpLegacy, after(is("logging/setLevel"), is("tools/call"))),
	reply("second level", stdioLegacy, nth(2, is("logging/setLevel"))),
	reply("prompt after a resource", stdioModern, after(is("resources/read"), is("prompts/get"))),
	reply("second completion", stdioModern, nth(2, is("completion/complete"))),
	reply("completion after a failing prompt", stdioLegacy,
		after(both(is("prompts/get"), isFailing), is("completion/complete"))),
	reply("_meta of the third call", stdioLegacy, func(c *fixtures.Conn, req, reply m) {
		if req["method"] == "tools/call" && c.Increment("explored") >= 3 && param(req, "_meta") != nil {
			oldVersion(reply)
		}
	}),
	reply("trace context of a list", stdioModern, onlyIf(both(is("resources/list"), withMeta("traceparent")))),
	reply("token of a ping", stdioLegacy, onlyIf(both(is("ping"), withMeta("progressToken")))),
	{name: "empty params", setting: stdioLegacy, fault: onLines(isLine(`"prompts/list"`, `"params":{}`), 1)},
	{name: "empty params twice", setting: stdioLegacy, fault: onLines(isLine(`"params":{}`), 2)},
	reply("negative id", stdioModern, onlyIf(idIs(func(id string) bool { return strings.HasPrefix(id, "-") }))),
	reply("zero after an error", stdioLegacy, after(isFailing, idIs(func(id string) bool { return id == "0" }))),
	reply("long id of a read", httpModern,
		onlyIf(both(is("resources/read"), idIs(func(id string) bool { return len(id) > 100 })))),
	reply("second session", httpLegacy, secondSession),
	reply("same tool again", stdioModern, sameTool),
	reply("value of an earlier result", stdioLegacy, onlyIf(both(is("tools/call"), hasForeignText))),
	ofID("case of a text", stdioLegacy, func(id any) any {
		if s, isText := id.(string); isText {
			return strings.ToLower(s)
		}
		return id
	}),
	ofID("text cut", httpLegacy, func(id any) any {
		if s, isText := id.(string); isText && len(s) > 64 {
			return s[:64]
		}
		return id
	}),
	{name: "method last", setting: stdioLegacy, fault: onLines(hasMethodLast, 1)},
	{name: "after a cancellation", setting: stdioLegacy, fault: onLines(isLine("notifications/cancelled"), 1)},
	{name: "overtaken", setting: stdioLegacy, fault: overtaken()},
	reply("state of a cancelled task", stdioLegacy, after(is("tasks/cancel"), is("tasks/get"))),
	reply("second result of a task", stdioLegacy, nth(2, is("tasks/result"))),
	reply("state of a task after its result", httpTasks, after(is("tasks/result"), is("tasks/get"))),
	reply("list after a task", stdioLegacy, after(both(is("tools/call"), withParam("task")), is("tools/list"))),
	reply("call with input", stdioModern, onlyIf(both(is("tools/call"), withParam("inputResponses")))),
	reply("prompt after input", httpModern, onlyIf(both(is("prompts/get"), withParam("inputResponses")))),
	reply("template completed after a read", stdioLegacy, after(is("resources/read"), completesTemplate)),
	reply("template completed twice", stdioModern, nth(2, completesTemplate)),
	handshakeFault("_meta of initialize", isLine(`"_meta"`)),
	handshakeFault("experimental capability", isLine(`"experimental"`)),
	handshakeFault("method of initialize last", hasMethodLast),
	{name: "ping during the handshake", setting: stdioLegacy, fault: earlyPing()},
	{name: "earlier session of another revision", setting: httpLegacy, fault: otherRevision()},
	reply("read after a prompt over HTTP+SSE", sse, after(is("prompts/get"), is("resources/read"))),
	reply("second session over HTTP+SSE", sse, secondSession),
}

// refusalFaults refuse, leave unanswered or answer wrongly what a server serves otherwise.
var refusalFaults = []sequenceFault{
	other("trace context refused", stdioLegacy, "schema/request-meta-tolerated",
		both(is("prompts/list"), withMeta("traceparent")), refuse),
	other("text refused as id", stdioModern, "jsonrpc/response-id-echo-string",
		idIs(func(id string) bool { return strings.HasPrefix(id, `"7d4b`) }), refuse),
	other("unicode refused as id", httpLegacy, "jsonrpc/response-id-unicode",
		idIs(func(id string) bool { return strings.Contains(id, "é") }), refuse),
	other("large number refused as id", stdioLegacy, "jsonrpc/response-id-echo-integer",
		idIs(func(id string) bool { return len(id) > 15 && !strings.HasPrefix(id, `"`) }), refuse),
	other("text without response", stdioLegacy, "jsonrpc/every-request-answered",
		idIs(func(id string) bool { return id == `"null"` }), func(reply m) { clear(reply) }),
	other("page without schemas", stdioLegacy, "tools/input-schema-object",
		both(is("tools/list"), withParam("cursor")), func(reply m) {
			tools, _ := resultOf(reply)["tools"].([]any)
			for _, tool := range tools {
				delete(tool.(m), "inputSchema")
			}
		}),
	other("output with a token", stdioModern, "tools/structured-content-conforms",
		both(is("tools/call"), withMeta("progressToken")), func(reply m) {
			if result := resultOf(reply); result["structuredContent"] != nil {
				result["structuredContent"] = m{"mcpcheck": true}
			}
		}),
	{name: "list refused after an error", setting: stdioLegacy, check: "robust/repeatable-session",
		fault: fixtures.Fault{Reply: refuseAfter(isFailing, is("tools/list"))}},
	{name: "list refused after a completion", setting: stdioModern, check: "stateless/list-same-across-connections",
		fault: fixtures.Fault{Reply: refuseAfter(is("completion/complete"), is("prompts/list"))}},
	{name: "exit at the second read", setting: stdioLegacy, check: "jsonrpc/every-request-answered",
		fault: fixtures.Fault{Reply: func(c *fixtures.Conn, req, _ m) {
			if req["method"] == "resources/read" && c.Increment("explored") == 2 {
				c.Exit(1)
			}
		}}},
	{name: "second response", setting: httpLegacy, check: "jsonrpc/single-response-per-request",
		fault: fixtures.Fault{Reply: func(c *fixtures.Conn, req, reply m) {
			if req["method"] == "ping" && c.Increment("explored") == 2 {
				c.OpenStream()
				c.Write(reply)
			}
		}}},
}

// other is a fault that changes what matches.
func other(name string, s proof.Setting, check string, matches matcher, change func(reply m)) sequenceFault {
	return sequenceFault{name: name, setting: s, check: check, fault: fixtures.Fault{
		Reply: func(_ *fixtures.Conn, req, reply m) {
			if matches(req, reply) {
				change(reply)
			}
		},
	}}
}

// resultOf returns the result of a response.
func resultOf(reply m) m { result, _ := reply["result"].(m); return result }

// refuse makes a response an error.
func refuse(reply m) {
	delete(reply, "result")
	reply["error"] = m{"code": -32600, "message": "Invalid request"}
}

// refuseAfter refuses what matches then, once what matches first was answered in the session.
func refuseAfter(first, then matcher) replyHook {
	return func(c *fixtures.Conn, req, reply m) {
		if first(req, reply) {
			c.Increment("explored")
		}
		if then(req, reply) && c.Count("explored") > 0 {
			refuse(reply)
		}
	}
}

// These bound how long a fault may take to be found, and the script that shows it.
const (
	foundWithin = 150
	maxSteps    = 6
)

// TestSequenceFaults proves that faults which only a sequence shows are found, and shrunk to a short script: one of
// three of them, and all with -whole.
func TestSequenceFaults(t *testing.T) {
	for i, f := range slices.Concat(sequenceFaults, refusalFaults) {
		if i%3 != 0 && !*proof.ProveAll {
			continue
		}
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			id := f.check
			if id == "" {
				id = "jsonrpc/version-field"
			}
			found := exploreFixture(t, f.setting, f.fault, Options{Sequences: foundWithin, Seed: 3, StopAt: id})
			script, is := found.scripts[id]
			switch {
			case !is:
				t.Errorf("%s did not fail in %d sequences; %v did", id, found.Sequences, found.failing())
			case len(script.Steps) > maxSteps:
				t.Errorf("%s has a script of %d steps:\n%s", id, len(script.Steps), strings.Join(script.Wire, "\n"))
			default:
				t.Logf("found in %d sequences, %d steps", found.Sequences, len(script.Steps))
			}
		})
	}
}
