package catalogue

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Selector decides which requirements a run tries.
type Selector func(r *Requirement) bool

// Select returns a selector from ids, areas, globs of either (tools/*, *) and levels (must), in any letter case. An
// empty only selects all. It returns an error for a pattern that selects nothing, with the nearest id.
func Select(catalogue func() Catalogue, only, skip []string) (Selector, error) {
	for _, pattern := range slices.Concat(only, skip) {
		if err := checkPattern(catalogue(), pattern); err != nil {
			return nil, err
		}
	}
	return func(r *Requirement) bool {
		return (len(only) == 0 || matchesAny(only, r)) && !matchesAny(skip, r)
	}, nil
}

func matchesAny(patterns []string, r *Requirement) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, r) })
}

func matches(pattern string, r *Requirement) bool {
	var level Level
	if level.UnmarshalText([]byte(strings.ToUpper(pattern))) == nil {
		return slices.ContainsFunc(r.ApplicableRevisions(),
			func(revision string) bool { return r.Level.In(revision) == level })
	}
	return slices.ContainsFunc([]string{r.ID, r.Area()}, func(name string) bool {
		ok, _ := path.Match(pattern, name)
		return ok
	})
}

func checkPattern(catalogue Catalogue, pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("bad pattern %q: %v", pattern, err)
	}
	for _, r := range catalogue {
		if matches(pattern, r) {
			return nil
		}
	}
	const list = "; mcpcheck list shows them all"
	return fmt.Errorf("no check %q%s", pattern, text.Suggestion(pattern, selectableNames(catalogue), list))
}

// selectableNames returns the names that select something: the areas, then the ids.
func selectableNames(catalogue Catalogue) (names []string) {
	for _, r := range catalogue {
		if !slices.Contains(names, r.Area()) {
			names = append(names, r.Area())
		}
	}
	for _, r := range catalogue {
		names = append(names, r.ID)
	}
	return names
}
