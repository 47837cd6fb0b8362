package catalogue

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SpecPages is page#anchor by revision.
type SpecPages map[string]string

// RevisionList is a list of revisions.
type RevisionList []string

var revisionKey = regexp.MustCompile(`^(\S+?)(\+| to (\S+))?$`)

// parseRevisionRange reads which revisions an entry means:
//
//	2025-06-18                 this revision
//	2024-11-05 to 2025-06-18   these two, and those that were published between them
//	2025-06-18+                this revision, and all that are published later
//
// A range that is open at its end is the usual one, since most sentences outlive a revision. A new revision is then a
// row of published and the entries that it changes: where it drops a sentence, "+" becomes "to" the last revision that
// has it, and where it moves one, a line with the new page follows. The price is that an entry holds in a new revision
// before anybody has read its page; catalogue.json names each revision, so that its diff shows all entries that are to
// be read. A range to the newest revision would be as short, and would have to be changed with each revision.
func parseRevisionRange(key string) ([]string, error) {
	parts := revisionKey.FindStringSubmatch(key)
	if parts == nil {
		return nil, fmt.Errorf(
			"invalid revisions %q (want REVISION, REVISION to REVISION, or REVISION+ for this and all later ones)", key)
	}
	first, err := revisionIndex(parts[1])
	if err != nil {
		return nil, err
	}
	last := first
	switch {
	case parts[2] == "+":
		last = len(Revisions) - 1
	case parts[3] != "":
		if last, err = revisionIndex(parts[3]); err != nil {
			return nil, err
		}
	}
	if last < first {
		return nil, fmt.Errorf("the range %q is empty (want the earlier revision first)", key)
	}
	return Revisions[first : last+1], nil
}

// revisionIndex is where in Revisions a revision is.
func revisionIndex(revision string) (int, error) {
	i := slices.Index(Revisions, revision)
	if i < 0 {
		return 0, fmt.Errorf("unknown revision %q (have %s)", revision, strings.Join(Revisions, ", "))
	}
	return i, nil
}

// revisionRanges are the ranges that were read of one key of an entry, by revision.
type revisionRanges map[string]string

// add reads a further range, which must not have a revision of another one.
func (r revisionRanges) add(node *yaml.Node) ([]string, error) {
	revisions, err := parseRevisionRange(node.Value)
	if err != nil {
		return nil, errorAt(node, err)
	}
	for _, revision := range revisions {
		if other, twice := r[revision]; twice {
			return nil, errorAt(node, fmt.Errorf(
				"%q overlaps %q: both have %s (end one before the other begins)", node.Value, other, revision))
		}
		r[revision] = node.Value
	}
	return revisions, nil
}

// decodeByRevision reads a map from ranges of revisions to values, and has each value under each revision.
func decodeByRevision[V any](node *yaml.Node) (map[string]V, error) {
	if node.Kind != yaml.MappingNode {
		var none map[string]V
		return nil, errorAt(node, node.Decode(&none))
	}
	values, ranges := map[string]V{}, revisionRanges{}
	for i := 0; i < len(node.Content); i += 2 {
		revisions, err := ranges.add(node.Content[i])
		if err != nil {
			return nil, err
		}
		var value V
		if err := node.Content[i+1].Decode(&value); err != nil {
			return nil, errorAt(node.Content[i+1], err)
		}
		for _, revision := range revisions {
			values[revision] = value
		}
	}
	return values, nil
}

// UnmarshalYAML reads a map from ranges of revisions to pages.
func (p *SpecPages) UnmarshalYAML(node *yaml.Node) error {
	pages, err := decodeByRevision[string](node)
	if err != nil {
		return err
	}
	for i := 1; i < len(node.Content); i += 2 {
		if page, _, _ := strings.Cut(node.Content[i].Value, "#"); page == "" {
			return errorAt(node.Content[i], errors.New("no page (want PAGE#ANCHOR, as server/tools#calling-tools)"))
		}
	}
	*p = pages
	return nil
}

// UnmarshalYAML reads a list of ranges of revisions.
func (l *RevisionList) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode {
		return errorAt(node, node.Decode((*[]string)(l)))
	}
	ranges := revisionRanges{}
	for _, item := range node.Content {
		revisions, err := ranges.add(item)
		if err != nil {
			return err
		}
		*l = append(*l, revisions...)
	}
	return nil
}
