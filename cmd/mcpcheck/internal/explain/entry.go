package explain

import (
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Entry is a requirement as list and explain write it for programs. Members are added, and none is removed.
type Entry struct {
	ID         string            `json:"id"`
	Area       string            `json:"area"`
	Title      string            `json:"title"`
	HasCheck   bool              `json:"built"`  // a check tries it
	Levels     map[string]string `json:"levels"` // by revision
	Basis      string            `json:"basis"`  // where the level comes from
	Checklist  bool              `json:"checklist"`
	Transports []string          `json:"transports,omitempty"`
	Capability string            `json:"capability,omitempty"`
	Safety     string            `json:"safety"`
	Statement  string            `json:"statement"`
	How        *eraTexts         `json:"tried,omitempty"` // how
	Pass       *eraTexts         `json:"pass,omitempty"`  // when
	Fail       *eraTexts         `json:"fail,omitempty"`
	Skip       *eraTexts         `json:"skip,omitempty"`     // or inconclusive
	YieldsTo   []string          `json:"yieldsTo,omitempty"` // ids and globs of what reports a common cause
	Spec       map[string]string `json:"spec,omitempty"`     // URL by revision
	Fix        string            `json:"fix,omitempty"`
	SDKs       []sdkEntry        `json:"sdks,omitempty"`  // that break it
	Since      string            `json:"since,omitempty"` // the release in which the check is new; missing: the first
	Notes      string            `json:"notes,omitempty"`

	Requirement *catalogue.Requirement `json:"-"`
}

// sdkEntry is an SDK that breaks a requirement.
type sdkEntry struct {
	report.SDKInfo
	Fix    string `json:"fix"` // what changes it
	WasRun bool   `json:"run"` // a server of the SDK was run, and not only its source read
}

// eraTexts is a text for the revisions with a handshake and one for those without.
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

func NewEntries(all catalogue.Catalogue) []Entry {
	entries := make([]Entry, len(all))
	for i, r := range all {
		entries[i] = NewEntry(r)
	}
	return entries
}
