package report

import (
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// LoadComparison is how a load differs from an earlier one.
type LoadComparison struct {
	// Tolerance is the ratio up to which a figure may be worse.
	Tolerance float64 `json:"tolerance"`
	// Conditions say what was different in how the server was loaded.
	Conditions []string `json:"conditions,omitempty"`
	// Methods has a row for each method that both loads have, and at last one of all together.
	Methods []LoadMethodChange `json:"methods"`
	// Failing are the results that fail, and did not before.
	Failing []string `json:"failing,omitempty"`
	// Problem is why the new load ended before its time; empty if it did not.
	Problem string `json:"problem,omitempty"`
	// Regressions counts figures that are worse beyond the tolerance, Failing, and the problem.
	Regressions int `json:"regressions"`
}

// LoadMethodChange has the figures of a method.
type LoadMethodChange struct {
	Method  string             `json:"method"`
	Figures []LoadFigureChange `json:"figures"`
}

// LoadFigureChange is a figure of two loads.
type LoadFigureChange struct {
	Name string  `json:"name"`
	Old  float64 `json:"old"`
	New  float64 `json:"new"`
	// Worse says that the figure is worse beyond the tolerance.
	Worse bool `json:"worse,omitempty"`
}

// LoadTolerance is the ratio up to which a figure may be worse when nothing else is said, and leastLatency the
// difference of two times, in milliseconds, that never counts: a machine does not repeat shorter ones.
const (
	LoadTolerance = 1.2
	leastLatency  = 1
)

// CompareLoads compares a load with an earlier one.
func CompareLoads(before, after Load, tolerance float64) LoadComparison {
	c := LoadComparison{Tolerance: tolerance, Conditions: loadConditions(before, after), Problem: after.Problem}
	all := func(l Load) []LoadFigures { return append(slices.Clone(l.Methods), l.All) }
	for _, now := range all(after) {
		i := slices.IndexFunc(all(before), func(f LoadFigures) bool { return f.Method == now.Method })
		if i >= 0 {
			c.Methods = append(c.Methods, compareFigures(all(before)[i], now, tolerance))
		}
	}
	failed := func(l Load, name string) bool {
		return slices.ContainsFunc(l.Results, func(r LoadResult) bool {
			return r.Name == name && r.Verdict == catalogue.Fail
		})
	}
	for _, r := range after.Results {
		if r.Verdict == catalogue.Fail && !failed(before, r.Name) {
			c.Failing = append(c.Failing, r.Name)
		}
	}
	c.Regressions = len(c.Failing)
	if c.Problem != "" {
		c.Regressions++
	}
	for _, m := range c.Methods {
		for _, f := range m.Figures {
			if f.Worse {
				c.Regressions++
			}
		}
	}
	return c
}

// compareFigures compares the figures of a method. Less throughput is worse, and more time or errors.
func compareFigures(before, after LoadFigures, tolerance float64) LoadMethodChange {
	figures := []LoadFigureChange{{Name: "per s", Old: before.PerSecond, New: after.PerSecond,
		Worse: after.PerSecond*tolerance < before.PerSecond}}
	for _, f := range []LoadFigureChange{
		{Name: "p50", Old: before.P50, New: after.P50}, {Name: "p90", Old: before.P90, New: after.P90},
		{Name: "p99", Old: before.P99, New: after.P99},
	} {
		f.Worse = f.New > f.Old*tolerance && f.New-f.Old >= leastLatency
		figures = append(figures, f)
	}
	errors := LoadFigureChange{Name: "errors", Old: before.ErrorShare(), New: after.ErrorShare()}
	errors.Worse = errors.New > errors.Old*tolerance
	return LoadMethodChange{after.Method, append(figures, errors)}
}

// loadConditions says what was different in how the server was loaded.
func loadConditions(before, after Load) (all []string) {
	for _, c := range []struct{ name, before, after string }{
		{"revision", before.Revision, after.Revision},
		{"clients", fmt.Sprint(before.Clients), fmt.Sprint(after.Clients)},
		{"processes", fmt.Sprint(before.Processes), fmt.Sprint(after.Processes)},
		{"rate", fmt.Sprint(before.PerSecond), fmt.Sprint(after.PerSecond)},
		{"seconds", fmt.Sprintf("%.3g", before.Seconds), fmt.Sprintf("%.3g", after.Seconds)},
	} {
		if c.before != c.after {
			all = append(all, fmt.Sprintf("%s: %s → %s", c.name, c.before, c.after))
		}
	}
	return all
}
