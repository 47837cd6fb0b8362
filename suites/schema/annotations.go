package schema

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
)

var annotations = Suite{
	"schema/annotations-audience": Watch(func(t *T, w Wire) {
		expectNone(t, "schema/annotations-audience", "an audience that lists user and assistant",
			"annotation of an audience", examine(t, w).Of(annotating("audience")))
	}),

	"schema/annotations-priority": Watch(func(t *T, w Wire) {
		expectNone(t, "schema/annotations-priority", "a priority from 0 to 1",
			"annotation of a priority", examine(t, w).Of(annotating("priority")))
	}),

	"schema/annotations-last-modified": Watch(func(t *T, w Wire) {
		all := examine(t, w)
		expectNone(t, "schema/annotations-last-modified", "lastModified that is a string",
			"annotation of lastModified", all.Of(annotating("lastModified")))
		Judge(t, "annotations", all.Parts("annotations"), part.Subject, func(t *T, p part) {
			annotations, _ := contentAnnotations(p)
			if !Has(annotations, "lastModified") {
				t.Because(NotOffered).Skip("annotations have no lastModified")
			}
			t.Warn(annotations["lastModified"]).To(That("an ISO 8601 timestamp", timestamp.MatchString))
		})
	}),

	"schema/annotations-not-tool-annotations": Watch(func(t *T, w Wire) {
		Judge(t, "annotations", examine(t, w).Parts("annotations"), part.Subject, func(t *T, p part) {
			wanted := "Annotations"
			foreign := []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
			if p.kind == "Tool" {
				wanted, foreign = "ToolAnnotations", []string{"audience", "priority"}
			}
			annotations, _ := p.value.(M)
			for _, member := range foreign {
				t.Expect(!Has(annotations, member)).To(Hold("annotations of the type "+wanted, "%s", member))
			}
		})
	}),
}

// annotating passes messages with annotations of content that have the member.
func annotating(member string) func(exam) bool {
	return func(x exam) bool {
		return slices.ContainsFunc(x.parts, func(p part) bool {
			annotations, ok := contentAnnotations(p)
			return ok && Has(annotations, member)
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
