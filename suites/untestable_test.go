package suites

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestUntestableIsValid holds each requirement without a check against its vocabulary: it is in an area, it is not an
// entry of that area as well, and its texts are sentences that name entries which exist.
func TestUntestableIsValid(t *testing.T) {
	seen := map[string]bool{}
	last := 0 // area
	for _, u := range Untestable() {
		legal := func(ok bool, what string) {
			t.Helper()
			if !ok {
				t.Errorf("%s: %s", u.ID, what)
			}
		}
		_, isEntry := Find(u.ID)
		legal(!isEntry, "it is an entry of the catalogue")
		legal(!seen[u.ID], "a second requirement of this id")
		seen[u.ID] = true
		area := slices.IndexFunc(Areas, func(a Area) bool { return a.Name == catalogue.AreaOf(u.ID) })
		legal(area >= 0, "unknown area")
		legal(area >= last, "it is not in the order of areas")
		last = max(area, last)
		legal(u.Level != 0 && u.Level != catalogue.Advice, "the level is not one of the specification")
		legal(len(u.ApplicableRevisions()) > 0, "holds in no revision")
		for _, revision := range u.ApplicableRevisions() {
			legal(strings.HasPrefix(u.URL(revision), "https://"), "no page in "+revision)
		}
		for _, text := range []string{u.Statement, u.Reason} {
			legal(isSentence(text), "not a sentence: "+text)
			for _, id := range unknownIDs(text) {
				legal(false, "names "+id+", which does not exist")
			}
		}
	}
	if len(seen) == 0 {
		t.Error("there are none")
	}
}

// isSentence reports whether a text begins with a capital, or with a name of the protocol, and ends with a stop.
func isSentence(text string) bool { return sentence.MatchString(text) }

var sentence = regexp.MustCompile(`(?s)^([A-Z]|[a-z]+[A-Z/]|https |stdio ).*[^.]\.$`)

// hyphenated finds what can only be the id of an entry, or a glob: methods have no hyphen.
var hyphenated = regexp.MustCompile(`[a-z-]+/[a-z0-9]+-[a-z0-9-]*[a-z0-9*]`)

// unknownIDs are the ids and globs in a text that name no requirement.
func unknownIDs(text string) (ids []string) {
	for _, id := range hyphenated.FindAllString(text, -1) {
		names := func(other string) bool { matches, _ := path.Match(id, other); return matches }
		if !slices.ContainsFunc(All(), func(r *catalogue.Requirement) bool { return names(r.ID) }) &&
			!slices.ContainsFunc(Untestable(), func(u catalogue.Untestable) bool { return names(u.ID) }) {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestUnknownIDs(t *testing.T) {
	text := "tools/call, tools/unknown-tool-*, ping/empty-result, auth/token-storage, " +
		"but not ping/no-such or tools/zoo-*."
	if got, want := unknownIDs(text), []string{"ping/no-such", "tools/zoo-*"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
