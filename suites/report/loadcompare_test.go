package report

import (
	"slices"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestCompareLoads checks which figures are worse beyond a tolerance of 1.2.
func TestCompareLoads(t *testing.T) {
	old := LoadFigures{Method: "ping", Count: 1000, PerSecond: 100, P50: 10, P90: 20, P99: 30}
	lost := []LoadError{{Kind: "lost", Count: 1}}
	for _, tt := range []struct {
		name   string
		change func(*LoadFigures)
		worse  string
	}{
		{"the same", func(*LoadFigures) {}, ""},
		{"better", func(f *LoadFigures) { f.PerSecond, f.P99 = 900, 1 }, ""},
		{"slower within the tolerance", func(f *LoadFigures) { f.P50, f.P90, f.P99 = 12, 24, 36 }, ""},
		{"a slower median", func(f *LoadFigures) { f.P50 = 12.1 }, "p50"},
		{"a slower p90", func(f *LoadFigures) { f.P90 = 25 }, "p90"},
		{"a slower p99", func(f *LoadFigures) { f.P99 = 37 }, "p99"},
		{"fewer within the tolerance", func(f *LoadFigures) { f.PerSecond = 84 }, ""},
		{"fewer", func(f *LoadFigures) { f.PerSecond = 83 }, "per s"},
		{"an error", func(f *LoadFigures) { f.Errors = lost }, "errors"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now := old
			tt.change(&now)
			c := CompareLoads(Load{Methods: []LoadFigures{old}}, Load{Methods: []LoadFigures{now}}, 1.2)
			i := slices.IndexFunc(c.Methods[0].Figures, func(f LoadFigureChange) bool { return f.Worse })
			got := ""
			if i >= 0 {
				got = c.Methods[0].Figures[i].Name
			}
			if got != tt.worse || (c.Regressions > 0) != (tt.worse != "") {
				t.Errorf("%q is worse and %d regressions, want %q", got, c.Regressions, tt.worse)
			}
		})
	}
	short := CompareLoads(Load{All: LoadFigures{P50: 0.1}}, Load{All: LoadFigures{P50: 0.9}}, 1.2)
	if short.Regressions != 0 {
		t.Errorf("a difference below a millisecond counts: %+v", short)
	}
}

// TestCompareLoadResults checks that results that begin to fail, and a load that ended early, are regressions.
func TestCompareLoadResults(t *testing.T) {
	fails := func(names ...string) (l Load) {
		for _, name := range names {
			l.Results = append(l.Results, LoadResult{Name: name, Verdict: catalogue.Fail})
		}
		return l
	}
	after := fails("a", "b")
	after.Problem, after.Clients = "429", 5
	c := CompareLoads(fails("a"), after, 1.2)
	if !slices.Equal(c.Failing, []string{"b"}) || c.Regressions != 2 ||
		!slices.Equal(c.Conditions, []string{"clients: 0 → 5"}) {
		t.Errorf("%+v", c)
	}
}

// TestKneeOf checks that the knee is before the first step that adds less than a quarter of what it could.
func TestKneeOf(t *testing.T) {
	for _, tt := range []struct {
		clients   []int
		perSecond []float64
		knee      int
	}{
		{nil, nil, 0},
		{[]int{1}, []float64{100}, 0},
		{[]int{1, 2, 4}, []float64{100, 200, 400}, 0},
		{[]int{1, 2, 4}, []float64{100, 200, 240}, 2},
		{[]int{1, 2, 4}, []float64{100, 126, 160}, 0},
		{[]int{1, 2, 4}, []float64{100, 90, 80}, 1},
		{[]int{4, 5}, []float64{100, 107}, 0}, // a quarter more clients, and more than a quarter of a quarter
	} {
		var steps []LoadStep
		for i, n := range tt.clients {
			steps = append(steps, LoadStep{Clients: n, All: LoadFigures{PerSecond: tt.perSecond[i]}})
		}
		if got := KneeOf(steps); got != tt.knee {
			t.Errorf("%v %v: knee %d, want %d", tt.clients, tt.perSecond, got, tt.knee)
		}
	}
}
