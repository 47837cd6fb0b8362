package explain

import (
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Entry is a requirement as JSON, for list and explain. Members are added, and none is removed.
type Entry struct {
	ID    string `json:"id"`
	Area  string `json:"area"`
	Title string `json:"title"`
	// HasCheck says that a check tests the requirement.
	HasCheck bool `json:"built"`
	// Levels are the levels by revision.
	Levels map[string]string `json:"levels"`
	// Basis is what the level is derived from.
	Basis      string   `json:"basis"`
	Checklist  bool     `json:"checklist"`
	Transports []string `json:"transports,omitempty"`
	Capability string   `json:"capability,omitempty"`
	Safety     string   `json:"safety"`
	Statement  string   `json:"statement"`
	// How describes how the check tests the requirement.
	How *eraTexts `json:"tried,omitempty"`
	// Pass describes when the check passes; Fail and Skip do so for the other verdicts.
	Pass *eraTexts `json:"pass,omitempty"`
	Fail *eraTexts `json:"fail,omitempty"`
	// Skip describes when the check is skipped or inconclusive.
	Skip *eraTexts `json:"skip,omitempty"`
	// YieldsTo are ids and globs of checks that report a common cause.
	YieldsTo []string `json:"yieldsTo,omitempty"`
	// Spec are URLs of the specification, by revision.
	Spec map[string]string `json:"spec,omitempty"`
	Fix  string            `json:"fix,omitempty"`
	// SDKs are the SDKs that are known to violate the requirement.
	SDKs []sdkEntry `json:"sdks,omitempty"`
	// Since is the release in which the check is new; it is empty for those of the first release.
	Since string `json:"since,omitempty"`
	Notes string `json:"notes,omitempty"`

	Requirement *catalogue.Requirement `json:"-"`
}

// sdkEntry is an SDK that violates a requirement.
type sdkEntry struct {
	report.SDKInfo
	// Fix says how to avoid the violation.
	Fix string `json:"fix"`
	// WasRun says that a server of the SDK was run; otherwise only its source was read.
	WasRun bool `json:"run"`
}

// eraTexts is a text for each era: Legacy for the revisions with a handshake, Modern for those without.
type eraTexts struct {
	Legacy string `json:"legacy,omitempty"`
	Modern string `json:"modern,omitempty"`
}

func newEraTexts(content catalogue.ByEra) *eraTexts {
	if content == (catalogue.ByEra{}) {
		return nil
	}
	return &eraTexts{Legacy: content.Legacy, Modern: content.Modern}
}

// NewEntry returns the entry of a requirement.
func NewEntry(r *catalogue.Requirement) Entry {
	e := Entry{
		ID: r.ID, Area: r.Area(), Title: r.Title, HasCheck: suites.HasCheck(r),
		Levels: map[string]string{}, Basis: r.Basis, Checklist: r.Checklist, Transports: r.Transports,
		Capability: r.Capability, Safety: r.Safety, Statement: r.Statement,
		How: newEraTexts(r.Procedure), Pass: newEraTexts(r.Pass), Fail: newEraTexts(r.Fail), Skip: newEraTexts(r.Skip),
		YieldsTo: r.YieldsTo, Spec: map[string]string{}, Fix: r.Fix, Since: r.Since, Notes: r.Notes,
		Requirement: r,
	}
	for _, d := range r.SDKs {
		info := report.SDKInfo{ID: d.SDK, Name: suites.SDKName(d.SDK), Versions: d.Versions, Issue: d.Issue}
		e.SDKs = append(e.SDKs, sdkEntry{info, d.Fix, !d.FromSource})
	}
	for _, revision := range r.ApplicableRevisions() {
		e.Levels[revision] = r.Level.In(revision).String()
		if url := r.URL(revision); url != "" {
			e.Spec[revision] = url
		}
	}
	return e
}

// NewEntries returns the entries of a catalogue, in its order.
func NewEntries(all catalogue.Catalogue) []Entry {
	entries := make([]Entry, len(all))
	for i, r := range all {
		entries[i] = NewEntry(r)
	}
	return entries
}
