package reporters

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// What allows calls is proposed for tools that may not be called, and for no others.
func TestTheRemedyIsForToolsThatMayNotBeCalled(t *testing.T) {
	barred := harness.UncalledTool{Name: "grow", Why: "it is not marked read-only", Barred: true}
	mute := harness.UncalledTool{Name: "wait", Why: "no call was answered"}
	for _, tt := range []struct {
		tools []harness.UncalledTool
		want  bool
	}{
		{[]harness.UncalledTool{barred}, true},
		{[]harness.UncalledTool{mute}, false},
		{[]harness.UncalledTool{mute, barred}, true},
	} {
		_, lines := uncalledText([]harness.Coverage{{Uncalled: tt.tools}})
		if got := slices.Contains(lines, harness.CallsRemedy); got != tt.want {
			t.Errorf("%v: %q", tt.tools, lines)
		}
	}
}
