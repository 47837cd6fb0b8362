// Package yamlfile reads YAML that people write: mcpcheck.yaml, lists of servers, baselines.
//
// Read is strict. Its errors say in one line what is wrong, where, and what is allowed there: the keys of the type that
// is decoded into, the one closest to a misspelt key, the indentation that was probably meant. It refuses deep nesting,
// a second document and unusual tags early, before they take time.
//
// Find and similar functions look into the syntax tree of a document, for errors that name the place of a value, and
// for numbers that have to stay as they are written.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Read decodes a YAML file. The name is for errors, which say in one line what is wrong, where, and what is allowed.
func Read(name string, said []byte, into any) (err error) {
	if bytes.HasPrefix(said, []byte("\ufeff")) {
		return exit.Usagef("%s: this begins with a byte order mark; save it as UTF-8 without one (BOM)", name)
	}
	if bracketDepth(said) > maxNesting {
		return exit.Usagef("%s: its lists and maps are nested more than %d deep", name, maxNesting)
	}
	defer func() {
		if r := recover(); r != nil { // the library panics for unusual tags
			err = exit.Usagef("%s: this cannot be read as YAML; write texts, numbers, lists and maps, without tags",
				name)
		}
	}()
	if err := yaml.UnmarshalWithOptions(said, into, yaml.Strict()); err != nil {
		return exit.Usagef("%s%s", name, ErrorText(said, reflect.TypeOf(into).Elem(), err))
	}
	if second := secondDocument(said); second != nil {
		return exit.Usagef("%s%s: a second document begins here; only one is read, so take one of them out",
			name, TokenPosition(second.GetToken()))
	}
	return nil
}

// maxNesting limits the depth, since the library takes time and memory that grow with its square.
const maxNesting = 200

// bracketDepth returns how deep the brackets of a text are nested, including those in strings.
func bracketDepth(said []byte) (deepest int) {
	depth := 0
	for _, c := range said {
		switch c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest
}

// ErrorText says where a text is not a value of a type, and what is allowed there.
func ErrorText(said []byte, t reflect.Type, err error) string {
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) {
		key := unknown.Token.Value
		allowed := allowedKeysText(key, enclosingType(FirstDocument(said), t, unknown.Token))
		return fmt.Sprintf("%s: unknown key %q%s", TokenPosition(unknown.Token), key, allowed)
	}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		if !isScalar(typed.Token) {
			return fmt.Sprintf("%s: this is not %s", TokenPosition(typed.Token), typeText(typed.DstType))
		}
		return fmt.Sprintf("%s: %q is not %s", TokenPosition(typed.Token), typed.Token.Value, typeText(typed.DstType))
	}
	var node *yaml.UnexpectedNodeTypeError
	if errors.As(err, &node) {
		return fmt.Sprintf("%s: this is a %s where a %s belongs%s",
			TokenPosition(node.Token), NodeKindText(node.Actual), NodeKindText(node.Expected), listSuggestion(node))
	}
	var large *yaml.OverflowError
	if errors.As(err, &large) {
		return fmt.Sprintf("%s: %s is too large", TokenPosition(large.Token), large.SrcNum)
	}
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		if strings.Contains(syntax.GetMessage(), "'\t'") {
			return TokenPosition(syntax.GetToken()) + ": this begins with a tab; YAML is indented with spaces"
		}
		if line, ok := misindentedLine(said, syntax); ok {
			return fmt.Sprintf(":%d: its indentation is wrong; indent it like the line above", line)
		}
		return fmt.Sprintf("%s: %s", TokenPosition(syntax.GetToken()), strings.TrimSpace(syntax.GetMessage()))
	}
	for _, key := range durationKeys(t) { // the library's errors for durations have no place
		if node := Find(FirstDocument(said), key); node != nil && !isDuration(node) {
			return fmt.Sprintf("%s: %s is not %s", TokenPosition(node.GetToken()), key,
				typeText(reflect.TypeFor[time.Duration]()))
		}
	}
	return ": " + err.Error()
}

// misindentedLine returns the line, counted from 1, with the wrong indentation, and whether that is the problem: a
// value is not allowed in its place, and its line is indented differently from the one above. For a key that the parser
// takes for the rest of a text, the error names the line above.
func misindentedLine(said []byte, err yaml.Error) (line int, ok bool) {
	if !strings.Contains(err.GetMessage(), "value is not allowed in this context") {
		return 0, false
	}
	all := strings.Split(string(said), "\n")
	line = err.GetToken().Position.Line
	indent := func(line int) int { return len(all[line-1]) - len(strings.TrimLeft(all[line-1], " ")) }
	if strings.Contains(err.GetMessage(), "mapping value") {
		return line + 1, line < len(all) && indent(line+1) > indent(line)
	}
	return line, line > 1 && indent(line) != indent(line-1)
}

// listSuggestion suggests how to write the words of a text as a list, if a list is expected.
func listSuggestion(node *yaml.UnexpectedNodeTypeError) string {
	words := strings.Fields(node.Token.Value)
	if node.Actual != ast.StringType || node.Expected != ast.SequenceType || len(words) == 0 {
		return ""
	}
	return "; write [" + strings.Join(words, ", ") + "]"
}

