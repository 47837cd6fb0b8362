package prompts

import (
	"slices"

	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var lists = Suite{
	"prompts/capability-declared": Probe(func(t *T) { kit.ExpectDeclared(t, "prompts") }),

	"prompts/list-works": Probe(func(t *T) { kit.ExpectList(t, "prompts") }),

	"prompts/list-params-optional": Probe(func(t *T) { kit.WantParamsOptional(t, kit.Lists[1]) }),

	"prompts/list-result-schema": Probe(func(t *T) {
		pages := pagesOf(t)
		if !slices.ContainsFunc(pages, hasPrompts) {
			t.Because(NotOffered).Skip("the server lists no prompt")
		}
		t.Each(pages, func(t *T, page Subject) {
			rules := kit.Broken(t, "prompts/list-result-schema", "ListPromptsResult", page.Value)
			t.Expect(rules).To(BeEmptyList[string]("a valid ListPromptsResult"))
		})
	}),

	"prompts/name-unique": Probe(func(t *T) {
		again := namesAgain(pagesOf(t))
		if len(t.Server.Prompts) == 0 {
			t.Because(NotOffered).Skip("the server lists no prompt")
		}
		if len(again) > 0 { // a list that changes from page to page may show one twice
			still := namesAgain(readPages(t))
			again = slices.DeleteFunc(again, func(name string) bool { return !slices.Contains(still, name) })
		}
		t.Expect(again).To(BeEmptyList[string]("each name once"))
	}),

	"prompts/argument-names-unique": Probe(func(t *T) {
		eachWithArguments(t, func(t *T, prompt Subject) {
			t.Expect(kit.Repeated(namesOf(kit.ObjectsIn(prompt.Value["arguments"])))).To(
				BeEmptyList[string]("each name of an argument once"))
		})
	}),

	"prompts/list-changed-sent": Probe(func(t *T) { kit.ExpectAnnounced(t, "prompts") }),

	"prompts/title-type": Probe(func(t *T) {
		var titled []Subject
		for _, prompt := range kit.ListedPrompts(t) {
			for _, named := range append([]M{prompt.Value}, kit.ObjectsIn(prompt.Value["arguments"])...) {
				if Has(named, "title") {
					titled = append(titled, Subject{Name: prompt.Name, Value: named})
				}
			}
		}
		if len(titled) == 0 {
			t.Because(NotOffered).Skip("no prompt and no argument has a title")
		}
		t.Each(titled, func(t *T, named Subject) { t.Expect(named.Value["title"]).To(BeString()) })
	}),
}

// pagesOf are the pages of the list, read once for all checks that judge them.
func pagesOf(t *T) []Subject { return Step(t, "pages of prompts/list", readPages) }

func readPages(t *T) (pages []Subject) {
	FollowPages(t, t.Session(), "prompts/list", "prompts", func(page M) {
		pages = append(pages, Subject{Name: "page " + Show(len(pages)+1), Value: page})
	})
	return pages
}

func hasPrompts(page Subject) bool { return len(page.Value["prompts"].([]any)) > 0 }

// namesAgain are the names that are on the pages more than once.
func namesAgain(pages []Subject) []string {
	var names []string
	for _, page := range pages {
		names = append(names, namesOf(kit.ObjectsIn(page.Value["prompts"]))...)
	}
	return kit.Repeated(names)
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

// eachWithArguments tries a check on the prompts that have arguments.
func eachWithArguments(t *T, run func(*T, Subject)) {
	with := slices.DeleteFunc(kit.ListedPrompts(t), func(prompt Subject) bool {
		return len(kit.ObjectsIn(prompt.Value["arguments"])) == 0
	})
	if len(with) == 0 {
		t.Because(NotOffered).Skip("no prompt has arguments")
	}
	t.Each(with, run)
}
