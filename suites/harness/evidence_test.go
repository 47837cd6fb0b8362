package harness

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// What two passages of a session have in common is shown once.
func TestPassagesOfASession(t *testing.T) {
	a, b := new(driver.Session), new(driver.Session)
	all := []passage{{b, 4, 9}, {a, 0, 3}, {b, 2, 5}, {a, 7, 8}, {b, 3, 4}}
	want := [][]passage{{{b, 2, 5}, {b, 5, 5}, {b, 5, 9}}, {{a, 0, 3}, {a, 7, 8}}}
	got := bySession(all)
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}
