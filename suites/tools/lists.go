package tools

import (
	"errors"
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/kit/protocol"
	"github.com/mcpcheck/mcpcheck/suites/kit/toolcall"
)

// listChecks are the checks of tools/list.
var listChecks = check.Suite{
	"tools/capability-declared": check.Probe(func(t *check.T) { toolcall.ExpectDeclared(t, "tools") }),

	"tools/list-works": check.Probe(func(t *check.T) { toolcall.ExpectList(t, "tools") }),

	"tools/list-ends": check.Probe(func(t *check.T) {
		pages, err := readAllPages(t)
		endless := (*check.EndlessListError)(nil)
		t.Expect(!errors.As(err, &endless)).To(check.BeTrue("a page without nextCursor in the end", "%v", err))
		switch {
		case errors.Is(err, check.ErrTooManyPages):
			t.NoVerdict(check.Limit, "%v", err)
		case err != nil:
			t.Retry(check.Undecided, "%v", check.Explain(err))
		case pages.pageCount < 2:
			t.Skip(check.NotOffered, "the list has one page")
		}
		protocol.ExpectEnd(t, protocol.PagedLists[0])
	}),

	"tools/list-params-optional": check.Probe(func(t *check.T) {
		protocol.ExpectParamsOptional(t, protocol.PagedLists[0])
	}),

	"tools/list-result-schema": check.Probe(func(t *check.T) {
		pages := requireWholeList(t)
		if pages.items == 0 {
			t.Skip(check.NotOffered, "the server lists no tool")
		}
		check.Each(t, pages.pages, listPage.subject, func(t *check.T, p listPage) {
			t.Expect(p.violations).To(check.BeEmptyList[string]("a valid ListToolsResult"))
		})
	}),

	"tools/name-unique": check.Probe(func(t *check.T) {
		names := requireWholeList(t)
		if names.firstPositions == nil {
			t.Skip(check.NotOffered, "the server lists no tool")
		}
		t.Expect(names.duplicateNames).To(check.BeEmptyList[string]("each name once"))
		if len(names.repeatedNames) > 0 && readList(t).digest == names.digest {
			t.Expect(names.repeatedNames).To(check.BeEmptyList[string]("each tool on one page"))
		}
		t.ExpectAdvice(names.repeatedNames).
			To(check.BeEmptyList[string]("each tool on one page, also while the list changes"))
	}),

	"tools/deterministic-order": check.Probe(func(t *check.T) {
		const listings, comparisons = 6, 2
		calls := lastListedCalls(t)
		s := t.Session()
		order := func() []string { return protocol.ToolNames(t, s, check.M{}) }
		first, compared := order(), 0
		if len(first) < 2 {
			t.Skip(check.NotOffered, "the server lists fewer than two tools")
		}
		for n := 1; n < listings && compared < comparisons; n++ {
			next := order()
			if !slices.Equal(protocol.Sorted(first), protocol.Sorted(next)) {
				first = next
				continue
			}
			compared++
			t.Expect(next).To(check.Satisfy("the order of the listing before: "+check.Show(first),
				func(names []string) bool {
					return slices.Equal(names, first)
				}))
		}
		if compared == 0 {
			t.Skip(check.NotApplicable, "the list changes from one request to the next, %d times in a row", listings-1)
		}
		if t.IsModern() && t.Site() == nil && !t.IsQuick() {
			var discovered []string
			for _, tool := range toolcall.ListedTools(t) {
				discovered = append(discovered, tool.Name)
			}
			names := protocol.ToolNames(t, check.OtherConnection(t), check.M{})
			for _, here := range [][]string{first, discovered} { // calls of other checks may have changed the set
				if slices.Equal(protocol.Sorted(here), protocol.Sorted(names)) {
					t.Expect(names).To(check.Satisfy("the order of another process: "+check.Show(here),
						func(names []string) bool { return slices.Equal(names, here) }))
				}
			}
		}
		for _, c := range calls {
			t.Send(s, "tools/call", toolcall.WithAllCapabilities(t, check.M{"name": c.Tool.Name,
				"arguments": c.Arguments}), check.AllowSilence)
		}
		if next := order(); slices.Equal(protocol.Sorted(first), protocol.Sorted(next)) {
			t.Expect(next).To(check.Satisfy("the order before tools were called: "+check.Show(first),
				func(names []string) bool { return slices.Equal(names, first) }))
		}
	}),
}

