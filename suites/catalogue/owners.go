package catalogue

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MemberPattern names members of messages. Its text is a definition of the schema, or none where all are meant, and a
// path in a value of it: "ListToolsResult /tools/*/name", "/**/icons/**". The path is a JSON Pointer in which * is any
// step and ** any number of steps; "/" is the value itself.
type MemberPattern struct {
	definition string // empty: all
	segments   []string
}

// memberPatternSyntax is that of the text of a MemberPattern: an optional definition, and a path.
var memberPatternSyntax = regexp.MustCompile(`^(?:([A-Z]\w*) )?/((?:` + pathSegment + `(?:/` + pathSegment + `)*)?)$`)

const pathSegment = `(?:\*\*?|(?:[^ /*~]|~[01])+)`

// UnmarshalText reads a pattern.
func (p *MemberPattern) UnmarshalText(text []byte) error {
	parts := memberPatternSyntax.FindSubmatch(text)
	if parts == nil || strings.Contains(string(text), "**/**") {
		return fmt.Errorf("owns %q (want [DEFINITION ]/PATH, with * for any step and ** for any number of steps)", text)
	}
	*p = MemberPattern{definition: string(parts[1]), segments: segmentsOf("/" + string(parts[2]))}
	return nil
}

// UnmarshalYAML reads a pattern, and says where it is if it is wrong.
func (p *MemberPattern) UnmarshalYAML(node *yaml.Node) error {
	return errorAt(node, p.UnmarshalText([]byte(node.Value)))
}

// MarshalText writes a pattern.
func (p MemberPattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p MemberPattern) String() string {
	return strings.TrimPrefix(p.definition+" /"+strings.Join(p.segments, "/"), " ")
}

// segmentsOf are the steps of a JSON Pointer.
func segmentsOf(path string) []string {
	if path == "" || path == "/" {
		return nil
	}
	return strings.Split(path[1:], "/")
}

// isCatchAll reports whether the pattern is /**: what is left of a message, or of all of them.
func (p MemberPattern) isCatchAll() bool { return slices.Equal(p.segments, []string{"**"}) }

// match reports whether a path in a value of the definition fits the pattern, and how many of its steps are left to the
// ** at the end of the pattern.
func (p MemberPattern) match(definition string, path []string) (left int, ok bool) {
	if p.definition != "" && p.definition != definition {
		return 0, false
	}
	steps, open := p.segments, 0
	if n := len(steps); n > 0 && steps[n-1] == "**" {
		steps, open = steps[:n-1], len(path)
	}
	for left := range open + 1 {
		if matchSegments(steps, path[:len(path)-left]) {
			return left, true
		}
	}
	return 0, false
}

// matchSegments reports whether the steps of a pattern stand for those of a path.
func matchSegments(steps, path []string) bool {
	switch {
	case len(steps) == 0:
		return len(path) == 0
	case steps[0] == "**":
		return matchSegments(steps[1:], path) || len(path) > 0 && matchSegments(steps, path[1:])
	case len(path) == 0:
		return false
	}
	return (steps[0] == "*" || steps[0] == path[0]) && matchSegments(steps[1:], path[1:])
}

// rank orders the patterns that fit a path and leave so many of its steps to the ** at their end: the least is the most
// specific. It is the rule of RequirementChanges.Owner in numbers.
func (p MemberPattern) rank(left int) []int {
	rank := []int{0, left, 0, 0}
	if p.isCatchAll() {
		rank[0] = 1
	}
	if p.definition == "" {
		rank[2] = 1
	}
	for _, step := range p.segments {
		wild := slices.Index([]string{"*", "**"}, step) + 1
		if wild == 0 {
			rank[3]--
		}
		rank = append(rank, wild)
	}
	return rank
}

// Owner is the entry that reports, in a revision, a violation of the schema: of the definition by which a value was
// judged, at a path of that value. Of several patterns that fit, the most specific one counts: /** comes last; then the
// one that leaves the fewest steps to a ** at its end, then one that names the definition, then the one that names the
// most steps, and then the one whose wildcards come later. isCatchAll reports that no pattern but /** fits.
func (c Catalogue) Owner(revision, definition, path string) (id string, isRest bool) {
	var least []int
	steps := segmentsOf(path)
	for _, r := range c {
		for _, p := range r.Owns {
			left, ok := p.match(definition, steps)
			if !ok || !r.AppliesIn(revision) {
				continue
			}
			if rank := p.rank(left); least == nil || slices.Compare(rank, least) < 0 {
				id, isRest, least = r.ID, p.isCatchAll(), rank
			}
		}
	}
	return id, isRest
}

// CheckOwners finds what is wrong with what the entries own. defines reports whether the schema of a revision has a
// definition.
func (c Catalogue) CheckOwners(defines func(revision, definition string) bool) error {
	owners := map[string]string{} // ids, by revision and pattern
	for _, r := range c {
		for _, p := range r.Owns {
			has := func(revision string) bool { return p.definition == "" || defines(revision, p.definition) }
			if !slices.ContainsFunc(r.ApplicableRevisions(), has) {
				return fmt.Errorf("%s owns %s: no revision in which it holds has this definition", r.ID, p)
			}
			for _, revision := range r.ApplicableRevisions() {
				key := revision + " " + p.String()
				if other, taken := owners[key]; taken {
					return fmt.Errorf("%s owns %s in %s, which %s owns already", r.ID, p, revision, other)
				}
				owners[key] = r.ID
			}
		}
	}
	return nil
}
