package jsonrpc

import (
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// askWithEdgeCases requests each list, and then what has ended servers that serve everything usual: values to complete
// that are long, or special in patterns and in percent-encoding, and expansions of templates with an empty value. All
// of it is well-formed, and a server may refuse it.
func askWithEdgeCases(t *check.T) {
	protocol.AskLists(t)
	if t.IsQuick() || t.Server.IsSlow() {
		return
	}
	if t.Server.Declares("completions") {
		for _, argument := range firstOf(toolcall.CompletionArguments(t)) {
			askEdgeCase(t, "completion/complete", argument.Params(`mcpcheck%([*+?{\`))
			askEdgeCase(t, "completion/complete", argument.Params(strings.Repeat("mcpcheck", 256)))
		}
	}
	for _, template := range firstOf(toolcall.Templates(t)) {
		for _, variable := range firstOf(template.Varnames()) {
			if uri, ok := expandEmpty(template, variable); ok {
				askEdgeCase(t, "resources/read", toolcall.WithAllCapabilities(t, check.M{"uri": uri}))
			}
		}
	}
}

// firstOf returns the first items of a list, as many as are tried.
func firstOf[V any](all []V) []V { return all[:min(len(all), 10)] }

// askEdgeCase sends a request that may be refused, but has to be answered.
func askEdgeCase(t *check.T, method string, params check.M) {
	if check.KnownUnanswered(t, method) == nil {
		t.Send(t.Session(), method, params, check.AllowSilence)
	}
}

// expandEmpty expands a template with an empty value for a variable, and values that hardly exist for the others.
func expandEmpty(template *uritemplate.Template, variable string) (uri string, ok bool) {
	values := map[string]string{}
	for _, name := range template.Varnames() {
		values[name] = "mcpcheck-nonexistent"
	}
	values[variable] = ""
	uri, err := toolcall.ExpandTemplate(template, values)
	return uri, err == nil
}
