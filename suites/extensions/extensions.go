// Package extensions holds the checks of the negotiation of extensions. What an extension defines belongs to an area of
// its own, such as apps or tasks-ext.
package extensions

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/errcode"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
)

// Checks holds the checks of the area by the ids of their entries.
var Checks = check.Suite{
	"extensions/fallback": check.Probe(func(t *check.T) {
		extensions := declaredExtensions(t)
		s := t.Session()
		served := false
		for _, method := range append([]string{"server/discover"}, protocol.ListMethods(t.Server.Capabilities)...) {
			extended := protocol.AskFunc(t, s, method,
				protocol.WithCapabilities(nil, protocol.ExtensionCapabilities(extensions...)))
			usual := extended()
			if usual.Result() == nil {
				continue // the area of the extension reports it
			}
			served = true
			plain := protocol.AskFunc(t, s, method, protocol.WithCapabilities(nil, check.M{}))
			r, _ := protocol.Compare(t, protocol.SameSuccess, usual, extended, plain)
			t.Expect(r.Result() != nil || isMissingExtension(r, extensions)).To(check.BeTrue("a result of "+method+
				" for a client without extensions, or error -32021 that names one", "%s", r))
		}
		if !served {
			t.NoVerdict(check.Undecided, "no request is served with the extensions either")
		}
	}),
}

// declaredExtensions returns the extensions that the server declares.
func declaredExtensions(t *check.T) []string {
	extensions, _ := t.Server.Capabilities["extensions"].(check.M)
	if len(extensions) == 0 {
		t.Skip(check.NotDeclared, "the server declares no extension")
	}
	return slices.Sorted(maps.Keys(extensions))
}

// isMissingExtension reports whether a reply says that the client lacks one of some extensions.
func isMissingExtension(r driver.Reply, extensions []string) bool {
	code, _ := r.Code()
	data, _ := r.Error()["data"].(check.M)
	required, _ := data["requiredCapabilities"].(check.M)
	lacks, _ := required["extensions"].(check.M)
	named := func(extension string) bool { return check.HasMember(lacks, extension) }
	return code == errcode.MissingRequiredClientCapability && slices.ContainsFunc(extensions, named)
}
