package check

import (
	"strings"
	"testing"
)

// TestMergeSuitesRejectsDuplicates checks that no check can hide another one with the same id.
func TestMergeSuitesRejectsDuplicates(t *testing.T) {
	one, other := Suite{"a/b": Probe(nil)}, Suite{"a/c": Probe(nil)}
	if all := MergeSuites(one, other); len(all) != 2 {
		t.Errorf("got %d checks, want 2", len(all))
	}
	defer func() {
		if e := recover(); e == nil || !strings.Contains(e.(string), "two checks of a/b") {
			t.Errorf("got %v, want a panic that names a/b", e)
		}
	}()
	MergeSuites(one, other, Suite{"a/b": Probe(nil)})
}
