package protocol

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

// WithCapabilities are params of a request whose client has these capabilities, and no others. In the modern era each
// request says so for itself; where a whole session is to say so, its greeting does: driver.Session.Greet.
func WithCapabilities(params, capabilities M) M {
	declaring, meta := M{}, M{}
	maps.Copy(declaring, params)
	given, _ := params["_meta"].(M)
	maps.Copy(meta, given)
	meta[driver.MetaCapabilities] = capabilities
	declaring["_meta"] = meta
	return declaring
}

// ExtensionCapabilities are the capabilities of a client that knows extensions, without settings, and has nothing else.
func ExtensionCapabilities(extensions ...string) M {
	declared := M{}
	for _, extension := range extensions {
		declared[extension] = M{}
	}
	return M{"extensions": declared}
}

// UnpublishedVersions are versions that were never published: one between two that were, and one that is later than
// any.
var UnpublishedVersions = []string{"2025-05-05", "2099-12-31"}

// AllCapabilities is what a client of a revision declares that a server may ask for all there is, and whose roots may
// change.
func AllCapabilities(revision string) M {
	roots := M{"listChanged": true}
	switch {
	case IsModern(revision):
		return AllModernCapabilities
	case revision >= "2025-11-25":
		return M{
			"elicitation": M{"form": M{}, "url": M{}}, "sampling": M{"tools": M{}, "context": M{}}, "roots": roots,
		}
	case revision >= "2025-06-18":
		return M{"elicitation": M{}, "sampling": M{}, "roots": roots}
	}
	return M{"sampling": M{}, "roots": roots}
}

// AllModernCapabilities is what a client declares that a server may ask for all there is, in a revision without server
// requests.
var AllModernCapabilities = M{
	"elicitation": M{"form": M{}, "url": M{}}, "sampling": M{"tools": M{}}, "roots": M{},
}

// TaskCapabilities is what such a client declares that samples, and can do no more with that.
func TaskCapabilities(revision string) M {
	capabilities := maps.Clone(AllCapabilities(revision))
	capabilities["sampling"] = M{}
	capabilities["tasks"] = M{"list": M{}, "cancel": M{}, "requests": M{
		"sampling": M{"createMessage": M{}}, "elicitation": M{"create": M{}},
	}}
	return capabilities
}
