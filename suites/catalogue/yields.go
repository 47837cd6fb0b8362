package catalogue

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Causes returns which of these ids the entry yields to. The entry itself is not among them.
func (r *Requirement) Causes(ids []string) (causes []string) {
	for _, pattern := range r.YieldsTo {
		for _, id := range matchingIDs(pattern, ids) {
			if id != r.ID && !slices.Contains(causes, id) {
				causes = append(causes, id)
			}
		}
	}
	return causes
}

// matchingIDs returns the ids that match a glob, which may be a plain id.
func matchingIDs(pattern string, ids []string) (found []string) {
	for _, id := range ids {
		if matches, _ := path.Match(pattern, id); matches {
			found = append(found, id)
		}
	}
	return found
}

// CheckYields returns an error if a yields_to matches none of these ids, which are those of the entries with a check,
// or only its own entry. It also returns one if entries yield to each other in a circle, in which each could leave to
// the others what none of them reports.
func (c Catalogue) CheckYields(ids []string) error {
	for _, r := range c {
		for _, pattern := range r.YieldsTo {
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("%s: yields_to %q: %w", r.ID, pattern, err)
			}
			switch found := matchingIDs(pattern, ids); {
			case len(found) == 0:
				return fmt.Errorf("%s: yields_to %q is not an entry that a check tries", r.ID, pattern)
			case slices.Equal(found, []string{r.ID}):
				return fmt.Errorf("%s yields to itself", r.ID)
			}
		}
	}
	if circle := c.yieldCircle(ids); circle != nil {
		return fmt.Errorf("yields_to forms a circle: %s", strings.Join(circle, " yields to "))
	}
	return nil
}

// yieldCircle returns the ids of entries that yield to each other, with the first one again at the end; nil when there
// are none.
func (c Catalogue) yieldCircle(ids []string) (circle []string) {
	entries, visited := map[string]*Requirement{}, map[string]bool{}
	for _, r := range c {
		entries[r.ID] = r
	}
	var visit func(id string, way []string) bool
	visit = func(id string, way []string) bool {
		if begin := slices.Index(way, id); begin >= 0 {
			circle = append(slices.Clone(way[begin:]), id)
			return true
		}
		if visited[id] || entries[id] == nil {
			return false
		}
		visited[id] = true
		return slices.ContainsFunc(entries[id].Causes(ids), func(cause string) bool {
			return visit(cause, append(way, id))
		})
	}
	for _, r := range c {
		if visit(r.ID, nil) {
			break
		}
	}
	return circle
}
