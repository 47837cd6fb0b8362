package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Requirement is one entry of the catalogue: one sentence that binds a server. Its id is public and never renamed. The
// format is described in CONTRIBUTING.md.
type Requirement struct {
	ID             string            `yaml:"id"`
	Title          string            `yaml:"title"` // what a conforming server does; the server is the subject
	Level          ByRevision[Level] `yaml:"level"`
	Basis          string            `yaml:"basis"` // where the level comes from
	Checklist      bool              `yaml:"checklist"`
	Spec           map[string]string `yaml:"spec"`      // revision to page#anchor
	Revisions      []string          `yaml:"revisions"` // instead of spec, for advice without a sentence
	See            []string          `yaml:"see"`
	Transports     []string          `yaml:"transports"`
	Capability     string            `yaml:"capability"`
	Extension      string            `yaml:"extension"`
	Needs          []string          `yaml:"needs"`
	Safety         string            `yaml:"safety"`
	Tier           string            `yaml:"tier"`
	Owns           []MemberPattern   `yaml:"owns"` // members whose violations of the schema it alone reports
	Statement      string            `yaml:"statement"`
	Procedure      ByEra             `yaml:"stimulus"`
	Pass           ByEra             `yaml:"pass"`
	Fail           ByEra             `yaml:"fail"`
	Skip           ByEra             `yaml:"skip"`
	YieldsTo       []string          `yaml:"yields_to"` // ids and globs: a failure there is the cause
	Official       []string          `yaml:"official"`
	Notes          string            `yaml:"notes"`
	Fix            string            `yaml:"fix"`   // what a server author should change
	DirectoryRules []DirectoryRule   `yaml:"asked"` // by directories of servers, before they list one
	SDKs           []Deviation       `yaml:"sdks"`  // SDKs that break it
	// the release, such as 1.4, in which its check is new; empty: the first
	Since string `yaml:"since"`

	AssignedArea Area `yaml:"-" json:"-"` // by Area.AssignTo
}

// Ask is a rule of a public directory of servers.
type DirectoryRule struct {
	Directory string `yaml:"by" json:"by"`         // the directory
	Rule      string `yaml:"rule" json:"rule"`     // in our words
	Source    string `yaml:"source" json:"source"` // URL of its own
}

// ByRevision is a value that may differ by revision.
type ByRevision[V any] struct {
	All    V
	Values map[string]V
}

// UnmarshalYAML reads one value, or a map from revision to value.
func (b *ByRevision[V]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.MappingNode {
		return errorAt(node, node.Decode(&b.Values))
	}
	return errorAt(node, node.Decode(&b.All))
}

// at says where in a file an error is that does not say so itself.
func errorAt(node *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	_, err = splitLine(err)
	return fmt.Errorf("%d:%d: %w", node.Line, node.Column, err)
}

// splitLine takes the line out of an error of the decoder; 0 when it names none.
func splitLine(err error) (line int, what error) {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return 0, err
	}
	where, text, _ := strings.Cut(wrong.Errors[0], ": ")
	fmt.Sscanf(where, "line %d", &line)
	return line, errors.New(text)
}

// ApplicableRevisions is the value in one revision.
func (b ByRevision[V]) In(revision string) V {
	if v, ok := b.Values[revision]; ok {
		return v
	}
	return b.All
}

// ByEra is a text that may differ between the era of the handshake and the stateless one.
type ByEra struct {
	Legacy string
	Modern string
}

// UnmarshalYAML reads one text, or a map with the keys legacy and modern.
func (b *ByEra) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		err := node.Decode(&b.Legacy)
		b.Modern = b.Legacy
		return errorAt(node, err)
	}
	for i := 0; i < len(node.Content); i += 2 {
		key, text := node.Content[i], node.Content[i+1]
		switch key.Value {
		case "legacy":
			b.Legacy = text.Value
		case "modern":
			b.Modern = text.Value
		default:
			return errorAt(key, fmt.Errorf("unknown era %q (have legacy, modern)", key.Value))
		}
	}
	return nil
}

// AppliesIn reports whether the requirement binds servers of the revision.
func (r *Requirement) AppliesIn(revision string) bool {
	_, ok := r.Spec[revision]
	return ok || slices.Contains(r.Revisions, revision)
}

// ApplicableRevisions lists the revisions in which the requirement holds.
func (r *Requirement) ApplicableRevisions() (revisions []string) {
	for _, revision := range Revisions {
		if r.AppliesIn(revision) {
			revisions = append(revisions, revision)
		}
	}
	return revisions
}

// AppliesOver reports whether the requirement binds servers on the transport.
func (r *Requirement) AppliesOver(transport string) bool {
	return len(r.Transports) == 0 || slices.Contains(r.Transports, transport)
}

// extensionPages are the specifications of extensions, each in a repository of its own, by the name that entries give
// them.
var extensionPages = map[string]string{
	"ext-apps":   "ext-apps/blob/main/specification/2026-01-26/apps.mdx",
	"ext-skills": "ext-skills/blob/main/specification/stable/skills.mdx",
	"ext-tasks":  "ext-tasks/blob/main/specification/draft/tasks.md",
}

// URL is where the sentence stands in a revision, or "" where there is none.
func (r *Requirement) URL(revision string) string {
	page, ok := r.Spec[revision]
	name, anchor, _ := strings.Cut(page, "#")
	switch {
	case !ok:
		return ""
	case extensionPages[name] != "":
		return "https://github.com/modelcontextprotocol/" + extensionPages[name] + "#" + anchor
	case strings.HasPrefix(page, "seps/"):
		return "https://modelcontextprotocol.io/" + page
	case strings.HasPrefix(page, "schema#") && revision < "2025-06-18": // the schema has no page of its own yet
		const schemas = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/"
		return schemas + revision + "/schema.ts"
	case strings.HasPrefix(page, "basic/security_best_practices"):
		page = strings.TrimPrefix(page, "basic/")
		return "https://modelcontextprotocol.io/docs/" + revision + "/tutorials/security/" + page
	}
	return "https://modelcontextprotocol.io/specification/" + revision + "/" + strings.Replace(page, "/index#", "#", 1)
}

// RequirementChanges is every requirement, in the order of areas and files.
type Catalogue []*Requirement

// ReadCatalogue reads the entries of one area, a YAML list. It rejects unknown keys; the error names line and column.
func ReadCatalogue(text []byte) (entries Catalogue, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err = d.Decode(&entries); err != nil {
		return nil, withColumn(err, text)
	}
	return entries, nil
}

// withColumn says where an error of the decoder is, which names the line alone.
func withColumn(err error, text []byte) error {
	var root yaml.Node
	line, what := splitLine(err)
	if line == 0 || yaml.Unmarshal(text, &root) != nil {
		return err
	}
	return fmt.Errorf("%d:%d: %w", line, firstColumn(line, &root), what)
}

// firstColumn is the column of the first node of a line; 0 when none begins on it.
func firstColumn(line int, node *yaml.Node) int {
	if node.Line == line {
		return node.Column
	}
	for _, inner := range node.Content {
		if column := firstColumn(line, inner); column > 0 {
			return column
		}
	}
	return 0
}
