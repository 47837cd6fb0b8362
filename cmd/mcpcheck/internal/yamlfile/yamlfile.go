// Package yamlfile reads YAML that people write: mcpcheck.yaml, lists of servers, baselines.
//
// Read is strict. Its errors say in one line what is wrong, where, and what is allowed there: the keys of the type that
// is decoded into, the one closest to a misspelt key, the indentation that was probably meant.
//
// Read also returns the tree of the document, in which Find and Members look for values whose place an error names.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Read decodes a YAML file and returns its tree, which is nil for an empty file. The name is for errors, which say in
// one line what is wrong, where, and what is allowed.
func Read(name string, content []byte, into any) (*yaml.Node, error) {
	if bytes.HasPrefix(content, []byte("\ufeff")) {
		return nil, exit.Usagef("%s: this begins with a byte order mark; save it as UTF-8 without one (BOM)", name)
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		err = decoder.Decode(&second)
	}
	switch {
	case err == nil && !isEmpty(second.Content[0]):
		return nil, exit.Usagef("%s%s: a second document begins here; only one is read, so take one of them out",
			name, Position(second.Content[0]))
	case err != nil && !errors.Is(err, io.EOF):
		return nil, exit.Usagef("%s%s", name, syntaxErrorText(content, err))
	}
	root := document.Content[0]
	if isEmpty(root) {
		return nil, nil
	}
	if err := (validator{}).validate(root, reflect.TypeOf(into).Elem()); err != nil {
		return nil, exit.Usagef("%s%w", name, err)
	}
	if err := root.Decode(into); err != nil {
		return nil, exit.Usagef("%s: %s", name, libraryPrefix.ReplaceAllString(err.Error(), ""))
	}
	return root, nil
}

// isEmpty reports whether a document has nothing but comments.
func isEmpty(node *yaml.Node) bool { return node.Tag == "!!null" && node.Value == "" }

// Position returns the place of a node as :line:column.
func Position(node *yaml.Node) string { return fmt.Sprintf(":%d:%d", node.Line, node.Column) }

// Find returns the node at a path of keys and indices; nil means that there is none.
func Find(node *yaml.Node, path ...any) *yaml.Node {
	for _, step := range path {
		if node = member(node, step); node == nil {
			return nil
		}
	}
	return node
}

// member returns the value of a key of a map, or of an index of a list.
func member(node *yaml.Node, step any) *yaml.Node {
	if i, ok := step.(int); ok {
		if node == nil || node.Kind != yaml.SequenceNode || i >= len(node.Content) {
			return nil
		}
		return node.Content[i]
	}
	for key, value := range Members(node) {
		if key.Value == step {
			return value
		}
	}
	return nil
}

// Members returns the keys and values of a map.
func Members(node *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for pair := range slices.Chunk(node.Content, 2) {
			if !yield(pair[0], pair[1]) {
				return
			}
		}
	}
}

// validator holds the pairs of values and types that were compared already: aliases may lead to them again and again.
type validator map[comparison]bool

type comparison struct {
	node *yaml.Node
	t    reflect.Type
}

// validate returns an error for the first value in a tree that a type does not allow.
func (v validator) validate(node *yaml.Node, t reflect.Type) error {
	place, node := node, resolveAlias(node)
	if v[comparison{node, t}] {
		return nil
	}
	v[comparison{node, t}] = true
	if node.Style&yaml.TaggedStyle != 0 {
		return errorAt(place, "take out the tag %s; values are written without tags", node.Tag)
	}
	if node.Tag == "!!timestamp" {
		node.Tag = "!!str" // a date is a text, as in JSON
	}
	switch want := expectedKind(t, node.Kind); {
	case node.Tag == "!!null":
		return nil
	case want != node.Kind:
		return errorAt(place, "this is a %s where a %s belongs%s",
			nodeText(node), kindTexts[want], listSuggestion(node, t))
	case want == yaml.MappingNode:
		return v.validateMap(node, t)
	case want == yaml.SequenceNode:
		for _, item := range node.Content {
			if resolveAlias(item).Tag == "!!null" && t.Kind() != reflect.Interface {
				return errorAt(item, "this item is empty; take it out")
			}
			if err := v.validate(item, elementType(t)); err != nil {
				return err
			}
		}
		return nil
	}
	return validateScalar(node, t)
}

