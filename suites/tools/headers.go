package tools

import (
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var headerChecks = Suite{
	"tools/x-mcp-header-name": Probe(func(t *T) { expectHeaders(t, schemas.HeaderName) }),

	"tools/x-mcp-header-unique": Probe(func(t *T) { expectHeaders(t, schemas.HeaderUnique) }),

	"tools/x-mcp-header-primitive": Probe(func(t *T) { expectHeaders(t, schemas.HeaderType) }),

	"tools/x-mcp-header-static-path": Probe(func(t *T) { expectHeaders(t, schemas.HeaderPlace) }),

	"tools/x-mcp-header-sensitive": Probe(func(t *T) {
		eachMarked(t, func(t *T, headers []schemas.ParamHeader, _ []schemas.HeaderViolation) {
			for _, h := range headers {
				argument := h.Path[len(h.Path)-1]
				isSecret := secretNamePattern.MatchString(argument) || secretNamePattern.MatchString(h.Name)
				t.Expect(!isSecret).To(BeTrue("no secret in a header", "the argument /%s in Mcp-Param-%s",
					strings.Join(h.Path, "/"), h.Name))
			}
		})
	}),
}

// secretNamePattern is a name that is hardly ever given to what everybody may see.
var secretNamePattern = regexp.MustCompile(
	`(?i)password|passwd|secret|api[-_]?key|credential|(^|access|auth|bearer|refresh)[-_]?token$|^ssn$`,
)

// expectHeaders wants what is marked with x-mcp-header to keep a rule. Where the rule can be read in two ways, breaking
// it is a lesser deviation.
func expectHeaders(t *T, rule schemas.HeaderRule) {
	eachMarked(t, func(t *T, _ []schemas.ParamHeader, faults []schemas.HeaderViolation) {
		var broken, arguable []string
		for _, f := range faults {
			switch {
			case f.Rule != rule:
			case f.Ambiguous:
				arguable = append(arguable, f.Path+": "+f.Text)
			default:
				broken = append(broken, f.Path+": "+f.Text)
			}
		}
		t.Expect(broken).To(BeEmptyList[string]("x-mcp-header as clients take it"))
		t.ExpectShould(arguable).To(BeEmptyList[string]("x-mcp-header as all clients take it"))
	})
}

// eachMarked tries a check on the tools that mark an argument with x-mcp-header.
func eachMarked(t *T, run func(t *T, headers []schemas.ParamHeader, faults []schemas.HeaderViolation)) {
	eachTool(t, func(t *T, tool M) {
		headers, faults := schemas.ParamHeaders(tool["inputSchema"])
		if len(headers)+len(faults) == 0 {
			t.WithReason(NotOffered).Skip("no tool marks an argument with " + schemas.HeaderKeyword)
		}
		run(t, headers, faults)
	})
}
