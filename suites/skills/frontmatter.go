package skills

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

var (
	errNoFrontmatter = errors.New("it does not begin with a line --- and has no second one")
	errNoMapping     = errors.New("its frontmatter is not a mapping")
)

// frontmatterIn returns the YAML frontmatter of a SKILL.md.
func frontmatterIn(text string) (*yaml.Node, error) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return nil, errNoFrontmatter
	}
	for i, line := range lines[1:] {
		if strings.TrimRight(line, " \t") != "---" {
			continue
		}
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(strings.Join(lines[1:i+1], "\n")+"\n"), &document); err != nil {
			return nil, err
		}
		if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
			return nil, errNoMapping
		}
		return document.Content[0], nil
	}
	return nil, errNoFrontmatter
}

// mappingMember returns a member of a mapping; nil if it has none with that name.
func mappingMember(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// difference returns the path at which a JSON value differs from YAML, in all ways in which its scalars can be read;
// empty if there is no difference.
func difference(node *yaml.Node, value any, path string) string {
	switch node.Kind {
	case yaml.AliasNode:
		return difference(node.Alias, value, path)
	case yaml.MappingNode:
		return objectDifference(node, value, path)
	case yaml.SequenceNode:
		list, isList := value.([]any)
		if !isList || len(list) != len(node.Content) {
			return path
		}
		for i, item := range node.Content {
			if at := difference(item, list[i], path+"[]"); at != "" {
				return at
			}
		}
		return ""
	}
	if equalsScalar(node, value) {
		return ""
	}
	return path
}

func objectDifference(node *yaml.Node, value any, path string) string {
	object, isObject := value.(check.M)
	if !isObject {
		return path
	}
	for name := range object {
		if mappingMember(node, name) == nil && mappingMember(node, "<<") == nil {
			return path + "." + name
		}
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		member, has := object[name]
		if name == "<<" {
			continue // the names above come from the merged mapping
		}
		if at := difference(node.Content[i+1], member, path+"."+name); !has || at != "" {
			return path + "." + name
		}
	}
	return ""
}

// equalsScalar reports whether a JSON value equals a scalar, as text or by its meaning.
func equalsScalar(node *yaml.Node, value any) bool {
	switch v := value.(type) {
	case nil:
		return node.Tag == "!!null"
	case string:
		return v == node.Value || equalsTimestamp(node, v)
	case bool:
		truths := map[string]bool{"true": true, "yes": true, "on": true, "false": false, "no": false, "off": false}
		truth, isTruth := truths[strings.ToLower(node.Value)]
		return isTruth && truth == v
	case json.Number:
		var want float64
		got, err := v.Float64()
		return err == nil && node.Decode(&want) == nil && got == want
	}
	return false
}

// equalsTimestamp reports whether a text is another form of a date.
func equalsTimestamp(node *yaml.Node, text string) bool {
	var want time.Time
	got, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && node.Tag == "!!timestamp" && node.Decode(&want) == nil && got.Equal(want)
}
