package tools

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	. "github.com/mcpcheck/mcpcheck/suites/harness"
	"github.com/mcpcheck/mcpcheck/suites/kit"
)

var lists = Suite{
	"tools/capability-declared": Probe(func(t *T) { kit.ExpectDeclared(t, "tools") }),

	"tools/list-works": Probe(func(t *T) { kit.ExpectList(t, "tools") }),

	"tools/list-ends": Probe(func(t *T) {
		pages, err := allPages(t)
		endless := (*Endless)(nil)
		t.Expect(!errors.As(err, &endless)).To(Hold("a page without nextCursor in the end", "%v", err))
		switch {
		case errors.Is(err, ErrManyPages):
			t.Because(Limit).Inconclusive("%v", err)
		case err != nil:
			t.Again("%v", Explain(err))
		case pages.n < 2:
			t.Because(NotOffered).Skip("the list has one page")
		}
	}),

	"tools/list-params-optional": Probe(func(t *T) {
		kit.WantParamsOptional(t, kit.Lists[0])
	}),

	"tools/list-result-schema": Probe(func(t *T) {
		pages := wholeList(t)
		if pages.items == 0 {
			t.Because(NotOffered).Skip("the server lists no tool")
		}
		Each(t, pages.judged, judgedPage.subject, func(t *T, p judgedPage) {
			t.Expect(p.broken).To(BeEmptyList[string]("a valid ListToolsResult"))
		})
	}),

	"tools/name-unique": Probe(func(t *T) {
		names := wholeList(t)
		if names.first == nil {
			t.Because(NotOffered).Skip("the server lists no tool")
		}
		t.Expect(names.again).To(BeEmptyList[string]("each name once"))
		if len(names.onPages) > 0 && readList(t).digest == names.digest {
			t.Expect(names.onPages).To(BeEmptyList[string]("each tool on one page"))
		}
		t.Inform(names.onPages).To(BeEmptyList[string]("each tool on one page, also while the list changes"))
	}),

	"tools/deterministic-order": Probe(func(t *T) {
		const listings, comparisons = 6, 2
		s := t.Session()
		order := func() []string { return kit.ListNames(t, s, M{}) }
		first, compared := order(), 0
		if len(first) < 2 {
			t.Because(NotOffered).Skip("the server lists fewer than two tools")
		}
		for n := 1; n < listings && compared < comparisons; n++ {
			next := order()
			if !slices.Equal(kit.Sorted(first), kit.Sorted(next)) {
				first = next
				continue
			}
			compared++
			t.Expect(next).To(That("the order of the listing before: "+Show(first), func(names []string) bool {
				return slices.Equal(names, first)
			}))
		}
		if compared == 0 {
			t.Skip("the list changes from one request to the next, %d times in a row", listings-1)
		}
	}),
}

// place is where a tool was listed, and its definition.
type place struct {
	page int
	tool uint64
}

// listing is what the pages of a list say.
type listing struct {
	n       int // of pages
	items   int
	judged  []judgedPage
	first   map[string]place
	again   []string // names of several tools
	onPages []string // names of one tool that is on several pages
	digest  uint64   // of all tools in their places
	err     error    // why the list was not read to its end
}

// allPages reads the list, once for all checks that judge it. The error is that its end was not reached.
func allPages(t *T) (listing, error) {
	l := Step(t, "pages of tools/list", readList)
	return l, l.err
}

// wholeList is allPages for checks that cannot do without the end.
func wholeList(t *T) listing {
	l, err := allPages(t)
	if err != nil {
		t.Again("%v", Explain(err))
	}
	return l
}

// readList goes through all pages.
func readList(t *T) (l listing) {
	if l.err = KnownUnanswered(t, "tools/list"); l.err == nil {
		l.err = EachPage(t.Session(), "tools/list", "tools", M{}, func(page M) { l.add(t, page) })
	}
	return l
}

// add notes what the next page says.
func (l *listing) add(t *T, page M) {
	l.n++
	l.items += len(page["tools"].([]any))
	judged := judgedPage{number: l.n, broken: kit.Broken(t, "tools/list-result-schema", "ListToolsResult", page)}
	if judged.broken != nil {
		judged.result = page // a long list is not kept for nothing
	}
	l.judged = append(l.judged, judged)
	for _, tool := range kit.ObjectsIn(page["tools"]) {
		name, named := tool["name"].(string)
		here := place{l.n, driver.Fingerprint(tool)}
		l.digest = driver.Fingerprint([]any{l.digest, here})
		earlier, known := l.first[name]
		switch {
		case !named:
		case known && earlier.page != here.page && earlier.tool == here.tool:
			l.onPages = append(l.onPages, name)
		case known:
			l.again = append(l.again, name)
		default:
			if l.first == nil {
				l.first = map[string]place{}
			}
			l.first[name] = here
		}
	}
}

// judgedPage is a page of a list and the rules of its schema that it breaks.
type judgedPage struct {
	number int
	result M // nil when it breaks none
	broken []string
}

func (p judgedPage) subject() Subject {
	return Subject{Name: "page " + Show(p.number), Value: p.result}
}
