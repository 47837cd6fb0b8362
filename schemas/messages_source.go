package schemas

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// messagesYAML is the source of all schemas of messages; its head explains the notation.
//
//go:embed messages.yaml
var messagesYAML []byte

// extensionFiles are the sources of the extensions of the protocol, in the same notation.
//
//go:embed extensions/*.yaml
var extensionFiles embed.FS

// messageSource is the content of messages.yaml for all revisions, with the sources of the extensions.
type messageSource struct {
	Revisions  []string
	ErrorCodes []codeRange `yaml:"errorCodes"`
	partSource `yaml:",inline"`

	extensions []extensionSource
	sets       map[string]func() *messageSet // by revision
}

// partSource is what the protocol or an extension defines.
type partSource struct {
	Server, Client sideSource
	Definitions    tree
}

func (p partSource) in(revision string) part {
	return part{server: p.Server.in(revision), client: p.Client.in(revision)}
}

// extensionSource is the content of one of extensionFiles.
type extensionSource struct {
	// Extension is the identifier of the extension.
	Extension string
	// Since is the first revision of the protocol that it extends; "" for all.
	Since      string
	partSource `yaml:",inline"`
}

// sideSource is what one side sends.
type sideSource struct {
	Results, Notifications, Requests, Inputs tree
	ResultTypes                              map[string]tree `yaml:"resultTypes"`
}

func (s sideSource) in(revision string) side {
	types := map[string]map[string]string{}
	for resultType, results := range s.ResultTypes {
		if byMethod := definitionNames(results, revision); len(byMethod) > 0 {
			types[resultType] = byMethod
		}
	}
	return side{
		results:       definitionNames(s.Results, revision),
		resultTypes:   types,
		notifications: definitionNames(s.Notifications, revision),
		requests:      definitionNames(s.Requests, revision),
		inputs:        definitionNames(s.Inputs, revision),
	}
}

// messageSet is the source for one revision: what each side sends, with each extension, and plain JSON Schemas by the
// name of the definition.
type messageSet struct {
	part
	extensions map[string]part // by identifier
	codes      []codeRange

	schemas map[string]any
	// optional are the locations of the schemas of optional members.
	optional map[string]bool
	compile  map[string]func() *jsonschema.Schema
}

// part is what each side sends by the protocol or an extension.
type part struct{ server, client side }

// side is what one side sends: names of definitions by method.
type side struct {
	results map[string]string
	// resultTypes are the results of types other than "complete", by type.
	resultTypes   map[string]map[string]string
	notifications map[string]string
	requests      map[string]string
	// inputs are requests inside other messages, and their results.
	inputs map[string]string
}

// messages is the source, which is read when it is first needed.
var messages = sync.OnceValue(func() *messageSource { return readMessages(messagesYAML) })

// extensionTexts are the contents of extensionFiles.
func extensionTexts() [][]byte {
	var texts [][]byte
	files, _ := fs.Glob(extensionFiles, "extensions/*.yaml") // fails only for an invalid pattern
	for _, file := range files {
		text, err := extensionFiles.ReadFile(file)
		if err != nil {
			panic("schemas: " + err.Error())
		}
		texts = append(texts, text)
	}
	return texts
}

// IsWord reports whether a text is a word of the source: a method, a member or a value.
func IsWord(text string) bool { return messageWords()[text] }

// messageWords are all words in the source without comments. Parsing it as YAML would take longer.
var messageWords = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	text := bytes.Join(append(extensionTexts(), messagesYAML), []byte("\n"))
	for line := range strings.Lines(string(text)) {
		written, _, _ := strings.Cut(" "+line, " #")
		for _, word := range wordPattern.FindAllString(written, -1) {
			all[word] = true
		}
	}
	return all
})

var wordPattern = regexp.MustCompile(`[A-Za-z][A-Za-z/_]*`)

// readMessages reads the text of the protocol and those of the extensions.
func readMessages(protocol []byte) *messageSource {
	var s messageSource
	readSource(protocol, &s)
	for _, text := range extensionTexts() {
		var extension extensionSource
		readSource(text, &extension)
		s.extensions = append(s.extensions, extension)
	}
	s.sets = map[string]func() *messageSet{}
	for _, revision := range s.Revisions {
		s.sets[revision] = sync.OnceValue(func() *messageSet { return newMessageSet(&s, revision) })
	}
	return &s
}

func readSource(text []byte, source any) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(source); err != nil {
		panic("schemas: " + err.Error())
	}
}

// messagesOf is the source for a revision; it is empty when there is none.
func messagesOf(revision string) *messageSet { return messages().set(revision) }

