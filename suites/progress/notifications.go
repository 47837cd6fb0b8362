package progress

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/kit/transcript"
)

// progressNotifications are the progress notifications of the sessions that negotiated the tested revision, up to the
// first invalid input of each. Sessions whose beginning is not recorded are left out, and so are notifications that
// belong to another session, which http/session-isolation reports.
func progressNotifications(t *check.T, w check.Wire) (all []*transcript.ProgressNotification) {
	for _, s := range transcript.EstablishedSessions(t, check.Wire{Sessions: w.CompleteSessions()}) {
		all = append(all, transcript.SessionProgress(t, s)...)
	}
	unassigned := func(r *transcript.ProgressNotification) bool { return r.ForRequest == nil }
	if t.Server.Transport != "http" || t.IsModern() || !slices.ContainsFunc(all, unassigned) {
		return all
	}
	isForeign := transcript.ForeignProgress(w)
	return slices.DeleteFunc(all, func(r *transcript.ProgressNotification) bool {
		return unassigned(r) && isForeign(r.Session, r.Frame)
	})
}
