package harness

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Handshake revisions, in order of publication: those that are negotiated with
// initialize.
var Handshake = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// Modern is the first revision without a handshake.
const Modern = "2026-07-28"

// Newest is the newest handshake revision.
const Newest = "2025-11-25"

// Revisions are all published revisions, in order.
var Revisions = append(slices.Clone(Handshake), Modern)

// Requirement is one entry of the catalogue: one sentence that binds a server.
// Its id is public and never renamed. The format is described in CONTRIBUTING.md.
type Requirement struct {
	ID         string            `yaml:"id" json:"id,omitzero"`
	Title      string            `yaml:"title" json:"title,omitzero"` // what the server does if it conforms
	Level      ByRevision[Level] `yaml:"level" json:"level,omitzero"`
	Basis      string            `yaml:"basis" json:"basis,omitzero"` // where the level comes from
	Checklist  bool              `yaml:"checklist" json:"checklist,omitzero"`
	Spec       map[string]string `yaml:"spec" json:"spec,omitzero"`           // revision to page#anchor
	Revisions  []string          `yaml:"revisions" json:"revisions,omitzero"` // in place of spec, without a sentence
	See        []string          `yaml:"see" json:"see,omitzero"`
	Transports []string          `yaml:"transports" json:"transports,omitzero"`
	Capability string            `yaml:"capability" json:"capability,omitzero"`
	Extension  string            `yaml:"extension" json:"extension,omitzero"`
	Needs      []string          `yaml:"needs" json:"needs,omitzero"`
	Safety     string            `yaml:"safety" json:"safety,omitzero"`
	Tier       string            `yaml:"tier" json:"tier,omitzero"`
	Statement  string            `yaml:"statement" json:"statement,omitzero"`
	Stimulus   ByEra             `yaml:"stimulus" json:"stimulus,omitzero"`
	Pass       ByEra             `yaml:"pass" json:"pass,omitzero"`
	Fail       ByEra             `yaml:"fail" json:"fail,omitzero"`
	Skip       ByEra             `yaml:"skip" json:"skip,omitzero"`
	Official   []string          `yaml:"official" json:"official,omitzero"`
	Notes      string            `yaml:"notes" json:"notes,omitzero"`
	Fix        string            `yaml:"fix" json:"fix,omitzero"` // what a server author should change

	area Area // that has claimed it
}

// ByRevision is a value that may differ by revision.
type ByRevision[V any] struct {
	All V            `json:"all,omitzero"`
	By  map[string]V `json:"by,omitempty"`
}

// UnmarshalYAML reads one value, or a map from revision to value.
func (b *ByRevision[V]) UnmarshalYAML(text []byte) error {
	if err := yaml.Unmarshal(text, &b.All); err == nil {
		return nil
	}
	return yaml.Unmarshal(text, &b.By)
}

// In is the value in one revision.
func (b ByRevision[V]) In(revision string) V {
	if v, ok := b.By[revision]; ok {
		return v
	}
	return b.All
}

// ByEra is a text that may differ between the era of the handshake and the
// stateless one.
type ByEra struct {
	Legacy string `json:"legacy,omitempty"`
	Modern string `json:"modern,omitempty"`
}

// UnmarshalYAML reads one text, or a map with the keys legacy and modern.
func (b *ByEra) UnmarshalYAML(text []byte) error {
	var both string
	if err := yaml.Unmarshal(text, &both); err == nil {
		b.Legacy, b.Modern = both, both
		return nil
	}
	var by struct {
		Legacy string `yaml:"legacy"`
		Modern string `yaml:"modern"`
	}
	if err := yaml.UnmarshalWithOptions(text, &by, yaml.Strict()); err != nil {
		return err
	}
	b.Legacy, b.Modern = by.Legacy, by.Modern
	return nil
}

// Holds reports whether the requirement binds servers of the revision.
func (r *Requirement) Holds(revision string) bool {
	_, ok := r.Spec[revision]
	return ok || slices.Contains(r.Revisions, revision)
}

// In lists the revisions in which the requirement holds.
func (r *Requirement) In() (revisions []string) {
	for _, revision := range Revisions {
		if r.Holds(revision) {
			revisions = append(revisions, revision)
		}
	}
	return revisions
}

// Over reports whether the requirement binds servers on the transport.
func (r *Requirement) Over(transport string) bool {
	return len(r.Transports) == 0 || slices.Contains(r.Transports, transport)
}

// URL is where the sentence stands in a revision, or "" where there is none.
func (r *Requirement) URL(revision string) string {
	page, ok := r.Spec[revision]
	switch {
	case !ok:
		return ""
	case strings.HasPrefix(page, "schema#") && revision < "2025-06-18": // the schema has no page of its own yet
		return "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/" + revision + "/schema.ts"
	case strings.HasPrefix(page, "basic/security_best_practices"):
		page = strings.TrimPrefix(page, "basic/")
		return "https://modelcontextprotocol.io/docs/" + revision + "/tutorials/security/" + page
	}
	return "https://modelcontextprotocol.io/specification/" + revision + "/" + strings.Replace(page, "/index#", "#", 1)
}

// Catalogue is every requirement, in the order of areas and files.
type Catalogue []*Requirement

// ReadCatalogue reads the entries of one area, a YAML list. It rejects unknown
// keys; the error names line and column.
func ReadCatalogue(text []byte) (entries Catalogue, err error) {
	err = yaml.UnmarshalWithOptions(text, &entries, yaml.Strict())
	return entries, err
}
