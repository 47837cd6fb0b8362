package catalogue

import "slices"

// The eras of the specification, by the words that its page on versioning has for them.
const (
	legacy = "legacy" // a session begins with a handshake, initialize
	modern = "modern" // every request says all that the server has to know of the client
)

// published are the revisions of the specification, in order. A further one is a further row.
var published = []struct{ revision, era string }{
	{"2024-11-05", legacy},
	{"2025-03-26", legacy},
	{"2025-06-18", legacy},
	{"2025-11-25", legacy},
	{"2026-07-28", modern},
}

// The revisions, in order: those that are negotiated with initialize, those without a handshake, and all of them.
var (
	LegacyRevisions = revisionsOf(legacy)
	ModernRevisions = revisionsOf(modern)
	Revisions       = slices.Concat(LegacyRevisions, ModernRevisions)
)

// NewestLegacy is the newest handshake revision.
var NewestLegacy = LegacyRevisions[len(LegacyRevisions)-1]

// IsModern reports whether a revision is one without a handshake.
func IsModern(revision string) bool { return slices.Contains(ModernRevisions, revision) }

func revisionsOf(era string) (revisions []string) {
	for _, p := range published {
		if p.era == era {
			revisions = append(revisions, p.revision)
		}
	}
	return revisions
}
