package schemas

import (
	"maps"
	"slices"
	"strings"
)

// HasMember reports whether values of a definition can have a member by the schema of the revision, that of an
// extension included; of any definition if its name is empty. The steps to the member are those of a JSON Pointer, in
// which * is any step and ** any number of steps. A value that an enum does not list is a step below its member.
func HasMember(revision, definition string, steps ...string) bool {
	set := messagesOf(revision)
	names := []string{definition}
	if definition == "" {
		names = slices.Collect(maps.Keys(set.schemas))
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return set.hasMember(set.schemas[name], steps, map[string]bool{})
	})
}

// hasMember is HasMember for a schema. searched are the definitions in which a ** at the beginning was looked for.
func (set *messageSet) hasMember(schema any, steps []string, searched map[string]bool) bool {
	if len(steps) == 0 || len(steps) == 1 && steps[0] == "**" {
		return schema != nil
	}
	object, isObject := schema.(map[string]any)
	if !isObject {
		return false
	}
	isOpen := steps[0] == "**"
	if isOpen && set.hasMember(object, steps[1:], map[string]bool{}) {
		return true
	}
	if ref, isRef := object["$ref"].(string); isRef && !(isOpen && searched[ref]) {
		searched[ref] = searched[ref] || isOpen
		if set.hasMember(set.schemas[strings.TrimPrefix(ref, "#/$defs/")], steps, searched) {
			return true
		}
	}
	for _, alternative := range alternativesIn(object) {
		if set.hasMember(alternative, steps, searched) {
			return true
		}
	}
	if isOpen {
		return slices.ContainsFunc(memberSchemas(object, "*"), func(member any) bool {
			return set.hasMember(member, steps, searched)
		})
	}
	return slices.ContainsFunc(memberSchemas(object, steps[0]), func(member any) bool {
		return set.hasMember(member, steps[1:], map[string]bool{})
	})
}

// alternativesIn returns the schemas that apply to the same value as a schema, or may.
func alternativesIn(schema map[string]any) (all []any) {
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[keyword].([]any)
		all = append(all, list...)
	}
	return append(all, schema["then"], schema["else"])
}

// memberSchemas returns the schemas of the members that a step leads to: one of that name, any for *.
func memberSchemas(schema map[string]any, step string) []any {
	properties, _ := schema["properties"].(map[string]any)
	if step != "*" {
		return []any{properties[pointerUnescaper.Replace(step)], schema["additionalProperties"]}
	}
	all := append(slices.Collect(maps.Values(properties)), schema["additionalProperties"], schema["items"])
	if schema["enum"] != nil {
		all = append(all, map[string]any{})
	}
	return all
}

// pointerUnescaper turns a step of a JSON Pointer into a name (RFC 6901, section 3).
var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
