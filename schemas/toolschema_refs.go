package schemas

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Ref is a reference in a schema.
type Ref struct {
	// Path is the JSON pointer to the keyword: "/properties/a/$ref".
	Path string
	// Target is its value: "#/$defs/a".
	Target string
	// External reports whether it leads to another document.
	External bool
	// Resolves reports whether it leads to a schema in the document or, if external, to the metaschema of a known
	// dialect.
	Resolves bool
}

// Refs lists every $ref, $dynamicRef and $recursiveRef in a schema, sorted by path, and resolves them without reading
// anything: JSON pointers, $id (id in draft-04), $anchor and $dynamicAnchor (JSON Schema 2020-12 Core, sections 8.2 and
// 8.3). Only schemas are searched, and neither values such as those in default or enum nor unknown keywords, unless a
// reference leads there. It returns nil for a document beyond the limits of Compile.
func Refs(doc any) []Ref {
	if measureSchema(doc) != nil {
		return nil
	}
	dialect := DialectOf(doc)
	x := refIndex{
		draft04:        drafts[dialect] == jsonschema.Draft4,
		countsSiblings: countsSiblings(dialect),
		named:          map[string]target{},
		seen:           map[string]bool{},
	}
	base, _ := url.Parse(schemaURL)
	x.named[schemaURL] = target{doc, ""}
	x.addSchema(target{doc, ""}, base)
	for i := 0; i < len(x.refs); i++ { // it grows as references lead to new places
		x.resolve(&x.refs[i].Ref, x.refs[i].base)
	}
	var refs []Ref
	for _, r := range x.refs {
		refs = append(refs, r.Ref)
	}
	slices.SortFunc(refs, func(a, b Ref) int { return strings.Compare(a.Path, b.Path) })
	return refs
}

// countsSiblings reports whether keywords next to a $ref count in a dialect, as they do since 2019-09.
func countsSiblings(dialect string) bool {
	switch drafts[dialect] {
	case jsonschema.Draft4, jsonschema.Draft6, jsonschema.Draft7:
		return false
	}
	return true
}

// refIndex collects the references of a document, and their possible targets.
type refIndex struct {
	draft04        bool
	countsSiblings bool
	// named are resources, and anchors with #, by their absolute URLs.
	named map[string]target
	// seen are the JSON pointers to the schemas visited so far.
	seen map[string]bool
	refs []basedRef
}

type basedRef struct {
	Ref
	base *url.URL
}

// target is a value in the document with its JSON pointer.
type target struct {
	value any
	path  string
}

// addSchema collects the references and names in a schema and all schemas below it.
func (x *refIndex) addSchema(t target, base *url.URL) {
	object, ok := t.value.(map[string]any)
	if !ok || x.seen[t.path] {
		return
	}
	x.seen[t.path] = true
	base = x.addNames(object, t, base)
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if text, ok := object[keyword].(string); ok {
			x.refs = append(x.refs, basedRef{Ref{Path: t.path + "/" + keyword, Target: text}, base})
		}
	}
	for _, sub := range subschemas(object) {
		x.addSchema(target{sub.value, t.path + sub.path}, base)
	}
}

// subschema is a schema directly below another one.
type subschema struct {
	target // its path begins at the schema above
	// keyword is the keyword that the schema is, or is in, the value of.
	keyword string
	// name is the name in that value if it is a map of schemas.
	name string
}

// subschemas lists the schemas directly below one, ordered by the names of keywords and members. The value of an
// unknown keyword is not a schema.
func subschemas(object map[string]any) []subschema {
	var list []subschema
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		value, path := object[keyword], "/"+escapeToken(keyword)
		switch keyword {
		case "not", "if", "then", "else", "additionalItems", "additionalProperties", "unevaluatedItems",
			"unevaluatedProperties", "contains", "propertyNames", "contentSchema":
			list = append(list, subschema{target{value, path}, keyword, ""})
		case "items", "allOf", "anyOf", "oneOf", "prefixItems":
			entries, ok := value.([]any)
			if !ok {
				list = append(list, subschema{target{value, path}, keyword, ""})
			}
			for i, entry := range entries {
				list = append(list, subschema{target{entry, path + "/" + strconv.Itoa(i)}, keyword, ""})
			}
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			members, _ := value.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(members)) {
				list = append(list, subschema{target{members[name], path + "/" + escapeToken(name)}, keyword, name})
			}
		}
	}
	return list
}

// addNames collects the names that a schema gives itself, and returns the base URL inside it.
func (x *refIndex) addNames(object map[string]any, t target, base *url.URL) *url.URL {
	idKeyword := "$id"
	if x.draft04 {
		idKeyword = "id"
	}
	id, _ := object[idKeyword].(string)
	if _, isRef := object["$ref"]; isRef && !x.countsSiblings {
		id = ""
	}
	resource, fragment, _ := strings.Cut(id, "#")
	if u, err := base.Parse(resource); err == nil && resource != "" {
		base = u
		x.named[base.String()] = t
	}
	if fragment != "" { // an anchor, before 2019-09
		x.named[base.String()+"#"+fragment] = t
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := object[keyword].(string); ok {
			x.named[base.String()+"#"+anchor] = t
		}
	}
	return base
}

// resolve finds the target of a reference, and collects what is there.
func (x *refIndex) resolve(r *Ref, base *url.URL) {
	resource, fragment, _ := strings.Cut(r.Target, "#")
	u, err := base.Parse(resource)
	if err != nil {
		return
	}
	if resource == "" {
		u = base
	}
	root, ok := x.named[u.String()]
	if !ok {
		r.External = true
		r.Resolves = drafts[DialectOf(map[string]any{"$schema": u.String()})] != nil && fragment == ""
		return
	}
	fragment, err = url.PathUnescape(fragment)
	if err != nil {
		return
	}
	to, ok := root, true
	if strings.HasPrefix(fragment, "/") {
		to, ok = resolvePointer(root, fragment)
	} else if fragment != "" {
		to, ok = x.named[u.String()+"#"+fragment]
	}
	if !ok {
		return
	}
	switch to.value.(type) {
	case map[string]any, bool:
		r.Resolves = true
		x.addSchema(to, u)
	}
}

// resolvePointer follows a JSON pointer.
func resolvePointer(t target, pointer string) (target, bool) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch value := t.value.(type) {
		case map[string]any:
			member, ok := value[token]
			if !ok {
				return t, false
			}
			t = target{member, t.path + "/" + escapeToken(token)}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(value) {
				return t, false
			}
			t = target{value[i], t.path + "/" + token}
		default:
			return t, false
		}
	}
	return t, true
}
