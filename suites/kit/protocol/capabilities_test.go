package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

func TestWithCapabilities(t *testing.T) {
	const key = "io.modelcontextprotocol/clientCapabilities"
	client := ExtensionCapabilities("example.com/a", "example.com/b")
	want := check.M{"extensions": check.M{"example.com/a": check.M{}, "example.com/b": check.M{}}}
	tests := map[string]struct{ params, want check.M }{
		"no params": {nil, check.M{"_meta": check.M{key: want}}},
		"params":    {check.M{"name": "n"}, check.M{"name": "n", "_meta": check.M{key: want}}},
		"with _meta": {
			check.M{"_meta": check.M{"progressToken": "t", key: check.M{"roots": check.M{}}}},
			check.M{"_meta": check.M{"progressToken": "t", key: want}},
		},
	}
	for name, tt := range tests {
		before := string(text.CompactJSON(tt.params))
		if diff := cmp.Diff(tt.want, WithCapabilities(tt.params, client)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if after := string(text.CompactJSON(tt.params)); after != before {
			t.Errorf("%s: the params have changed to %s", name, after)
		}
	}
}
