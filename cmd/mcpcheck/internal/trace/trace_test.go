package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestFlags proves that each flag is read again, also by its name in traces of earlier builds.
func TestFlags(t *testing.T) {
	for i, flag := range lineFlags(new(driver.TraceLine)) {
		want := driver.TraceLine{Side: driver.FromClient, Text: []byte("{}")}
		*lineFlags(&want)[i].value = true
		line := NewLine("1", want, new(redact.Secrets).Redactor())
		if diff := cmp.Diff([]string{flag.name}, line.Flags); diff != "" {
			t.Errorf("%s: the line has the flags\n%s", flag.name, diff)
		}
		for _, name := range []string{flag.name, flag.oldName} {
			if name == "" {
				continue
			}
			line.Flags = []string{name}
			got, err := line.decode()
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v, read (-want +got):\n%s", name, err, diff)
			}
		}
	}
}
