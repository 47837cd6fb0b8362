package explore

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// JudgeOwned returns the results of the requirements that results in recorded sessions violate, although only probes
// try them: a member of such a result is invalid by the schema of its message. judged are the results of the watches.
func JudgeOwned(
	server *check.Server, plan []engine.Case, sessions []*driver.Session, judged []report.Result, o engine.Options,
) []report.Result {
	return judgeFound(server, plan, sessions, invalidResults(server.Revision, sessions), judged, o)
}

// invalidResults returns the results in sessions that violate the schema of their message, each for the requirement
// that reports it. The watches leave to probes, which send requests of their own, what these report.
func invalidResults(revision string, sessions []*driver.Session) (found []deviation) {
	for _, m := range (check.Wire{Sessions: sessions}).Results().Negotiated(revision).List {
		result, isObject := m.JSON()["result"].(check.M)
		if m.Request == nil || !isObject {
			continue
		}
		definition, known := resultDefinition(revision, m.Request, result)
		if !known {
			continue
		}
		for _, v := range schemas.ValidateMessage(revision, definition, result) {
			found = append(found, deviation{
				protocol.OwnerOf(v, revision), m.Subject(), "a valid " + definition, v.String(),
			})
		}
	}
	return found
}

// resultDefinition returns the definition of a result in the schema of the revision.
func resultDefinition(revision string, request *driver.Frame, result check.M) (definition string, known bool) {
	if catalogue.IsModern(revision) {
		return schemas.ResultTypeDefinition(revision, request.Method, toolcall.ResultType(result))
	}
	params, _ := request.JSON()["params"].(check.M)
	if definition, known = schemas.ResultDefinition(revision, request.Method); params["task"] != nil &&
		result["task"] != nil && definition == "CallToolResult" && revision == catalogue.NewestLegacy {
		definition = "CreateTaskResult"
	}
	return definition, known
}

// invalidOutputs returns the results of calls in a play that violate the outputSchema of their tool.
func (x *explorer) invalidOutputs(p *play) (found []deviation) {
	for _, step := range p.steps {
		if q := p.sent[step.Number]; q != nil && q.reply.Result() != nil {
			if d, is := x.invalidOutput(p, q); is {
				found = append(found, d)
			}
		}
	}
	return found
}

// invalidOutput returns how the structured content of a call violates the outputSchema of its tool, unless that may
// have changed.
func (x *explorer) invalidOutput(p *play, q *sentRequest) (d deviation, is bool) {
	name, _ := q.params["name"].(string)
	tool, result := x.tools[name], q.reply.Result()
	if q.step.Method != "tools/call" || tool == nil || tool.output == nil || result["isError"] == true ||
		x.isModern() && toolcall.ResultType(result) != "complete" || result["task"] != nil || p.haveToolsChanged() {
		return d, false
	}
	content, has := result["structuredContent"]
	if !has {
		const want = "structuredContent, since the tool declares outputSchema"
		return deviation{"tools/structured-content-present", q.reply, want, "none"}, true
	}
	if _, isObject := content.(check.M); !isObject && !x.isModern() {
		return d, false
	}
	var limit *schemas.LimitError
	if err := tool.output.Validate(content); err != nil && !errors.As(err, &limit) {
		const want = "structuredContent that satisfies the outputSchema"
		return deviation{"tools/structured-content-conforms", q.reply, want, err.Error()}, true
	}
	return d, false
}

// haveToolsChanged reports whether the server has said that its tools have changed.
func (p *play) haveToolsChanged() bool {
	changes := func(m check.Message) bool { return m.Method == "notifications/tools/list_changed" }
	return slices.ContainsFunc(check.Wire{Sessions: p.pool.Sessions()}.Notifications().List, changes)
}
