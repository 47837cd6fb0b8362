package catalogue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// RequirementSet is a frozen list of the requirements for servers of one revision. Judging by it gives the same
// requirements and levels in every version of mcpcheck.
type RequirementSet struct {
	// Version is the version of the format.
	Version  int    `json:"set"`
	Name     string `json:"name"`
	Revision string `json:"revision"`
	// Program is the program that created the set.
	Program ProgramInfo `json:"tool"`
	// Digest is that of the revision and the requirements.
	Digest  string     `json:"digest"`
	Entries []SetEntry `json:"requirements"`
}

// SetEntry is a requirement of a set, with what decides whether a failure blocks.
type SetEntry struct {
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// JudgedBy is the revision by whose text servers are judged, if it is another one.
	JudgedBy       string          `json:"judgedBy,omitempty"`
	Checklist      bool            `json:"checklist,omitempty"`
	Tentative      bool            `json:"tentative,omitempty"`
	DirectoryRules []DirectoryRule `json:"asked,omitempty"`
}

// SetInfo identifies a set.
type SetInfo struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

const setVersion = 1

// NewSet returns the set of a catalogue in a revision. tentative selects the checks that are tentative.
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

// digest returns the digest of the revision and the entries.
func (s *RequirementSet) digest() string {
	sum := sha256.Sum256(text.CompactJSON([]any{s.Version, s.Revision, s.Entries}))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Info returns the name and the digest of the set.
func (s *RequirementSet) Info() *SetInfo { return &SetInfo{s.Name, s.Digest} }

// ReadSet parses a set. It returns an error if the set was changed after it was created.
func ReadSet(content []byte) (*RequirementSet, error) {
	var s RequirementSet
	d := json.NewDecoder(bytes.NewReader(content))
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

// Restrict returns the requirements of the set with their levels, from a catalogue. missing are the ids that the
// catalogue does not have.
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
		entryCopy := *r
		entryCopy.Level, entryCopy.Checklist, entryCopy.DirectoryRules =
			ByRevision[Level]{All: entry.Level}, entry.Checklist, entry.DirectoryRules
		frozen = append(frozen, &entryCopy)
	}
	for id := range entries {
		missing = append(missing, id)
	}
	slices.Sort(missing)
	return frozen, missing
}

// Tentative is a Selector of the requirements that are tentative in the set.
func (s *RequirementSet) Tentative(r *Requirement) bool {
	return slices.ContainsFunc(s.Entries, func(e SetEntry) bool { return e.ID == r.ID && e.Tentative })
}

// ProgramInfo names the program that created a report or a set.
type ProgramInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}
