package prompts

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// listChecks are the checks of prompts/list.
var listChecks = check.Suite{
	"prompts/capability-declared": check.Probe(func(t *check.T) { toolcall.ExpectDeclared(t, "prompts") }),

	"prompts/list-works": check.Probe(func(t *check.T) { toolcall.ExpectList(t, "prompts") }),

	"prompts/list-params-optional": check.Probe(func(t *check.T) {
		protocol.ExpectParamsOptional(t,
			protocol.PagedLists[1])
	}),

	"prompts/list-result-schema": check.Probe(func(t *check.T) {
		pages := listPages(t)
		if !slices.ContainsFunc(pages, hasPrompts) {
			t.Skip(check.NotOffered, "the server lists no prompt")
		}
		t.Each(pages, func(t *check.T, page check.Subject) {
			rules := protocol.Violations(t, "prompts/list-result-schema", "ListPromptsResult", page.Value)
			t.Expect(rules).To(check.BeEmptyList[string]("a valid ListPromptsResult"))
		})
	}),

	"prompts/name-unique": check.Probe(func(t *check.T) {
		again := duplicateNames(listPages(t))
		if len(t.Server.Prompts) == 0 {
			t.Skip(check.NotOffered, "the server lists no prompt")
		}
		if len(again) > 0 { // a list that changes between pages may have an item twice
			still := duplicateNames(readPages(t))
			again = slices.DeleteFunc(again, func(name string) bool { return !slices.Contains(still, name) })
		}
		t.Expect(again).To(check.BeEmptyList[string]("each name once"))
	}),

	"prompts/argument-names-unique": check.Probe(func(t *check.T) {
		eachPromptWithArguments(t, func(t *check.T, prompt check.Subject) {
			t.Expect(toolcall.Duplicates(namesOf(protocol.ObjectsIn(prompt.Value["arguments"])))).To(
				check.BeEmptyList[string]("each name of an argument once"))
		})
	}),

	"prompts/list-changed-sent": check.Probe(func(t *check.T) { toolcall.ExpectListChangeNotified(t, "prompts") }),

	"prompts/title-type": check.Probe(func(t *check.T) {
		var titled []check.Subject
		for _, prompt := range toolcall.ListedPrompts(t) {
			for _, named := range append([]check.M{prompt.Value}, protocol.ObjectsIn(prompt.Value["arguments"])...) {
				if check.HasMember(named, "title") {
					titled = append(titled, check.Subject{Name: prompt.Name, Value: named})
				}
			}
		}
		if len(titled) == 0 {
			t.Skip(check.NotOffered, "no prompt and no argument has a title")
		}
		t.Each(titled, func(t *check.T, named check.Subject) { t.Expect(named.Value["title"]).To(check.BeString()) })
	}),
}

// listPages returns the pages of the list, which are read once for all checks.
func listPages(t *check.T) []check.Subject { return check.Step(t, "pages of prompts/list", readPages) }

func readPages(t *check.T) (pages []check.Subject) {
	check.FollowPages(t, t.Session(), "prompts/list", "prompts", func(page check.M) {
		pages = append(pages, check.Subject{Name: "page " + check.Show(len(pages)+1), Value: page})
	})
	return pages
}

func hasPrompts(page check.Subject) bool { return len(page.Value["prompts"].([]any)) > 0 }

// duplicateNames returns the names that are on the pages more than once.
func duplicateNames(pages []check.Subject) []string {
	var names []string
	for _, page := range pages {
		names = append(names, namesOf(protocol.ObjectsIn(page.Value["prompts"]))...)
	}
	return toolcall.Duplicates(names)
}

// namesOf returns the names of objects that have one.
func namesOf(things []check.M) (names []string) {
	for _, thing := range things {
		if name, ok := thing["name"].(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// eachPromptWithArguments runs a check on the prompts that have arguments.
func eachPromptWithArguments(t *check.T, run func(*check.T, check.Subject)) {
	with := slices.DeleteFunc(toolcall.ListedPrompts(t), func(prompt check.Subject) bool {
		return len(protocol.ObjectsIn(prompt.Value["arguments"])) == 0
	})
	if len(with) == 0 {
		t.Skip(check.NotOffered, "no prompt has arguments")
	}
	t.Each(with, run)
}
