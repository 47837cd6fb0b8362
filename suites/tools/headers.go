package tools

import (
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// headerChecks are the checks of x-mcp-header in the schemas of tools.
var headerChecks = check.Suite{
	"tools/x-mcp-header-name": check.Probe(func(t *check.T) { expectHeaders(t, schemas.HeaderName) }),

	"tools/x-mcp-header-unique": check.Probe(func(t *check.T) { expectHeaders(t, schemas.HeaderUnique) }),

	"tools/x-mcp-header-primitive": check.Probe(func(t *check.T) { expectHeaders(t, schemas.HeaderType) }),

	"tools/x-mcp-header-static-path": check.Probe(func(t *check.T) { expectHeaders(t, schemas.HeaderPlace) }),

	"tools/x-mcp-header-integer-range": check.Probe(func(t *check.T) { expectHeaders(t, schemas.HeaderRange) }),

	"tools/x-mcp-header-sensitive": check.Probe(func(t *check.T) {
		eachMarked(t, func(t *check.T, headers []schemas.ParamHeader, _ []schemas.HeaderViolation) {
			var secret, arguable []string
			for _, h := range headers {
				argument := h.Path[len(h.Path)-1]
				shown := "the argument /" + strings.Join(h.Path, "/") + " in Mcp-Param-" + h.Name
				switch {
				case secretNamePattern.MatchString(argument) || secretNamePattern.MatchString(h.Name):
					secret = append(secret, shown)
				case secretWordPattern.MatchString(argument) || secretWordPattern.MatchString(h.Name):
					arguable = append(arguable, shown)
				}
			}
			t.Expect(secret).To(check.BeEmptyList[string]("no secret in a header"))
			t.ExpectAdvice(arguable).To(check.BeEmptyList[string]("no name with such a word in a header"))
		})
	}),
}

// secretNamePattern matches names that are hardly ever given to public values. A name that only has such a word in it
// may be that of a public one, as secret_name.
var (
	secretNamePattern = regexp.MustCompile(
		`(?i)(password|passwd|secret|api[-_]?key|credentials?|(^|access|auth|bearer|refresh)[-_]?token|^ssn)$`,
	)
	secretWordPattern = regexp.MustCompile(`(?i)password|passwd|secret|api[-_]?key|credential`)
)

// expectHeaders requires the arguments with x-mcp-header to follow a rule. A violation of an ambiguous rule is a lesser
// deviation.
func expectHeaders(t *check.T, rule schemas.HeaderRule) {
	eachMarked(t, func(t *check.T, _ []schemas.ParamHeader, faults []schemas.HeaderViolation) {
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
		t.Expect(broken).To(check.BeEmptyList[string]("x-mcp-header as clients take it"))
		t.ExpectShould(arguable).To(check.BeEmptyList[string]("x-mcp-header as all clients take it"))
	})
}

// eachMarked runs a check on the tools with x-mcp-header.
func eachMarked(t *check.T, run func(t *check.T, headers []schemas.ParamHeader, faults []schemas.HeaderViolation)) {
	eachTool(t, func(t *check.T, tool check.M) {
		headers, faults := schemas.ParamHeaders(tool["inputSchema"])
		if len(headers)+len(faults) == 0 {
			t.Skip(check.NotOffered, "no tool marks an argument with "+schemas.HeaderKeyword)
		}
		run(t, headers, faults)
	})
}
