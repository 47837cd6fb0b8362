package explore

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// invalidResults returns the results of a play that violate the schema of their message in a place that a requirement
// of its own reports, or the outputSchema of their tool. The watches leave these to probes, which send requests of
// their own.
func (x *explorer) invalidResults(p *play) (found []deviation) {
	for _, step := range p.steps {
		q := p.sent[step.Number]
		if q == nil || q.reply.Result() == nil {
			continue
		}
		result := q.reply.Result()
		definition, known := x.resultDefinition(q.step.Method, result)
		if q.isTask() && result["task"] != nil {
			definition = "CreateTaskResult"
		}
		if !known {
			continue
		}
		for _, v := range schemas.ValidateMessage(x.server.Revision, definition, result) {
			found = append(found, deviation{
				protocol.OwnerOf(v, x.server.Revision), q.reply, "a valid " + definition, v.String(),
			})
		}
		if d, is := x.invalidOutput(p, q); is {
			found = append(found, d)
		}
	}
	return found
}

// resultDefinition returns the definition of a result in the schema of the revision.
func (x *explorer) resultDefinition(method string, result check.M) (definition string, known bool) {
	if !x.isModern() {
		return schemas.ResultDefinition(x.server.Revision, method)
	}
	return schemas.ResultTypeDefinition(x.server.Revision, method, toolcall.ResultType(result))
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