// TokenPosition returns the place of a token as :line:column.
func TokenPosition(t *token.Token) string {
	return fmt.Sprintf(":%d:%d", t.Position.Line, t.Position.Column)
}

// FirstDocument returns the value of the first document of a text; nil means that there is none.
func FirstDocument(said []byte) ast.Node {
	file, err := parser.ParseBytes(said, 0)
	if err != nil || len(file.Docs) == 0 {
		return nil
	}
	return file.Docs[0].Body
}

// secondDocument returns the value of the second document of a text; nil means that there is none.
func secondDocument(said []byte) ast.Node {
	file, err := parser.ParseBytes(said, 0)
	if err != nil {
		return nil
	}
	for _, document := range file.Docs[min(1, len(file.Docs)):] {
		if document.Body != nil && document.Body.GetToken() != nil {
			return document.Body
		}
	}
	return nil
}

// Find returns the node at a path of keys and indices; nil means that there is none.
func Find(node ast.Node, path ...any) ast.Node {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			node = MapValue(node, step)
		case int:
			list, ok := node.(*ast.SequenceNode)
			if !ok || step >= len(list.Values) {
				return nil
			}
			node = list.Values[step]
		}
	}
	return node
}

// MapValue returns the value of a key of a map; nil means that there is none.
func MapValue(node ast.Node, key string) ast.Node {
	for _, pair := range MapEntries(node) {
		if pair.Key.GetToken().Value == key {
			return pair.Value
		}
	}
	return nil
}

// MapEntries returns the members of a map.
func MapEntries(node ast.Node) []*ast.MappingValueNode {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	}
	return nil
}

// enclosingType returns the type of the struct for the map that contains a key.
func enclosingType(node ast.Node, t reflect.Type, key *token.Token) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if list, ok := node.(*ast.SequenceNode); ok && t.Kind() == reflect.Slice {
			return firstType(list.Values,
				func(item ast.Node) reflect.Type { return enclosingType(item, t.Elem(), key) })
		}
		t = t.Elem()
	}
	return firstType(MapEntries(node), func(pair *ast.MappingValueNode) reflect.Type {
		if pair.Key.GetToken().Position.Offset == key.Position.Offset {
			return t
		}
		if inner := memberType(t, pair.Key.GetToken().Value); inner != nil {
			return enclosingType(pair.Value, inner, key)
		}
		return nil
	})
}

func firstType[T any](list []T, typeOf func(T) reflect.Type) reflect.Type {
	for _, item := range list {
		if t := typeOf(item); t != nil {
			return t
		}
	}
	return nil
}

// memberType returns the type of the values under a key; nil means that there are none.
func memberType(t reflect.Type, key string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			if yamlKey(field) == key {
				return field.Type
			}
		}
	}
	return nil
}

// yamlKey returns the key of a field; it is empty when the field has none.
func yamlKey(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return strings.TrimPrefix(key, "-")
}

// Keys returns the keys of a struct, in its order.
func Keys(t reflect.Type) (keys []string) {
	for _, field := range reflect.VisibleFields(t) {
		if key := yamlKey(field); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// durationKeys returns the keys of a struct whose values are durations.
func durationKeys(t reflect.Type) (keys []string) {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, field := range reflect.VisibleFields(t) {
		if field.Type == reflect.TypeFor[time.Duration]() {
			keys = append(keys, yamlKey(field))
		}
	}
	return keys
}

// isScalar reports whether a token is a scalar value rather than the beginning of a list or a map.
func isScalar(t *token.Token) bool {
	switch t.Type {
	case token.SequenceStartType, token.SequenceEntryType,
		token.MappingStartType, token.MappingKeyType, token.MappingValueType:
		return false
	}
	return true
}

// IsNumber reports whether a node is a number.
func IsNumber(node ast.Node) bool {
	switch node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		return true
	}
	return false
}

func isDuration(node ast.Node) bool {
	_, err := time.ParseDuration(node.GetToken().Value)
	return err == nil
}

// allowedKeysText says which keys are allowed, and which one was probably meant.
func allowedKeysText(key string, t reflect.Type) string {
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	keys := Keys(t)
	slices.Sort(keys)
	return text.Suggestion(key, keys, "") + " (allowed: " + strings.Join(keys, ", ") + ")"
}

// NodeKindText returns the kind of a node in plain words.
func NodeKindText(t ast.NodeType) string {
	switch t {
	case ast.SequenceType:
		return "list"
	case ast.MappingType, ast.MappingValueType:
		return "map"
	case ast.StringType:
		return "text"
	case ast.IntegerType, ast.FloatType:
		return "number"
	}
	return t.YAMLName()
}

func typeText(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 5s or 500ms"
	case t.Kind() == reflect.Slice:
		return "a list"
	case t.Kind() == reflect.Map, t.Kind() == reflect.Struct:
		return "a map"
	case t.Kind() == reflect.String:
		return "a text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	}
	return "a number"
}
