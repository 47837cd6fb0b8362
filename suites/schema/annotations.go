package schema

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// annotationChecks are the checks of the annotations of resources, templates and content.
var annotationChecks = check.Suite{
	"schema/annotations-audience": check.Watch(func(t *check.T, w check.Wire) {
		expectNoViolations(t, "schema/annotations-audience", "an audience that lists user and assistant",
			"annotation of an audience", validateMessages(t, w).Filter(hasAnnotation("audience")))
	}),

	"schema/annotations-priority": check.Watch(func(t *check.T, w check.Wire) {
		expectNoViolations(t, "schema/annotations-priority", "a priority from 0 to 1",
			"annotation of a priority", validateMessages(t, w).Filter(hasAnnotation("priority")))
	}),

	"schema/annotations-last-modified": check.Watch(func(t *check.T, w check.Wire) {
		all := validateMessages(t, w)
		expectNoViolations(t, "schema/annotations-last-modified", "lastModified that is a string",
			"annotation of lastModified", all.Filter(hasAnnotation("lastModified")))
		check.Judge(t, "annotations", all.Parts("annotations"), part.Subject, func(t *check.T, p part) {
			annotations, _ := contentAnnotations(p)
			if !check.HasMember(annotations, "lastModified") {
				t.Skip(check.NotOffered, "annotations have no lastModified")
			}
			t.ExpectShould(annotations["lastModified"]).To(check.Satisfy("an ISO 8601 timestamp",
				timestampPattern.MatchString))
		})
	}),

	"schema/annotations-not-tool-annotations": check.Watch(func(t *check.T, w check.Wire) {
		check.Judge(t, "annotations", validateMessages(t, w).Parts("annotations"), part.Subject,
			func(t *check.T, p part) {
				wanted := "Annotations"
				foreign := []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
				if p.kind == "Tool" {
					wanted, foreign = "ToolAnnotations", []string{"audience", "priority"}
				}
				annotations, _ := p.value.(check.M)
				for _, member := range foreign {
					t.Expect(!check.HasMember(annotations, member)).To(check.BeTrue("annotations of the type "+wanted,
						"%s",
						member))
				}
			})
	}),
}

// hasAnnotation selects messages with annotations of content that have the member.
func hasAnnotation(member string) func(validatedMessage) bool {
	return func(x validatedMessage) bool {
		return slices.ContainsFunc(x.parts, func(p part) bool {
			annotations, ok := contentAnnotations(p)
			return ok && check.HasMember(annotations, member)
		})
	}
}

// contentAnnotations returns the annotations of a resource, a template or content. Those of tools have another type.
func contentAnnotations(p part) (annotations check.M, ok bool) {
	if p.member != "annotations" || p.kind == "Tool" {
		return nil, false
	}
	annotations, ok = p.value.(check.M)
	return annotations, ok
}
