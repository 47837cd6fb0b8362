package check

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// TestFindings checks that a fail separates what was expected from what was received, however it was found.
func TestFindings(t *testing.T) {
	inParts := func(t *T) {
		Each(t, []string{"outer"}, NamedSubject, func(t *T, _ string) {
			Each(t, []string{"a", "b"}, NamedSubject, func(t *T, name string) { t.Fail("nothing", "%s", name) })
		})
	}
	for name, tt := range map[string]struct {
		check func(*T)
		want  []report.Finding
	}{
		"a sentence": {
			func(t *T) { t.Fail("a list", "none of %d", 3) }, []report.Finding{{Want: "a list", Got: "none of 3"}},
		},
		"an assertion": {func(t *T) { t.Expect("x").To(BeOneOf("y")) }, []report.Finding{{Want: `"y"`, Got: `"x"`}}},
		"one of the reverse": {
			func(t *T) { t.Expect(1).NotTo(BeOneOf(1)) }, []report.Finding{{Want: "anything but 1", Got: "1"}},
		},
		"with circumstances": {
			func(t *T) { t.Expect(1).To(BeOneOf(2), "after %s", "DELETE") }, []report.Finding{{Want: "2", Got: "1"}},
		},
		"more than a line": {
			func(t *T) { t.Fail("it alive", "it died:\n  got no memory") },
			[]report.Finding{{Want: "it alive", Got: "it died:\n  got no memory"}},
		},
		"another matcher": {
			func(t *T) { t.Expect(true).To(gomega.BeFalse()) },
			[]report.Finding{{Got: "Expected\n    <bool>: true\nto be false"}},
		},
		"of parts": {inParts, []report.Finding{
			{Subject: "outer: a", Want: "nothing", Got: "a"}, {Subject: "outer: b", Want: "nothing", Got: "b"},
		}},
		"none": {func(t *T) { t.Skip(NotApplicable, "it is so") }, nil},
	} {
		if diff := cmp.Diff(tt.want, outcomeOf(tt.check).Findings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestManyFindings checks that only the first of many findings are shown, and that the outcome says so.
func TestManyFindings(t *testing.T) {
	for _, n := range []int{1, report.MaxFindings, report.MaxFindings + 1, 100} {
		o := outcomeOf(func(t *T) {
			var all []string
			for i := range n {
				all = append(all, fmt.Sprint(i))
			}
			Each(t, all, NamedSubject, func(t *T, name string) { t.Fail("nothing", "%s", name) })
		})
		if len(o.Findings) != min(n,
			report.MaxFindings) || o.Truncated != (n > report.MaxFindings) || len(o.Subjects) != n {
			t.Errorf("%d findings: %d are shown, truncated is %v, %d subjects", n, len(o.Findings), o.Truncated,
				len(o.Subjects))
		}
	}
}