// set is the source for a revision: that of the newest listed one up to it, since nothing changed after that.
func (s *messageSource) set(revision string) *messageSet {
	i, listed := slices.BinarySearch(s.Revisions, revision)
	if !listed {
		i--
	}
	if i < 0 {
		return &messageSet{}
	}
	return s.sets[s.Revisions[i]]()
}

func newMessageSet(s *messageSource, revision string) *messageSet {
	set := &messageSet{
		part:       s.in(revision),
		extensions: map[string]part{},
		codes:      slices.DeleteFunc(slices.Clone(s.ErrorCodes), func(r codeRange) bool { return !r.in(revision) }),
		schemas:    s.definitions(revision),
		optional:   map[string]bool{},
		compile:    map[string]func() *jsonschema.Schema{},
	}
	for _, extension := range s.extensions {
		if revision >= extension.Since {
			set.extensions[extension.Extension] = extension.in(revision)
			set.add(extension.definitions(revision))
		}
	}
	expandUnions(set.schemas, set.schemas)
	for name, schema := range set.schemas {
		collectOptional(schema, messageLocation+"#/$defs/"+name, set.optional)
		set.compile[name] = sync.OnceValue(func() *jsonschema.Schema {
			return compileDefinition(set.schemas, name)
		})
	}
	return set
}

// add adds the definitions of an extension, whose names must be new.
func (set *messageSet) add(definitions map[string]any) {
	for name, definition := range definitions {
		if set.schemas[name] != nil {
			panic("schemas: a second definition " + name)
		}
		set.schemas[name] = definition
	}
}

// definitions are the definitions for a revision.
func (p partSource) definitions(revision string) map[string]any {
	return resolve(map[string]any(p.Definitions), revision).(map[string]any)
}

// lookUp finds a method in the tables of the extensions, in their order, and then in that of the protocol.
func (set *messageSet) lookUp(
	method string, extensions []string, table func(part) map[string]string,
) (definition string, ok bool) {
	for _, identifier := range extensions {
		if definition, ok = table(set.extensions[identifier])[method]; ok {
			return definition, true
		}
	}
	definition, ok = table(set.part)[method]
	return definition, ok
}

// tree is a map in the source, as JSON would have it, with dates as strings.
type tree map[string]any

// UnmarshalYAML decodes the tree node by node, which takes a fifth of the time that decoding into any takes.
func (t *tree) UnmarshalYAML(node *yaml.Node) error {
	value, err := decodeNode(node)
	if err != nil {
		return err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("line %d: not a map", node.Line)
	}
	*t = object
	return nil
}

// decodeNode decodes a node.
func decodeNode(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.MappingNode:
		return decodeMap(node)
	case yaml.SequenceNode:
		list := []any{}
		for _, entry := range node.Content {
			value, err := decodeNode(entry)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.ScalarNode:
		switch node.ShortTag() {
		case "!!str", "!!timestamp":
			return node.Value, nil
		case "!!bool":
			return strconv.ParseBool(node.Value)
		case "!!int":
			return strconv.ParseFloat(node.Value, 64)
		}
	}
	return nil, fmt.Errorf("line %d: neither map, list, text, boolean nor integer", node.Line)
}

func decodeMap(node *yaml.Node) (any, error) {
	object := map[string]any{}
	for pair := range slices.Chunk(node.Content, 2) {
		name := pair[0].Value
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("line %d: %s is there already", pair[0].Line, name)
		}
		value, err := decodeNode(pair[1])
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, nil
}

// definitionNames resolves a map from methods to definitions for a revision.
func definitionNames(source map[string]any, revision string) map[string]string {
	byMethod := map[string]string{}
	for method, definition := range resolve(source, revision).(map[string]any) {
		byMethod[method] = definition.(string)
	}
	return byMethod
}

// resolve copies the part of the source that exists in the revision, as plain JSON Schema apart from unions.
func resolve(source any, revision string) any {
	switch source := source.(type) {
	case map[string]any:
		return resolveMap(source, revision)
	case []any:
		list := []any{}
		for _, entry := range source {
			if existsIn(entry, revision) {
				list = append(list, resolve(entry, revision))
			}
		}
		return list
	}
	return source
}

func resolveMap(source map[string]any, revision string) any {
	if is, ok := source["is"].(string); ok {
		return is
	}
	resolved := make(map[string]any, len(source))
	for key, value := range source {
		if !existsIn(value, revision) {
			continue
		}
		resolved[key] = resolve(value, revision)
	}
	if ref, ok := resolved["$ref"].(string); ok {
		resolved["$ref"] = "#/$defs/" + ref
	}
	for _, key := range []string{"since", "before"} {
		if _, ok := resolved[key].(string); ok {
			delete(resolved, key)
		}
	}
	return resolved
}

