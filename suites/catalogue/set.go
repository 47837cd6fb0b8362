package catalogue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/mcpcheck/mcpcheck/suites/text"
	"io"
	"slices"
	"strings"
)

// RequirementSet is what servers of one revision are judged by, frozen: whoever judges by it later, with another
// version of mcpcheck, judges by the same requirements at the same levels.
type RequirementSet struct {
	Version  int         `json:"set"` // of the format
	Name     string      `json:"name"`
	Revision string      `json:"revision"`
	Program  ProgramInfo `json:"tool"`   // that has made it
	Digest   string      `json:"digest"` // of the revision and the requirements
	Entries  []SetEntry  `json:"requirements"`
}

// SetEntry is a requirement of a set: what decides whether it gates.
type SetEntry struct {
	ID             string          `json:"id"`
	Level          Level           `json:"level"`
	JudgedBy       string          `json:"judgedBy,omitempty"` // the revision whose text judges, if it is another
	Checklist      bool            `json:"checklist,omitempty"`
	Tentative      bool            `json:"tentative,omitempty"`
	DirectoryRules []DirectoryRule `json:"asked,omitempty"`
}

// SetInfo names a set.
type SetInfo struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

const setVersion = 1

// NewSet is the set of a catalogue in a revision. tentative says which of its checks are.
func NewSet(catalogue Catalogue, revision string, by ProgramInfo, tentative Selector) *RequirementSet {
	s := &RequirementSet{
		Version: setVersion, Name: revision + "@" + by.Version, Revision: revision, Program: by, Entries: []SetEntry{},
	}
	for _, r := range catalogue {
		for _, transport := range []string{"stdio", "http", "sse"} {
			judged, applies := r.JudgingRevision(revision, transport)
			if !applies {
				continue
			}
			entry := SetEntry{
				ID: r.ID, Level: r.Level.In(judged), Checklist: r.Checklist, Tentative: tentative(r),
				DirectoryRules: r.DirectoryRules,
			}
			if judged != revision {
				entry.JudgedBy = judged
			}
			s.Entries = append(s.Entries, entry)
			break
		}
	}
	s.Digest = s.digest()
	return s
}

// digest is that of what the set asks of a server.
func (s *RequirementSet) digest() string {
	sum := sha256.Sum256(text.CompactJSON([]any{s.Version, s.Revision, s.Entries}))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Info names the set.
func (s *RequirementSet) Info() *SetInfo { return &SetInfo{s.Name, s.Digest} }

// ReadSet reads a set, which has to be as it was made.
func ReadSet(text []byte) (*RequirementSet, error) {
	var s RequirementSet
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("it is not the JSON of a set: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the set")
	}
	switch {
	case s.Version == 0:
		return nil, errors.New("not a requirement set (create one with mcpcheck list --set REVISION)")
	case s.Version != setVersion:
		return nil, fmt.Errorf("version %d of the format is not known", s.Version)
	case !slices.Contains(Revisions, s.Revision):
		return nil, fmt.Errorf("its revision %q is not known (have %s)", s.Revision, strings.Join(Revisions, ", "))
	case len(s.Entries) == 0:
		return nil, errors.New("there is no requirement in it")
	case s.Digest != s.digest():
		return nil, fmt.Errorf("it was changed: its digest is that of another set; "+
			"mcpcheck list --set %s writes one that is whole", s.Revision)
	}
	return &s, nil
}

// Restrict is a catalogue as the set has it: its requirements alone, at their levels. missing are those that the
// catalogue lacks.
func (s *RequirementSet) Restrict(catalogue Catalogue) (frozen Catalogue, missing []string) {
	entries := map[string]SetEntry{}
	for _, entry := range s.Entries {
		entries[entry.ID] = entry
	}
	for _, r := range catalogue {
		entry, in := entries[r.ID]
		if !in {
			continue
		}
		delete(entries, r.ID)
		as := *r
		as.Level, as.Checklist, as.DirectoryRules =
			ByRevision[Level]{All: entry.Level}, entry.Checklist, entry.DirectoryRules
		frozen = append(frozen, &as)
	}
	for id := range entries {
		missing = append(missing, id)
	}
	slices.Sort(missing)
	return frozen, missing
}

// Tentative selects what is tentative in the set.
func (s *RequirementSet) Tentative(r *Requirement) bool {
	return slices.ContainsFunc(s.Entries, func(e SetEntry) bool { return e.ID == r.ID && e.Tentative })
}

// Tool names the program that made the report.
type ProgramInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}