func resolveAlias(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// expectedKind returns the kind of the nodes that a type is decoded from. A type that decodes itself may also be
// written as a text.
func expectedKind(t reflect.Type, kind yaml.Kind) yaml.Kind {
	switch {
	case t.Kind() == reflect.Interface,
		kind == yaml.ScalarNode && reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]()):
		return kind
	case t.Kind() == reflect.Slice:
		return yaml.SequenceNode
	case t.Kind() == reflect.Map, t.Kind() == reflect.Struct:
		return yaml.MappingNode
	}
	return yaml.ScalarNode
}

func (v validator) validateMap(node *yaml.Node, t reflect.Type) error {
	first := map[string]*yaml.Node{}
	for key, value := range Members(node) {
		inner, isAllowed := memberType(t, key.Value)
		switch same := first[key.Value]; {
		case key.Tag == "!!merge": // << has members for this map
			inner = t
		case key.Kind != yaml.ScalarNode:
			return errorAt(key, "this is a %s where a key belongs", nodeText(key))
		case same != nil:
			return errorAt(key, "the key %q is in line %d already; take one of them out", key.Value, same.Line)
		case !isAllowed:
			return errorAt(key, "unknown key %q%s", key.Value, allowedKeysText(key.Value, t))
		default:
			key.Tag = "!!str" // a number is a key as it is written
			first[key.Value] = key
		}
		if err := v.validate(value, inner); err != nil {
			return err
		}
	}
	return nil
}

// validateScalar returns an error for a number, a duration, or a truth value that is written otherwise.
func validateScalar(node *yaml.Node, t reflect.Type) error {
	err := node.Decode(reflect.New(t).Interface())
	var number float64
	switch {
	case t.Kind() == reflect.Bool && err != nil:
		return errorAt(node, "%q is not true or false", node.Value)
	case t == reflect.TypeFor[time.Duration]() && err != nil:
		return errorAt(node, "%q is not a duration such as 5s or 500ms", node.Value)
	case t != reflect.TypeFor[int]() && t != reflect.TypeFor[int64]():
		return nil
	case node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return errorAt(node, "%q is a text; write a number without quotes", node.Value)
	case node.Decode(&number) != nil:
		return errorAt(node, "%q is not a number", node.Value)
	case number != math.Trunc(number):
		return errorAt(node, "%s is not a whole number", node.Value)
	case err != nil || math.Abs(number) > math.MaxInt64:
		return errorAt(node, "%s is too large", node.Value)
	}
	return nil
}

func errorAt(node *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s: %s", Position(node), fmt.Sprintf(format, args...))
}

// elementType returns the type of the items of a list.
func elementType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Interface {
		return t
	}
	return t.Elem()
}

// memberType returns the type of the value under a key, and whether the key is allowed.
func memberType(t reflect.Type, key string) (reflect.Type, bool) {
	if t.Kind() != reflect.Struct {
		return elementType(t), true
	}
	for field := range t.Fields() {
		if yamlKey(field) == key && key != "" {
			return field.Type, true
		}
	}
	return nil, false
}

// yamlKey returns the key of a field; it is empty when the field has none.
func yamlKey(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return strings.TrimPrefix(key, "-")
}

// Keys returns the keys of a struct, in its order.
func Keys(t reflect.Type) (keys []string) {
	for field := range t.Fields() {
		if key := yamlKey(field); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// allowedKeysText says which keys a struct has, and which one was probably meant.
func allowedKeysText(key string, t reflect.Type) string {
	keys := slices.Sorted(slices.Values(Keys(t)))
	return text.Suggestion(key, keys, "") + " (allowed: " + strings.Join(keys, ", ") + ")"
}

var kindTexts = map[yaml.Kind]string{yaml.SequenceNode: "list", yaml.MappingNode: "map", yaml.ScalarNode: "text"}

// nodeText returns the kind of a node in plain words.
func nodeText(node *yaml.Node) string {
	if node.Tag == "!!int" || node.Tag == "!!float" {
		return "number"
	}
	return kindTexts[node.Kind]
}

// listSuggestion suggests how to write the words of a text as a list, if a list of texts is expected.
func listSuggestion(node *yaml.Node, t reflect.Type) string {
	words := strings.Fields(node.Value)
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.String || len(words) == 0 {
		return ""
	}
	return "; write [" + strings.Join(words, ", ") + "]"
}
