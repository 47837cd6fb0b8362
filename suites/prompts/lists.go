package prompts

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

var listChecks = Suite{
	"prompts/capability-declared": Probe(func(t *T) { toolcall.ExpectDeclared(t, "prompts") }),

	"prompts/list-works": Probe(func(t *T) { toolcall.ExpectList(t, "prompts") }),

	"prompts/list-params-optional": Probe(func(t *T) { protocol.ExpectParamsOptional(t, protocol.PagedLists[1]) }),

	"prompts/list-result-schema": Probe(func(t *T) {
		pages := listPages(t)
		if !slices.ContainsFunc(pages, hasPrompts) {
			t.WithReason(NotOffered).Skip("the server lists no prompt")
		}
		t.Each(pages, func(t *T, page Subject) {
			rules := protocol.Violations(t, "prompts/list-result-schema", "ListPromptsResult", page.Value)
			t.Expect(rules).To(BeEmptyList[string]("a valid ListPromptsResult"))
		})
	}),

	"prompts/name-unique": Probe(func(t *T) {
		again := duplicateNames(listPages(t))
		if len(t.Server.Prompts) == 0 {
			t.WithReason(NotOffered).Skip("the server lists no prompt")
		}
		if len(again) > 0 { // a list that changes from page to page may show one twice
			still := duplicateNames(readPages(t))
			again = slices.DeleteFunc(again, func(name string) bool { return !slices.Contains(still, name) })
		}
		t.Expect(again).To(BeEmptyList[string]("each name once"))
	}),

	"prompts/argument-names-unique": Probe(func(t *T) {
		eachPromptWithArguments(t, func(t *T, prompt Subject) {
			t.Expect(toolcall.Duplicates(namesOf(protocol.ObjectsIn(prompt.Value["arguments"])))).To(
				BeEmptyList[string]("each name of an argument once"))
		})
	}),

	"prompts/list-changed-sent": Probe(func(t *T) { toolcall.ExpectListChangeNotified(t, "prompts") }),

	"prompts/title-type": Probe(func(t *T) {
		var titled []Subject
		for _, prompt := range toolcall.ListedPrompts(t) {
			for _, named := range append([]M{prompt.Value}, protocol.ObjectsIn(prompt.Value["arguments"])...) {
				if HasMember(named, "title") {
					titled = append(titled, Subject{Name: prompt.Name, Value: named})
				}
			}
		}
		if len(titled) == 0 {
			t.WithReason(NotOffered).Skip("no prompt and no argument has a title")
		}
		t.Each(titled, func(t *T, named Subject) { t.Expect(named.Value["title"]).To(BeString()) })
	}),
}

// listPages are the pages of the list, read once for all checks that judge them.
func listPages(t *T) []Subject { return Step(t, "pages of prompts/list", readPages) }

func readPages(t *T) (pages []Subject) {
	FollowPages(t, t.Session(), "prompts/list", "prompts", func(page M) {
		pages = append(pages, Subject{Name: "page " + Show(len(pages)+1), Value: page})
	})
	return pages
}

func hasPrompts(page Subject) bool { return len(page.Value["prompts"].([]any)) > 0 }

// duplicateNames are the names that are on the pages more than once.
func duplicateNames(pages []Subject) []string {
	var names []string
	for _, page := range pages {
		names = append(names, namesOf(protocol.ObjectsIn(page.Value["prompts"]))...)
	}
	return toolcall.Duplicates(names)
}

// namesOf are the names of things, as far as they have one.
func namesOf(things []M) (names []string) {
	for _, thing := range things {
		if name, ok := thing["name"].(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// eachPromptWithArguments tries a check on the prompts that have arguments.
func eachPromptWithArguments(t *T, run func(*T, Subject)) {
	with := slices.DeleteFunc(toolcall.ListedPrompts(t), func(prompt Subject) bool {
		return len(protocol.ObjectsIn(prompt.Value["arguments"])) == 0
	})
	if len(with) == 0 {
		t.WithReason(NotOffered).Skip("no prompt has arguments")
	}
	t.Each(with, run)
}
