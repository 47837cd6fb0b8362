package catalogue

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Sentence is a sentence of the specification with a keyword such as MUST. Where it stands is recorded, not its text.
type Sentence struct {
	Revision string
	// Page is page#anchor, as in the entries; a sentence before the first heading has no anchor.
	Page string
	// Ordinal counts the sentences with a keyword below one heading, from 1.
	Ordinal int
	// Keyword is the first keyword of the sentence.
	Keyword string
	// Binds is who has to do it.
	Binds Party
	// IDs are the entries that judge it, and the requirements of untestable.yaml that it is a part of.
	IDs []string
	// Reason says why nothing judges it; empty if there are IDs.
	Reason string
}

// Party is whom a sentence binds.
type Party string

// The parties of the specification.
const (
	BindsServer Party = "server"
	BindsClient Party = "client"
	BindsHost   Party = "host"  // the application and its user interface
	BindsBoth   Party = "both"  // servers and clients
	BindsOther  Party = "other" // authorization servers, intermediaries, extensions
)

// BindsServers reports whether servers have to do what the sentence says.
func (s Sentence) BindsServers() bool { return s.Binds == BindsServer || s.Binds == BindsBoth }

// URL is where the sentence stands.
func (s Sentence) URL() string { return SpecPages{s.Revision: s.Page}.url(s.Revision) }

// ReadSentences reads suites/sentences.yaml, whose head describes it. Errors have line and column.
func ReadSentences(text []byte) (all []Sentence, err error) {
	var revisions yaml.Node
	if err := yaml.Unmarshal(text, &revisions); err != nil {
		return nil, withColumn(err, text)
	}
	if len(revisions.Content) == 0 {
		return nil, nil
	}
	err = eachMember(revisions.Content[0], func(revision, pages *yaml.Node) error {
		if _, err := revisionIndex(revision.Value); err != nil {
			return errorAt(revision, err)
		}
		return eachMember(pages, func(page, rows *yaml.Node) error {
			return eachMember(rows, func(key, value *yaml.Node) error {
				sentences, err := readRow(key, value)
				for _, s := range sentences {
					s.Revision, s.Page = revision.Value, page.Value
					all = append(all, s)
				}
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachMember calls a function with each key and value of a map. The decoder of YAML would lose their order.
func eachMember(node *yaml.Node, visit func(key, value *yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		return errorAt(node, errors.New("want a map"))
	}
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if seen[key.Value] {
			return errorAt(key, fmt.Errorf("%q is there twice", key.Value))
		}
		seen[key.Value] = true
		if err := visit(key, node.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

var rowKey = regexp.MustCompile(`^([1-9]\d*)(?:-([1-9]\d*))? ` +
	`(MUST|MUST NOT|REQUIRED|SHALL|SHALL NOT|SHOULD|SHOULD NOT|RECOMMENDED|NOT RECOMMENDED) ` +
	`(server|client|host|both|other)$`)

// readRow reads a row, such as "1-2 MUST server: [area/name]", which stands for one sentence or several in sequence.
func readRow(key, value *yaml.Node) (sentences []Sentence, err error) {
	parts := rowKey.FindStringSubmatch(key.Value)
	if parts == nil {
		return nil, errorAt(key, fmt.Errorf("invalid row %q (want ORDINAL KEYWORD PARTY, as 1 MUST server)", key.Value))
	}
	row := Sentence{Keyword: parts[3], Binds: Party(parts[4])}
	switch {
	case value.Kind == yaml.SequenceNode:
		err = value.Decode(&row.IDs)
	case value.Tag != "!!null":
		err = value.Decode(&row.Reason)
	}
	if err != nil {
		return nil, errorAt(value, err)
	}
	first, _ := strconv.Atoi(parts[1])
	last := first
	if parts[2] != "" {
		last, _ = strconv.Atoi(parts[2])
	}
	for row.Ordinal = first; row.Ordinal <= last; row.Ordinal++ {
		s := row
		s.IDs = slices.Clone(row.IDs)
		sentences = append(sentences, s)
	}
	if sentences == nil {
		return nil, errorAt(key, fmt.Errorf("no sentence from %d to %d", first, last))
	}
	return sentences, nil
}
