package protocol

import (
	"maps"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// WithCapabilities returns params for a request whose client has these capabilities and no others. In modern revisions
// each request declares them; a whole session declares them in the params of driver.Session.Connect.
func WithCapabilities(params, capabilities check.M) check.M {
	declaring, meta := check.M{}, check.M{}
	maps.Copy(declaring, params)
	given, _ := params["_meta"].(check.M)
	maps.Copy(meta, given)
	meta[driver.MetaCapabilities] = capabilities
	declaring["_meta"] = meta
	return declaring
}

// ExtensionCapabilities are the capabilities of a client that supports these extensions, without settings, and nothing
// else.
func ExtensionCapabilities(extensions ...string) check.M {
	declared := check.M{}
	for _, extension := range extensions {
		declared[extension] = check.M{}
	}
	return check.M{"extensions": declared}
}

// UnpublishedVersions are versions that were never published: one between two published ones, and one later than all of
// them.
var UnpublishedVersions = []string{"2025-05-05", "2099-12-31"}

// AllCapabilities are the capabilities of a client that supports every server request of a revision, and whose roots
// may change.
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

// AllModernCapabilities are the capabilities of a client that answers every kind of input request of a modern revision.
var AllModernCapabilities = check.M{
	"elicitation": check.M{"form": check.M{}, "url": check.M{}},
	"sampling":    check.M{"tools": check.M{}, "context": check.M{}}, "roots": check.M{},
}

// TaskCapabilities are AllCapabilities of a client that also runs its sampling and elicitation as tasks. Its sampling
// has no optional parts.
func TaskCapabilities(revision string) check.M {
	capabilities := maps.Clone(AllCapabilities(revision))
	capabilities["sampling"] = check.M{}
	capabilities["tasks"] = check.M{"list": check.M{}, "cancel": check.M{}, "requests": check.M{
		"sampling": check.M{"createMessage": check.M{}}, "elicitation": check.M{"create": check.M{}},
	}}
	return capabilities
}
