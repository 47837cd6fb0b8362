package protocol

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// WithCapabilities are params of a request whose client has these capabilities, and no others. In the modern era each
// request says so for itself; where a whole session is to say so, its greeting does: driver.Session.Greet.
func WithCapabilities(params, capabilities check.M) check.M {
	declaring, meta := check.M{}, check.M{}
	maps.Copy(declaring, params)
	given, _ := params["_meta"].(check.M)
	maps.Copy(meta, given)
	meta[driver.MetaCapabilities] = capabilities
	declaring["_meta"] = meta
	return declaring
}

// ExtensionCapabilities are the capabilities of a client that knows extensions, without settings, and has nothing else.
func ExtensionCapabilities(extensions ...string) check.M {
	declared := check.M{}
	for _, extension := range extensions {
		declared[extension] = check.M{}
	}
	return check.M{"extensions": declared}
}

// UnpublishedVersions are versions that were never published: one between two that were, and one that is later than
// any.
var UnpublishedVersions = []string{"2025-05-05", "2099-12-31"}

// AllCapabilities is what a client of a revision declares that a server may ask for all there is, and whose roots may
// change.
func AllCapabilities(revision string) check.M {
	roots := check.M{"listChanged": true}
	switch {
	case catalogue.IsModern(revision):
		return AllModernCapabilities
	case revision >= "2025-11-25":
		return check.M{
			"elicitation": check.M{"form": check.M{}, "url": check.M{}},
			"sampling":    check.M{"tools": check.M{}, "context": check.M{}}, "roots": roots,
		}
	case revision >= "2025-06-18":
		return check.M{"elicitation": check.M{}, "sampling": check.M{}, "roots": roots}
	}
	return check.M{"sampling": check.M{}, "roots": roots}
}

// AllModernCapabilities is what a client declares that a server may ask for all there is, in a revision without server
// requests.
var AllModernCapabilities = check.M{
	"elicitation": check.M{"form": check.M{}, "url": check.M{}}, "sampling": check.M{"tools": check.M{}},
	"roots": check.M{},
}

// TaskCapabilities is what such a client declares that samples, and can do no more with that.
func TaskCapabilities(revision string) check.M {
	capabilities := maps.Clone(AllCapabilities(revision))
	capabilities["sampling"] = check.M{}
	capabilities["tasks"] = check.M{"list": check.M{}, "cancel": check.M{}, "requests": check.M{
		"sampling": check.M{"createMessage": check.M{}}, "elicitation": check.M{"create": check.M{}},
	}}
	return capabilities
}
