package specs

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestRunSpecs checks that Ginkgo runs every case as a spec, and that failing specs have no other effect.
func TestRunSpecs(t *testing.T) {
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "test.parallel" || f.Name == "test.count" && f.Value.String() != "1" {
			t.Skipf("Ginkgo does not run with -%s", f.Name) // Ginkgo ends the program then
		}
	})
	var plan []engine.Case
	must := catalogue.ByRevision[catalogue.Level]{
		Values: map[string]catalogue.Level{catalogue.NewestLegacy: catalogue.Must},
	}
	for id := range strings.FieldsSeq("a/one b/two a/three b/four b/five") {
		plan = append(plan, engine.Case{Requirement: &catalogue.Requirement{ID: id, Level: must},
			JudgedBy: catalogue.NewestLegacy})
	}
	for range 2 { // as with --protocol all
		var seen []int
		err := runSpecs(plan, func(i int) report.Result {
			seen = append(seen, i)
			return report.Result{Verdict: catalogue.Verdicts[i], Message: "oh"}
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

// TestRunSpecsPanics checks that a panic while Ginkgo runs is an error, and does not end the program.
func TestRunSpecsPanics(t *testing.T) {
	err := runSpecs([]engine.Case{{}}, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "mcpcheck failed: ") {
		t.Errorf("got %v", err)
	}
}
