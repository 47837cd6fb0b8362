package runner

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/discovery"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// validateNames returns an error when mcpcheck.yaml names something that the server does not have.
func (j *serverRun) validateNames(ctx context.Context, server *check.Server) error {
	if err := j.validateExamples(ctx, server); err != nil {
		return err
	}
	if err := j.validateRequestNames(server, "protected-state", j.ProtectedState); err != nil {
		return err
	}
	return j.validateRequestNames(server, "state-once", j.StateOnce)
}

// validateRequestNames returns an error for a name under a key that nothing in the server's lists has, and no resource
// template may match.
func (j *serverRun) validateRequestNames(server *check.Server, key string, names []string) error {
	if server.Failure != "" || !server.HasAllTools {
		return nil // its lists are not known
	}
	have := slices.Concat(
		stringMembers(server.Tools, "name"), stringMembers(server.Prompts, "name"), stringMembers(server.Resources,
			"uri"),
	)
	for i, name := range names {
		if isURI := strings.Contains(name, ":"); isURI && len(server.Templates) > 0 || slices.Contains(have, name) {
			continue
		}
		return exit.Usagef("%s: the server lists no tool, prompt or resource %q%s", j.Location(key, i),
			name,
			text.NearestOrAll(name, have))
	}
	return nil
}

// stringMembers returns the strings that objects have in a member.
func stringMembers(objects []check.M, member string) (names []string) {
	for _, object := range objects {
		if name, isText := object[member].(string); isText {
			names = append(names, name)
		}
	}
	return names
}

// validateExamples returns an error for example arguments in mcpcheck.yaml that do not fit this server: for a tool that
// it does not list, with a property that the tool does not have, or not allowed by its inputSchema. Failures caused by
// them would count against the server.
func (j *serverRun) validateExamples(ctx context.Context, server *check.Server) error {
	if server.Failure != "" {
		return nil // its lists are not known
	}
	tools := map[string]check.M{}
	add := func(all []check.M) {
		for _, tool := range all {
			name, _ := tool["name"].(string)
			tools[name] = tool
		}
	}
	add(server.Tools)
	isUnlisted := func(name string) bool { return tools[name] == nil }
	if server.HasAllTools && slices.ContainsFunc(slices.Sorted(maps.Keys(j.Arguments)), isUnlisted) {
		add(discovery.ToolsForCapabilities(ctx, j.target.DriverTarget, server,
			protocol.AllCapabilities(server.Revision)))
	}
	for _, name := range slices.Sorted(maps.Keys(j.Arguments)) {
		tool, listed := tools[name]
		switch {
		case !listed && !server.HasAllTools:
			continue // it may be in a part of the list that could not be read
		case !listed:
			return exit.Usagef("%s: the server lists no tool %q%s", j.Location("arguments", name), name,
				text.NearestOrAll(name, slices.Sorted(maps.Keys(tools))))
		}
		if err := j.validateExample(name, tool, server.Revision); err != nil {
			return err
		}
	}
	return nil
}

// validateExample returns an error for example arguments that do not fit a tool.
func (j *serverRun) validateExample(name string, tool check.M, revision string) error {
	schema, _ := tool["inputSchema"].(check.M)
	properties, _ := schema["properties"].(check.M)
	open := len(properties) == 0 || allowsOtherProperties(schema)
	for _, property := range slices.Sorted(maps.Keys(j.Arguments[name])) {
		if _, has := properties[property]; !has && !open {
			return exit.Usagef("%s: the tool %s has no property %q%s", j.Location("arguments", name, property), name,
				property,
				text.NearestOrAll(property, slices.Sorted(maps.Keys(properties))))
		}
	}
	compiled, err := schemas.Compile(tool["inputSchema"], revision)
	if err != nil {
		return nil // checks report invalid schemas
	}
	var limit *schemas.LimitError // then the arguments are not decided
	if err := compiled.Validate(j.Arguments[name]); err != nil && !errors.As(err, &limit) {
		return exit.Usagef("%s: the inputSchema of the tool %s does not allow these: %w",
			j.Location("arguments", name), name, err)
	}
	return nil
}

// allowsOtherProperties reports whether a schema has keywords that allow properties outside its own list.
func allowsOtherProperties(schema check.M) bool {
	return slices.ContainsFunc([]string{
		"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames",
		"$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies",
	}, func(keyword string) bool { return schema[keyword] != nil && schema[keyword] != false })
}
