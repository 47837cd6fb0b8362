package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Requirement is one entry of the catalogue: one sentence that binds a server. Its id is public and never changes.
// Each key has a sentence and an example in CONTRIBUTING.md, section "The keys of an entry".
type Requirement struct {
	// ID is the area and the name of the entry: ping/empty-result.
	ID string `yaml:"id"`
	// Title says what a conforming server does, without the subject.
	Title string            `yaml:"title"`
	Level ByRevision[Level] `yaml:"level"`
	// Basis says where the level comes from.
	Basis string `yaml:"basis"`
	// Checklist says that the entry is on the release checklist.
	Checklist bool `yaml:"checklist"`
	// Spec has the page#anchor of the sentence, by revision.
	Spec SpecPages `yaml:"spec"`
	// Revisions replaces Spec for advice without a sentence.
	Revisions  RevisionList `yaml:"revisions"`
	Transports []string     `yaml:"transports"`
	Capability string       `yaml:"capability"`
	Extension  string       `yaml:"extension"`
	Needs      []string     `yaml:"needs"`
	Safety     string       `yaml:"safety"`
	// Owns are the members of messages whose schema violations only this entry reports.
	Owns      []MemberPattern `yaml:"owns"`
	Statement string          `yaml:"statement"`
	Procedure ByEra           `yaml:"stimulus"`
	Pass      ByEra           `yaml:"pass"`
	Fail      ByEra           `yaml:"fail"`
	Skip      ByEra           `yaml:"skip"`
	// YieldsTo are ids and globs of entries: if one of them fails, it is the cause of a failure here.
	YieldsTo []string `yaml:"yields_to"`
	Notes    string   `yaml:"notes"`
	// Fix says what the author of a server should change.
	Fix string `yaml:"fix"`
	// DirectoryRules are rules of public directories of servers that demand the same; see AssignRules.
	DirectoryRules []DirectoryRule `yaml:"-" json:"-"`
	// SDKs are the SDKs that violate the requirement.
	SDKs []Deviation `yaml:"sdks"`
	// Since is the release, such as 1.4, that introduces the check; empty is the first release.
	Since string `yaml:"since"`

	// AssignedArea is set by Area.AssignTo.
	AssignedArea Area `yaml:"-" json:"-"`
}

// ByRevision is a value that may differ by revision: All, unless Values has another one.
type ByRevision[V any] struct {
	All    V
	Values map[string]V
}

// UnmarshalYAML parses one value, or a map from ranges of revisions to values.
func (b *ByRevision[V]) UnmarshalYAML(node *yaml.Node) (err error) {
	if node.Kind == yaml.MappingNode {
		b.Values, err = decodeByRevision[V](node)
		return err
	}
	return errorAt(node, node.Decode(&b.All))
}

// errorAt adds the position in a file to an error that has none.
func errorAt(node *yaml.Node, err error) error {
	if err == nil {
		return nil
	}
	_, err = splitLine(err)
	return fmt.Errorf("%d:%d: %w", node.Line, node.Column, err)
}

// splitLine returns the line in an error of the YAML decoder, 0 when it has none, and the error without it.
func splitLine(err error) (line int, what error) {
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return 0, err
	}
	where, text, _ := strings.Cut(wrong.Errors[0], ": ")
	fmt.Sscanf(where, "line %d", &line)
	return line, errors.New(text)
}

// In returns the value in a revision.
func (b ByRevision[V]) In(revision string) V {
	if v, ok := b.Values[revision]; ok {
		return v
	}
	return b.All
}

// ByEra is a text that may differ between the revisions with and without a handshake.
type ByEra struct {
	Legacy string
	Modern string
}

// UnmarshalYAML parses one text, or a map with the keys legacy and modern.
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

// AppliesIn reports whether the requirement is part of the revision.
func (r *Requirement) AppliesIn(revision string) bool {
	_, ok := r.Spec[revision]
	return ok || slices.Contains(r.Revisions, revision)
}

// ApplicableRevisions returns the revisions that the requirement is part of.
func (r *Requirement) ApplicableRevisions() (revisions []string) {
	for _, revision := range Revisions {
		if r.AppliesIn(revision) {
			revisions = append(revisions, revision)
		}
	}
	return revisions
}

// AppliesOver reports whether the requirement applies to servers on the transport.
func (r *Requirement) AppliesOver(transport string) bool {
	return len(r.Transports) == 0 || slices.Contains(r.Transports, transport)
}

// extensionPages are the specifications of extensions, each in its own repository, by their names in entries.
var extensionPages = map[string]string{
	"ext-apps":   "ext-apps/blob/main/specification/2026-01-26/apps.mdx",
	"ext-skills": "ext-skills/blob/main/specification/stable/skills.mdx",
	"ext-tasks":  "ext-tasks/blob/main/specification/2026-07-28/tasks.md",
}

// URL returns the URL of the sentence in a revision; empty when there is none.
func (r *Requirement) URL(revision string) string { return r.Spec.url(revision) }

func (p SpecPages) url(revision string) string {
	page, ok := p[revision]
	name, anchor, _ := strings.Cut(page, "#")
	switch {
	case !ok:
		return ""
	case extensionPages[name] != "":
		return "https://github.com/modelcontextprotocol/" + extensionPages[name] + "#" + anchor
	case strings.HasPrefix(page, "seps/"):
		return "https://modelcontextprotocol.io/" + page
	case strings.HasPrefix(page, "schema#") && revision < "2025-06-18": // no page of the schema yet
		const schemas = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/"
		return schemas + revision + "/schema.ts"
	case strings.HasPrefix(page, "basic/security_best_practices"):
		page = strings.TrimPrefix(page, "basic/")
		return "https://modelcontextprotocol.io/docs/" + revision + "/tutorials/security/" + page
	}
	return "https://modelcontextprotocol.io/specification/" + revision + "/" + strings.Replace(page, "/index#", "#", 1)
}

// Catalogue is a list of requirements, in the order of areas and files.
type Catalogue []*Requirement

// ReadCatalogue parses the entries of one area, a YAML list. Unknown keys are an error. Errors have line and column.
func ReadCatalogue(text []byte) (entries Catalogue, err error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err = d.Decode(&entries); err != nil {
		return nil, withColumn(err, text)
	}
	return entries, nil
}

// withColumn adds the column to an error of the YAML decoder, which has only the line.
func withColumn(err error, text []byte) error {
	var root yaml.Node
	line, what := splitLine(err)
	if line == 0 || yaml.Unmarshal(text, &root) != nil {
		return err
	}
	return fmt.Errorf("%d:%d: %w", line, firstColumn(line, &root), what)
}

// firstColumn returns the column of the first node on a line; 0 when none begins there.
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
