package catalogue

import (
	"slices"
	"strings"
)

// Area is a part of the catalogue, with what its entries have in common.
type Area struct {
	// Name is the part of the ids before the slash.
	Name string
	// ChooseRevision is for servers whose revision does not have an entry; nil if entries do not apply to such servers.
	ChooseRevision RevisionChooser
	// ClientDeclares says that the capabilities that entries name are declared by the client, not by the server.
	ClientDeclares bool
}

// RevisionChooser returns the revision by whose text a requirement judges a server that negotiated a revision without
// it; empty when the requirement does not apply to such a server.
type RevisionChooser func(r *Requirement, negotiated string) string

// AtLeast returns a RevisionChooser that judges servers of earlier revisions by the first revision that has the
// feature.
func AtLeast(first string) RevisionChooser {
	return func(r *Requirement, negotiated string) string {
		if negotiated < first && r.AppliesIn(first) {
			return first
		}
		return ""
	}
}

// NearestRevision is a RevisionChooser that judges servers of all handshake revisions by the nearest one that has the
// requirement; of two equally near ones it is the earlier one.
func NearestRevision(r *Requirement, negotiated string) string {
	at := slices.Index(LegacyRevisions, negotiated)
	if at < 0 {
		return ""
	}
	for distance := 1; distance < len(LegacyRevisions); distance++ {
		for _, i := range []int{at - distance, at + distance} {
			if i >= 0 && i < len(LegacyRevisions) && r.AppliesIn(LegacyRevisions[i]) {
				return LegacyRevisions[i]
			}
		}
	}
	return ""
}

// AssignTo sets the area of the entries.
func (a Area) AssignTo(entries Catalogue) {
	for _, r := range entries {
		r.AssignedArea = a
	}
}

// Area returns the name of the area: the part of the id before the slash.
func (r *Requirement) Area() string { return AreaOf(r.ID) }

// AreaOf returns the part of an id before the slash.
func AreaOf(id string) string {
	area, _, _ := strings.Cut(id, "/")
	return area
}

// JudgingRevision returns the revision by whose text a server is judged that negotiated a revision over a transport,
// and whether the requirement applies to it at all.
func (r *Requirement) JudgingRevision(negotiated, transport string) (by string, applies bool) {
	switch {
	case !r.AppliesOver(transport):
		return "", false
	case r.AppliesIn(negotiated):
		return negotiated, true
	case r.AssignedArea.ChooseRevision == nil:
		return "", false
	}
	by = r.AssignedArea.ChooseRevision(r, negotiated)
	return by, by != ""
}
