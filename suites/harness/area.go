package harness

import (
	"slices"
	"strings"
)

// Area is a part of the catalogue, and what holds for all of its entries.
type Area struct {
	Name     string   // the part of the ids before the slash
	JudgedBy JudgedBy // of servers in whose revision an entry does not hold; nil: it does not apply to them
	OfClient bool     // the capabilities that entries name are the client's to declare, not the server's
}

// JudgedBy chooses the revision whose text judges a server that negotiated one in which a requirement does not hold;
// empty when none does.
type JudgedBy func(r *Requirement, negotiated string) string

// AtLeast has servers of earlier revisions judged by the first one, where what is judged came with it.
func AtLeast(first string) JudgedBy {
	return func(r *Requirement, negotiated string) string {
		if negotiated < first && r.Holds(first) {
			return first
		}
		return ""
	}
}

// NearestRevision has servers of all handshake revisions judged, each by the nearest one that has the requirement; of
// two the earlier one.
func NearestRevision(r *Requirement, negotiated string) string {
	at := slices.Index(Handshake, negotiated)
	if at < 0 {
		return ""
	}
	for distance := 1; distance < len(Handshake); distance++ {
		for _, i := range []int{at - distance, at + distance} {
			if i >= 0 && i < len(Handshake) && r.Holds(Handshake[i]) {
				return Handshake[i]
			}
		}
	}
	return ""
}

// Claim makes entries those of the area.
func (a Area) Claim(entries Catalogue) {
	for _, r := range entries {
		r.area = a
	}
}

// Area is the name of the area: the part of the id before the slash.
func (r *Requirement) Area() string { return AreaOf(r.ID) }

// AreaOf is the part of an id before the slash.
func AreaOf(id string) string {
	area, _, _ := strings.Cut(id, "/")
	return area
}

// Judges is the revision whose text judges a server that negotiated a revision over a transport, if any does.
func (r *Requirement) Judges(negotiated, transport string) (by string, applies bool) {
	switch {
	case !r.Over(transport):
		return "", false
	case r.Holds(negotiated):
		return negotiated, true
	case r.area.JudgedBy == nil:
		return "", false
	}
	by = r.area.JudgedBy(r, negotiated)
	return by, by != ""
}
