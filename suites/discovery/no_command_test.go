package discovery

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// TestFindWithoutACommand checks that there is no server if its command does not exist.
func TestFindWithoutACommand(t *testing.T) {
	target := driver.Target{Command: []string{"/there/is/no/such/command"}}
	if f, err := Find(t.Context(), target, "", true); f.Server != nil || err == nil {
		t.Errorf("got %+v, %v", f, err)
	}
	if all, _, err := Revisions(t.Context(), target); all != nil || err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v", all, err)
	}
}
