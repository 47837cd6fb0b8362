package schema

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var annotationChecks = Suite{
	"schema/annotations-audience": Watch(func(t *T, w Wire) {
		expectNoViolations(t, "schema/annotations-audience", "an audience that lists user and assistant",
			"annotation of an audience", validateMessages(t, w).Filter(hasAnnotation("audience")))
	}),

	"schema/annotations-priority": Watch(func(t *T, w Wire) {
		expectNoViolations(t, "schema/annotations-priority", "a priority from 0 to 1",
			"annotation of a priority", validateMessages(t, w).Filter(hasAnnotation("priority")))
	}),

	"schema/annotations-last-modified": Watch(func(t *T, w Wire) {
		all := validateMessages(t, w)
		expectNoViolations(t, "schema/annotations-last-modified", "lastModified that is a string",
			"annotation of lastModified", all.Filter(hasAnnotation("lastModified")))
		Judge(t, "annotations", all.Parts("annotations"), part.Subject, func(t *T, p part) {
			annotations, _ := contentAnnotations(p)
			if !HasMember(annotations, "lastModified") {
				t.WithReason(NotOffered).Skip("annotations have no lastModified")
			}
			t.ExpectShould(annotations["lastModified"]).To(Satisfy("an ISO 8601 timestamp",
				timestampPattern.MatchString))
		})
	}),

	"schema/annotations-not-tool-annotations": Watch(func(t *T, w Wire) {
		Judge(t, "annotations", validateMessages(t, w).Parts("annotations"), part.Subject, func(t *T, p part) {
			wanted := "Annotations"
			foreign := []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
			if p.kind == "Tool" {
				wanted, foreign = "ToolAnnotations", []string{"audience", "priority"}
			}
			annotations, _ := p.value.(M)
			for _, member := range foreign {
				t.Expect(!HasMember(annotations, member)).To(BeTrue("annotations of the type "+wanted, "%s", member))
			}
		})
	}),
}

// hasAnnotation passes messages with annotations of content that have the member.
func hasAnnotation(member string) func(validatedMessage) bool {
	return func(x validatedMessage) bool {
		return slices.ContainsFunc(x.parts, func(p part) bool {
			annotations, ok := contentAnnotations(p)
			return ok && HasMember(annotations, member)
		})
	}
}

// contentAnnotations are the annotations of a resource, a template or content; those of tools are another type.
func contentAnnotations(p part) (annotations M, ok bool) {
	if p.member != "annotations" || p.kind == "Tool" {
		return nil, false
	}
	annotations, ok = p.value.(M)
	return annotations, ok
}