// existsIn reports whether a part of the source exists in the revision. Revisions are dates, which compare as strings.
func existsIn(source any, revision string) bool {
	part, ok := source.(map[string]any)
	if !ok {
		return true
	}
	since, _ := part["since"].(string)
	before, _ := part["before"].(string)
	return isBetween(since, before, revision)
}

// isBetween reports whether the revision is since or later, and earlier than before; both may be empty.
func isBetween(since, before, revision string) bool {
	return revision >= since && (before == "" || revision < before)
}

// expandUnions adds the validating keywords to each union in the schema. The list of its members and the name of the
// distinguishing member remain as annotations, which validators ignore.
func expandUnions(schema any, definitions map[string]any) {
	switch schema := schema.(type) {
	case map[string]any:
		for _, value := range schema {
			expandUnions(value, definitions)
		}
		if members, ok := schema["union"].([]any); ok {
			by, ok := schema["by"].(string)
			if !ok {
				by = "type"
			}
			maps.Copy(schema, unionOf(members, by, definitions))
		}
	case []any:
		for _, value := range schema {
			expandUnions(value, definitions)
		}
	}
}

// unionOf is the schema of a closed union: an object whose distinguishing member has a value of one of the union's
// members, and that is valid by one of the members with that value.
func unionOf(members []any, by string, definitions map[string]any) map[string]any {
	var tags, branches []any
	byTag := map[any][]any{}
	for _, member := range members {
		for _, tag := range tagsOf(definitions[member.(string)], by) {
			if byTag[tag] == nil {
				tags = append(tags, tag)
			}
			byTag[tag] = append(byTag[tag], map[string]any{"$ref": "#/$defs/" + member.(string)})
		}
	}
	for _, tag := range tags {
		then := byTag[tag][0]
		if len(byTag[tag]) > 1 {
			then = map[string]any{"anyOf": byTag[tag]}
		}
		branches = append(branches, map[string]any{
			"if": map[string]any{
				"required":   []any{by},
				"properties": map[string]any{by: map[string]any{"const": tag}},
			},
			"then": then,
		})
	}
	return map[string]any{
		"type":       "object",
		"required":   []any{by},
		"properties": map[string]any{by: map[string]any{"type": "string", "enum": tags}},
		"allOf":      branches,
	}
}

// tagsOf are the values of the distinguishing member that a member of a union allows.
func tagsOf(definition any, by string) []any {
	properties := definition.(map[string]any)["properties"].(map[string]any)
	tag := properties[by].(map[string]any)
	if enum, ok := tag["enum"].([]any); ok {
		return enum
	}
	return []any{tag["const"]}
}

// collectOptional adds the locations of the members that the schema at an address declares but does not require.
func collectOptional(schema any, address string, optional map[string]bool) {
	switch schema := schema.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for name, member := range properties {
			memberAddress := address + "/properties/" + escapeToken(name)
			optional[memberAddress] = !slices.Contains(required, any(name))
			collectOptional(member, memberAddress, optional)
		}
		for keyword, value := range schema {
			if keyword != "properties" {
				collectOptional(value, address+"/"+keyword, optional)
			}
		}
	case []any:
		for i, value := range schema {
			collectOptional(value, address+"/"+strconv.Itoa(i), optional)
		}
	}
}

// messageLocation is the URL of the document with a definition.
const messageLocation = "mcp:///message"

// compileDefinition compiles one definition with only what it refers to, since unused parts of a document take time,
// too.
func compileDefinition(definitions map[string]any, name string) *jsonschema.Schema {
	used := map[string]any{}
	collectRefs(definitions, "#/$defs/"+name, used)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(messageLocation, map[string]any{"$defs": used}); err != nil {
		panic("schemas: " + name + ": " + err.Error())
	}
	return c.MustCompile(messageLocation + "#/$defs/" + name)
}

// collectRefs adds to used the definitions that can be reached from a schema or reference.
func collectRefs(definitions map[string]any, schema any, used map[string]any) {
	switch schema := schema.(type) {
	case map[string]any:
		for _, value := range schema {
			collectRefs(definitions, value, used)
		}
	case []any:
		for _, value := range schema {
			collectRefs(definitions, value, used)
		}
	case string:
		name, ok := strings.CutPrefix(schema, "#/$defs/")
		if !ok || used[name] != nil {
			return
		}
		used[name] = definitions[name]
		collectRefs(definitions, definitions[name], used)
	}
}
