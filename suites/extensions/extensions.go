// Package extensions is the area of extensions, as they are negotiated.
package extensions

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

// Checks are those of the area.
var Checks = Suite{
	"extensions/fallback": Probe(func(t *T) {
		extensions := declared(t)
		s := t.Session()
		served := false
		for _, method := range append([]string{"server/discover"}, kit.ListsOf(t.Server.Capabilities)...) {
			extended := kit.Asking(t, s, method, kit.Declaring(nil, kit.Extending(extensions...)))
			usual := extended()
			if usual.Result() == nil {
				continue // what is wrong with it, its own area says
			}
			served = true
			plain := kit.Asking(t, s, method, kit.Declaring(nil, M{}))
			r, _ := kit.Compare(t, kit.BothServed, usual, extended, plain)
			t.Expect(r.Result() != nil || names(r, extensions)).To(Hold("a result of "+method+
				" for a client without extensions, or error -32021 that names one", "%s", r))
		}
		if !served {
			t.Inconclusive("no request is served with the extensions either")
		}
	}),
}

// declared are the extensions that the server declares.
func declared(t *T) []string {
	extensions, _ := t.Server.Capabilities["extensions"].(M)
	if len(extensions) == 0 {
		t.Because(NotDeclared).Skip("the server declares no extension")
	}
	return slices.Sorted(maps.Keys(extensions))
}

// names reports whether an answer says that the client lacks one of some extensions.
func names(r driver.Reply, extensions []string) bool {
	const missingCapability = -32021
	code, _ := r.Code()
	data, _ := r.Error()["data"].(M)
	required, _ := data["requiredCapabilities"].(M)
	lacks, _ := required["extensions"].(M)
	named := func(extension string) bool { return Has(lacks, extension) }
	return code == missingCapability && slices.ContainsFunc(extensions, named)
}
