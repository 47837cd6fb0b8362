package catalogue

import "slices"

// The eras of the specification, with the names of its page on versioning.
const (
	legacy = "legacy" // a session begins with a handshake, initialize
	modern = "modern" // no handshake: every request has all that the server needs to know about the client
)

// published are the published revisions of the specification, in order.
var published = []struct{ revision, era string }{
	{"2024-11-05", legacy},
	{"2025-03-26", legacy},
	{"2025-06-18", legacy},
	{"2025-11-25", legacy},
	{"2026-07-28", modern},
}

// The revisions, in order: those negotiated with initialize, those without a handshake, and all of them.
var (
	LegacyRevisions = revisionsOf(legacy)
	ModernRevisions = revisionsOf(modern)
	Revisions       = slices.Concat(LegacyRevisions, ModernRevisions)
)

// NewestLegacy is the newest revision with a handshake.
var NewestLegacy = LegacyRevisions[len(LegacyRevisions)-1]

// IsModern reports whether a revision has no handshake.
func IsModern(revision string) bool { return slices.Contains(ModernRevisions, revision) }

func revisionsOf(era string) (revisions []string) {
	for _, p := range published {
		if p.era == era {
			revisions = append(revisions, p.revision)
		}
	}
	return revisions
}
