package catalogue

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MemberPattern matches members of messages. Its text is an optional name of a definition in the schema, without which
// it matches in all of them, and a path in a value of that definition: "ListToolsResult /tools/*/name", "/**/icons/**".
// The path is a JSON Pointer (RFC 6901) in which * matches any step and ** any number of steps; "/" is the value
// itself.
type MemberPattern struct {
	// definition is the name of the definition; empty is all.
	definition string
	// segments are the steps of the path.
	segments []string
}

// memberPatternSyntax matches the text of a MemberPattern.
var memberPatternSyntax = regexp.MustCompile(`^(?:([A-Z]\w*) )?/((?:` + pathSegment + `(?:/` + pathSegment + `)*)?)$`)

const pathSegment = `(?:\*\*?|(?:[^ /*~]|~[01])+)`

// UnmarshalText parses a pattern.
func (p *MemberPattern) UnmarshalText(text []byte) error {
	parts := memberPatternSyntax.FindSubmatch(text)
	if parts == nil || strings.Contains(string(text), "**/**") {
		return fmt.Errorf("owns %q (want [DEFINITION ]/PATH, with * for any step and ** for any number of steps)", text)
	}
	*p = MemberPattern{definition: string(parts[1]), segments: segmentsOf("/" + string(parts[2]))}
	return nil
}

// UnmarshalYAML parses a pattern; an error has the position in the file.
func (p *MemberPattern) UnmarshalYAML(node *yaml.Node) error {
	return errorAt(node, p.UnmarshalText([]byte(node.Value)))
}

// MarshalText returns the text of a pattern.
func (p MemberPattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p MemberPattern) String() string {
	return strings.TrimPrefix(p.definition+" /"+strings.Join(p.segments, "/"), " ")
}

// segmentsOf returns the steps of a JSON Pointer.
func segmentsOf(path string) []string {
	if path == "" || path == "/" {
		return nil
	}
	return strings.Split(path[1:], "/")
}

// isCatchAll reports whether the path is /**, which matches what no other pattern matches.
func (p MemberPattern) isCatchAll() bool { return slices.Equal(p.segments, []string{"**"}) }

// match reports whether the pattern matches a path in a value of the definition, and how many steps of the path the **
// at the end of the pattern stands for.
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

// matchSegments reports whether the steps of a pattern match those of a path.
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

// rank returns a sort key for patterns that match a path: the least is the most specific, by the rule in
// Catalogue.Owner. left is the number of steps that the ** at the end of the pattern stands for.
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

// Owner returns the entry that reports a violation of the schema in a revision: of a definition, at a path in a value
// of it. Of several matching patterns the most specific one counts: /** comes last; then the one whose ** at the end
// stands for the fewest steps wins, then one that names the definition, then the one with the most named steps, and
// then the one whose wildcards come later. isRest reports that only /** matches.
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

// CheckOwners returns an error if an entry owns what no definition has, or what another entry owns. has reports whether
// a definition in the schema of a revision, or any if its name is empty, has a member at these steps of a path.
func (c Catalogue) CheckOwners(has func(revision, definition string, steps ...string) bool) error {
	owners := map[string]string{} // ids by revision and pattern
	for _, r := range c {
		for _, p := range r.Owns {
			exists := func(revision string) bool { return has(revision, p.definition, p.segments...) }
			if !slices.ContainsFunc(r.ApplicableRevisions(), exists) {
				return fmt.Errorf("%s owns %s: no revision in which it holds has that", r.ID, p)
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
