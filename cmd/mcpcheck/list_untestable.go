package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/explain"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// untestableEntry is a requirement without a check as JSON.
type untestableEntry struct {
	ID   string `json:"id"`
	Area string `json:"area"`
	// Levels are the levels by revision, as in explain.Entry.
	Levels    map[string]string `json:"levels"`
	Statement string            `json:"statement"`
	// Reason is why no check can decide it.
	Reason string `json:"reason"`
	// Spec are URLs of the specification, by revision.
	Spec map[string]string `json:"spec"`
}

// writeUntestable writes the requirements that no check can decide, each with the reason. An empty revision means all.
func writeUntestable(w io.Writer, revision string, asJSON bool) error {
	if _, err := requirementsIn(revision); err != nil {
		return err
	}
	entries, lines := []untestableEntry{}, &strings.Builder{}
	for _, u := range suites.Untestable() {
		if revision != "" && u.Spec[revision] == "" {
			continue
		}
		e := untestableEntry{
			ID: u.ID, Area: catalogue.AreaOf(u.ID), Levels: map[string]string{}, Statement: u.Statement,
			Reason: u.Reason, Spec: map[string]string{},
		}
		for _, in := range u.ApplicableRevisions() {
			e.Levels[in], e.Spec[in] = u.Level.String(), u.URL(in)
		}
		entries = append(entries, e)
		fmt.Fprintf(lines, "%s  %s  %s\n    %s\n    %s\n\n", u.ID, u.Level, revisionRange(u.ApplicableRevisions()),
			explain.HangingIndent(u.Statement, 4), explain.HangingIndent("Not testable: "+u.Reason, 4))
	}
	if asJSON {
		return text.WriteJSON(w, entries)
	}
	_, err := fmt.Fprintf(w, "%s%s that cannot be tested from outside a server\n", lines,
		reporters.Plural(len(entries), "requirement"))
	return err
}
