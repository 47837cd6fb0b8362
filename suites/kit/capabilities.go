package kit

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
