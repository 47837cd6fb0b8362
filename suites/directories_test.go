package suites

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
)

// TestDirectoryRules proves that each rule says where and when it was read, and what decides it or why nothing does.
func TestDirectoryRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range DirectoryRules() {
		if seen[r.ID] {
			t.Errorf("%s is there twice", r.ID)
		}
		seen[r.ID] = true
		if _, err := time.Parse(time.DateOnly, r.Date); err != nil || !strings.HasPrefix(r.Source, "https://") {
			t.Errorf("%s: it has the source %q and the date %q", r.ID, r.Source, r.Date)
		}
		if !isSentence(r.Rule) || r.Reason != "" && !isSentence(r.Reason) || r.Directory == "" {
			t.Errorf("%s: the rule or the reason is no sentence, or its directory has no name: %q, %q", r.ID, r.Rule,
				r.Reason)
		}
		if len(r.Checks) == 0 && r.Reason == "" {
			t.Errorf("%s has neither a check nor a reason", r.ID)
		}
		for _, id := range r.Checks {
			if entry, found := Find(id); !found || !slices.ContainsFunc(entry.DirectoryRules,
				func(given catalogue.DirectoryRule) bool { return given.ID == r.ID }) {
				t.Errorf("%s names %s, which does not exist, or does not have it", r.ID, id)
			}
		}
	}
	for _, id := range catalogue.DirectoryIDs {
		profile := catalogue.Directory + ":" + catalogue.Profile(id)
		blocks := func(r *catalogue.Requirement) bool { return profile.Rules(r.DirectoryRules) != nil }
		if !slices.ContainsFunc(All(), blocks) {
			t.Errorf("nothing blocks under --profile %s", profile)
		}
	}
}
