package suites

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestSentencesAreJudged proves that each sentence that binds servers has what judges it, or the reason why nothing
// does.
func TestSentencesAreJudged(t *testing.T) {
	for _, wrong := range wrongSentences(Sentences()) {
		t.Error(wrong)
	}
	for _, wrong := range wrongOrder(Sentences()) {
		t.Error(wrong)
	}
	if len(Sentences()) == 0 {
		t.Error("there are none")
	}
}

// wrongSentences says which sentences lack what judges them, or name what does not judge them.
func wrongSentences(all []catalogue.Sentence) (wrong []string) {
	for _, s := range all {
		report := func(format string, args ...any) {
			where := fmt.Sprintf("%s %s %d: ", s.Revision, s.Page, s.Ordinal)
			wrong = append(wrong, where+fmt.Sprintf(format, args...))
		}
		if s.BindsServers() && len(s.IDs) == 0 && s.Reason == "" {
			report("it binds servers, and has neither an id nor a reason")
		}
		for i, id := range s.IDs {
			switch exists, holds := holdsIn(id, s.Revision); {
			case !exists:
				report("%s does not exist", id)
			case !holds:
				report("%s does not hold in this revision", id)
			case slices.Contains(s.IDs[:i], id):
				report("%s is there twice", id)
			}
		}
		if s.Reason != "" && !isSentence(s.Reason) {
			report("the reason is no sentence: %s", s.Reason)
		}
	}
	return wrong
}

// holdsIn reports whether there is an entry or a requirement without a check of this id, and whether it holds in the
// revision.
func holdsIn(id, revision string) (exists, holds bool) {
	if r, found := Find(id); found {
		return true, r.AppliesIn(revision)
	}
	i := slices.IndexFunc(Untestable(), func(u catalogue.Untestable) bool { return u.ID == id })
	return i >= 0, i >= 0 && Untestable()[i].Spec[revision] != ""
}

// wrongOrder says where sentences are not in the order of revisions and pages, or are not counted from 1.
func wrongOrder(all []catalogue.Sentence) (wrong []string) {
	var last catalogue.Sentence
	seen := map[string]bool{} // headings
	for _, s := range all {
		heading := s.Revision + " " + s.Page
		sameHeading := heading == last.Revision+" "+last.Page
		switch {
		case sameHeading && s.Ordinal != last.Ordinal+1, !sameHeading && s.Ordinal != 1:
			wrong = append(wrong, fmt.Sprintf("%s: %d is out of sequence", heading, s.Ordinal))
		case s.Revision < last.Revision, s.Revision == last.Revision && pageName(s) < pageName(last):
			wrong = append(wrong, fmt.Sprintf("%s comes after %s %s", heading, last.Revision, last.Page))
		case !sameHeading && seen[heading]:
			wrong = append(wrong, heading+" is there twice")
		}
		seen[heading] = true
		last = s
	}
	return wrong
}

// pageName is the page of a sentence without the anchor.
func pageName(s catalogue.Sentence) string {
	name, _, _ := strings.Cut(s.Page, "#")
	return name
}

// TestEntriesHaveSentences proves that each entry whose level comes from a keyword is named by a sentence, if a page of
// the entry is among those that are counted.
func TestEntriesHaveSentences(t *testing.T) {
	pages, named := map[string]bool{}, map[string]bool{}
	for _, s := range Sentences() {
		pages[s.Revision+" "+pageName(s)] = true
		for _, id := range s.IDs {
			named[id] = true
		}
	}
	for _, r := range All() {
		isCounted := slices.ContainsFunc(r.ApplicableRevisions(), func(revision string) bool {
			name, _, _ := strings.Cut(r.Spec[revision], "#")
			return r.Level.In(revision) != catalogue.May && pages[revision+" "+name]
		})
		if r.Basis == "keyword" && isCounted && !named[r.ID] {
			t.Errorf("%s: no sentence of sentences.yaml names it", r.ID)
		}
	}
}

func TestWrongSentences(t *testing.T) {
	sentence := func(binds catalogue.Party, reason string, ids ...string) catalogue.Sentence {
		return catalogue.Sentence{Revision: "2025-11-25", Page: "a#b", Ordinal: 1, Keyword: "MUST", Binds: binds,
			Reason: reason, IDs: ids}
	}
	for _, tt := range []struct {
		sentence catalogue.Sentence
		want     string
	}{
		{sentence(catalogue.BindsServer, "", "ping/empty-result", "tools/access-control"), ""},
		{sentence(catalogue.BindsBoth, "Nobody can see it."), ""},
		{sentence(catalogue.BindsClient, ""), ""},
		{sentence(catalogue.BindsServer, ""), "it binds servers, and has neither an id nor a reason"},
		{sentence(catalogue.BindsBoth, ""), "it binds servers, and has neither an id nor a reason"},
		{sentence(catalogue.BindsServer, "", "ping/no-such"), "ping/no-such does not exist"},
		{sentence(catalogue.BindsClient, "", "ping/no-such"), "ping/no-such does not exist"},
		{sentence(catalogue.BindsServer, "", "discover/implemented"),
			"discover/implemented does not hold in this revision"},
		{sentence(catalogue.BindsServer, "", "mrtr/state-expiry"), "mrtr/state-expiry does not hold in this revision"},
		{sentence(catalogue.BindsServer, "", "ping/prompt", "ping/prompt"), "ping/prompt is there twice"},
		{sentence(catalogue.BindsServer, "planned: ping/prompt"), "the reason is no sentence: planned: ping/prompt"},
		{sentence(catalogue.BindsServer, "nobody can see it"), "the reason is no sentence: nobody can see it"},
	} {
		got := strings.Join(wrongSentences([]catalogue.Sentence{tt.sentence}), "\n")
		if strings.TrimPrefix(got, "2025-11-25 a#b 1: ") != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.sentence, got, tt.want)
		}
	}
}

func TestWrongOrder(t *testing.T) {
	at := func(revision, page string, ordinal int) catalogue.Sentence {
		return catalogue.Sentence{Revision: revision, Page: page, Ordinal: ordinal}
	}
	const old, later = "2025-11-25", "2026-07-28"
	for want, all := range map[string][]catalogue.Sentence{
		"": {at(old, "b", 1), at(old, "b", 2), at(old, "b#z", 1), at(old, "b#a", 1), at(later, "a", 1)},

		"2025-11-25 a: 2 is out of sequence":        {at(old, "a", 2)},
		"2025-11-25 a: 3 is out of sequence":        {at(old, "a", 1), at(old, "a", 3)},
		"2025-11-25 a: 1 is out of sequence":        {at(old, "a", 1), at(old, "a", 1)},
		"2025-11-25 a comes after 2025-11-25 b":     {at(old, "b", 1), at(old, "a", 1)},
		"2025-11-25 b comes after 2026-07-28 a":     {at(later, "a", 1), at(old, "b", 1)},
		"2025-11-25 a#b is there twice":             {at(old, "a#b", 1), at(old, "a#c", 1), at(old, "a#b", 1)},
		"2026-07-28 a#b comes after 2026-07-28 b#a": {at(later, "b#a", 1), at(later, "a#b", 1)},
	} {
		if got := strings.Join(wrongOrder(all), "\n"); got != want {
			t.Errorf("%+v: got %q, want %q", all, got, want)
		}
	}
}
