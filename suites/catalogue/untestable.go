package catalogue

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Untestable is a requirement that nobody can decide from outside the server, so that it has no check.
type Untestable struct {
	ID        string    `yaml:"id"` // area/name, as those of entries, and none of theirs
	Level     Level     `yaml:"level"`
	Spec      SpecPages `yaml:"spec"`      // the revisions in which it holds, to page#anchor
	Statement string    `yaml:"statement"` // the requirement, in our words
	Reason    string    `yaml:"reason"`    // why no check can decide it
}

// ReadUntestable reads a YAML list of requirements without a check. The error names line and column.
func ReadUntestable(text []byte) (all []Untestable, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err = d.Decode(&all); err != nil {
		return nil, withColumn(err, text)
	}
	return all, nil
}

// ApplicableRevisions lists the revisions in which the requirement holds.
func (u Untestable) ApplicableRevisions() []string {
	return slices.DeleteFunc(slices.Clone(Revisions), func(revision string) bool { return u.Spec[revision] == "" })
}

// URL is where the sentence stands in a revision, or "" where there is none.
func (u Untestable) URL(revision string) string { return u.Spec.url(revision) }
