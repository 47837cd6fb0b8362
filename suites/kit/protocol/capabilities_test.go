package protocol

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

func TestWithCapabilities(t *testing.T) {
	const key = "io.modelcontextprotocol/clientCapabilities"
	client := ExtensionCapabilities("example.com/a", "example.com/b")
	want := M{"extensions": M{"example.com/a": M{}, "example.com/b": M{}}}
	tests := map[string]struct{ params, want M }{
		"no params": {nil, M{"_meta": M{key: want}}},
		"params":    {M{"name": "n"}, M{"name": "n", "_meta": M{key: want}}},
		"with _meta": {
			M{"_meta": M{"progressToken": "t", key: M{"roots": M{}}}}, M{"_meta": M{"progressToken": "t", key: want}},
		},
	}
	for name, tt := range tests {
		before := string(CompactJSON(tt.params))
		if diff := cmp.Diff(tt.want, WithCapabilities(tt.params, client)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if after := string(CompactJSON(tt.params)); after != before {
			t.Errorf("%s: the params have changed to %s", name, after)
		}
	}
}