// lastListedCalls are calls of a few tools that may be called again, the last one of the list at first: a server may
// list what was called before the others. Tools that take their time are not called for it.
func lastListedCalls(t *check.T) []toolcall.ToolCall {
	const most = 2
	if t.IsQuick() || check.SavesRequests(t) || len(t.Server.Tools) == 0 {
		return nil
	}
	calls := slices.DeleteFunc(toolcall.RepeatableCalls(toolcall.ValidCalls(t)), func(c toolcall.ToolCall) bool {
		return c.Duration > toolcall.MaxVariedDuration
	})
	place := func(c toolcall.ToolCall) int {
		return slices.IndexFunc(t.Server.Tools, func(tool check.M) bool { return tool["name"] == c.Tool.Name })
	}
	slices.SortStableFunc(calls, func(a, b toolcall.ToolCall) int { return place(b) - place(a) })
	return calls[:min(most, len(calls))]
}

// toolPosition is the page on which a tool was listed, with the fingerprint of its definition.
type toolPosition struct {
	page        int
	fingerprint uint64
}

// toolList holds what the pages of a list contain.
type toolList struct {
	pageCount int
	items     int
	pages     []listPage
	// firstPositions are the first positions of the tools by name.
	firstPositions map[string]toolPosition
	// duplicateNames are the names of several different tools.
	duplicateNames []string
	// repeatedNames are the names of tools that are on several pages.
	repeatedNames []string
	// digest is a fingerprint of all tools in their order.
	digest uint64
	// err is why the list was not read to its end; nil if it was.
	err error
}

// readAllPages reads the list once for all checks. The error says why its end was not reached.
func readAllPages(t *check.T) (toolList, error) {
	l := check.Step(t, "pages of tools/list", readList)
	return l, l.err
}

// requireWholeList returns the list. If it was not read to its end, it ends the check.
func requireWholeList(t *check.T) toolList {
	l, err := readAllPages(t)
	if err != nil {
		t.Retry(check.Undecided, "%v", check.Explain(err))
	}
	return l
}

// readList follows the list through all pages.
func readList(t *check.T) (l toolList) {
	if l.err = check.KnownUnanswered(t, "tools/list"); l.err == nil {
		l.err = check.EachPage(t.Session(), "tools/list", "tools", check.M{}, func(page check.M) { l.add(t, page) })
	}
	return l
}

// add adds the next page.
func (l *toolList) add(t *check.T, page check.M) {
	l.pageCount++
	l.items += len(page["tools"].([]any))
	judged := listPage{number: l.pageCount, violations: protocol.Violations(t, "tools/list-result-schema",
		"ListToolsResult",
		page)}
	if judged.violations != nil {
		judged.result = page // the items of valid pages are not kept, since lists may be long
	}
	l.pages = append(l.pages, judged)
	for _, tool := range protocol.ObjectsIn(page["tools"]) {
		name, named := tool["name"].(string)
		here := toolPosition{l.pageCount, driver.Fingerprint(tool)}
		l.digest = driver.Fingerprint([]any{l.digest, here.page, here.fingerprint})
		earlier, known := l.firstPositions[name]
		switch {
		case !named:
		case known && earlier.page != here.page && earlier.fingerprint == here.fingerprint:
			l.repeatedNames = append(l.repeatedNames, name)
		case known:
			l.duplicateNames = append(l.duplicateNames, name)
		default:
			if l.firstPositions == nil {
				l.firstPositions = map[string]toolPosition{}
			}
			l.firstPositions[name] = here
		}
	}
}

// listPage is a page of a list with the rules of the schema that it violates.
type listPage struct {
	number int
	// result is nil if there are no violations.
	result     check.M
	violations []string
}

func (p listPage) subject() check.Subject {
	return check.Subject{Name: "page " + check.Show(p.number), Value: p.result}
}
