package specs

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// Ginkgo has every case as a spec, and what it makes of their outcomes harms nobody.
func TestRunSpecs(t *testing.T) {
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" || f.Name == "test.count" && f.Value.String() != "1" {
			t.Skipf("Ginkgo does not run with -%s", f.Name) // with which it ends the program
		}
	})
	var plan []harness.Case
	must := harness.ByRevision[harness.Level]{Values: map[string]harness.Level{harness.NewestLegacy: harness.Must}}
	for id := range strings.FieldsSeq("a/one b/two a/three b/four b/five") {
		plan = append(plan, harness.Case{Requirement: &harness.Requirement{ID: id, Level: must},
			JudgedBy: harness.NewestLegacy})
	}
	for range 2 { // as for --protocol all
		var seen []int
		err := runSpecs(plan, func(i int) harness.Result {
			seen = append(seen, i)
			return harness.Result{Verdict: harness.Verdicts[i], Message: "oh"}
		})
		slices.Sort(seen)
		if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, seen); diff != "" || err != nil {
			t.Errorf("%s%v", diff, err)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, areasOf(plan)); diff != "" {
		t.Error(diff)
	}
}

// A panic on the way through Ginkgo is an error, and does not end the program.
func TestRunSpecsPanics(t *testing.T) {
	err := runSpecs([]harness.Case{{}}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "mcpcheck failed: ") {
		t.Errorf("got %v", err)
	}
}
