package baseline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Open reads the file of known failures that is to be updated. A file that does not exist is an empty one.
func Open(name string) (File, error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		b := File{Name: name, Today: time.Now()}
		return b, b.validateDirectory()
	}
	return Read(name)
}

// UnrecordedText says which results still count against the exit code after an update, because a baseline cannot list
// them; it is empty when there are none.
func UnrecordedText(rep report.Report) (said string) {
	n := 0
	for _, r := range rep.Results {
		if r.Verdict == catalogue.Inconclusive && r.Gates {
			n++
		}
	}
	if n > 0 {
		said = fmt.Sprintf("%d inconclusive by --profile strict: a baseline accepts failures only\n", n)
	}
	if n := rep.Counts.SDK; n > 0 {
		said += reporters.Plural(n, "known deviation") + " of the SDK not recorded (--sdk gate records them)\n"
	}
	return said
}

// Update is the difference that a run makes to a baseline; see File.UpdateFor.
type Update struct {
	File
	added     report.KnownFails
	removed   []report.StaleEntry
	unchanged report.KnownFails
}

// isRemoved reports whether the update removes an entry.
func (u Update) isRemoved(k report.KnownFail) bool {
	return slices.ContainsFunc(u.removed, func(s report.StaleEntry) bool { return s.Line == k.Line })
}

// String describes the update, with a line for each entry.
func (u Update) String() string {
	var b strings.Builder
	line := func(mark string, parts ...string) {
		fmt.Fprintln(&b, " ", mark, reporters.PrintableLine(strings.Join(parts, " ")))
	}
	for _, k := range u.unchanged {
		line("=", entryLabel(k), "·", k.Reason)
	}
	for _, k := range u.Entries {
		if i := slices.IndexFunc(u.removed, func(s report.StaleEntry) bool { return s.Line == k.Line }); i >= 0 {
			line("-", entryLabel(k), "·", u.removed[i].Reason+";", "its reason was:", k.Reason)
		}
	}
	for _, k := range u.added {
		line("+", entryLabel(k), "·", k.Reason)
	}
	fmt.Fprintf(&b, "%s: %d added, %d removed, %d kept",
		reporters.PrintableLine(u.Name), len(u.added), len(u.removed), len(u.unchanged))
	if slices.ContainsFunc(u.added, func(k report.KnownFail) bool { return strings.HasPrefix(k.Reason, todoPrefix) }) {
		b.WriteString("; replace each TODO with the reason")
	}
	return b.String() + "\n"
}

// UpdateFor returns the changes that make the baseline list exactly the failures of a report.
func (b File) UpdateFor(rep report.Report) Update {
	u := Update{File: b, removed: rep.Baseline.Stale, added: entriesForFailures(rep)}
	for _, k := range b.Entries {
		if !u.isRemoved(k) {
			u.unchanged = append(u.unchanged, k)
		}
	}
	return u
}

// entriesForFailures returns entries for the failures that gate: one for each check, or one for each revision where a
// check fails in only some of the revisions that were judged. What only a sequence drawn by lot has shown may also
// pass.
func entriesForFailures(rep report.Report) (entries report.KnownFails) {
	transport := rep.Target.Transport
	if transport == "stdio" {
		transport = "" // most servers have only this transport, so an entry need not name it
	}
	for _, r := range rep.Results {
		if r.Verdict != catalogue.Fail || !r.Gates {
			continue
		}
		k := report.KnownFail{
			Check: r.ID, Transport: transport, Reason: reasonFor(r), Flaky: r.Script != "",
		}
		if !failsInAllRevisions(rep.Results, r.ID) {
			k.Revision = r.Revision
		}
		same := func(e report.KnownFail) bool { return e.Check == k.Check && e.Revision == k.Revision }
		if !slices.ContainsFunc(entries, same) {
			entries = append(entries, k)
		}
	}
	return entries
}

// reasonFor returns the reason of a new entry: the SDK and its issue, or a text that the operator is to replace.
func reasonFor(r report.Result) string {
	switch {
	case r.SDK == nil:
		return todoPrefix + reporters.Headline(r, maxReasonLength)
	case r.SDK.Issue == "":
		return "a known deviation of " + r.SDK.Name
	}
	return "a known deviation of " + r.SDK.Name + ": " + r.SDK.Issue
}

const todoPrefix = "TODO: "

// maxReasonLength is how many bytes of a server's text a reason may hold.
const maxReasonLength = 200

// failsInAllRevisions reports whether a check fails in every revision in which it applies.
func failsInAllRevisions(results []report.Result, id string) bool {
	return !slices.ContainsFunc(results, func(r report.Result) bool {
		return r.ID == id && r.Verdict != catalogue.Fail && r.Verdict != catalogue.Skip
	})
}

// entryLabel returns an entry as a text without its reason.
func entryLabel(k report.KnownFail) string {
	words := []string{k.Check, k.Revision, k.Transport, k.Subject}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), " ")
}
