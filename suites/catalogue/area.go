package catalogue

import (
	"slices"
	"strings"
)

// Area is a part of the catalogue, and what holds for all of its entries.
type Area struct {
	Name string // the part of the ids before the slash
	// of servers in whose revision an entry does not hold; nil: it does not apply to them
	ChooseRevision RevisionChooser
	ClientDeclares bool // the capabilities that entries name are the client's to declare, not the server's
}

// JudgedBy chooses the revision whose text judges a server that negotiated one in which a requirement does not hold;
// empty when none does.
type RevisionChooser func(r *Requirement, negotiated string) string

// AtLeast has servers of earlier revisions judged by the first one, where what is judged came with it.
func AtLeast(first string) RevisionChooser {
	return func(r *Requirement, negotiated string) string {
		if negotiated < first && r.AppliesIn(first) {
			return first
		}
		return ""
	}
}

// NearestRevision has servers of all handshake revisions judged, each by the nearest one that has the requirement; of
// two the earlier one.
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

// AssignTo makes entries those of the area.
func (a Area) AssignTo(entries Catalogue) {
	for _, r := range entries {
		r.AssignedArea = a
	}
}

// Area is the name of the area: the part of the id before the slash.
func (r *Requirement) Area() string { return AreaOf(r.ID) }

// AreaOf is the part of an id before the slash.
func AreaOf(id string) string {
	area, _, _ := strings.Cut(id, "/")
	return area
}

// JudgingRevision is the revision whose text judges a server that negotiated a revision over a transport, if any does.
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
