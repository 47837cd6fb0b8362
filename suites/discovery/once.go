package discovery

import (
	"context"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// Once is In over stdio with one process and, for no revision, Auto: as clients of both eras do, it asks for
// firstChoice and, where that is refused, shakes hands in the same process. Only of a server that does not survive
// that, or leaves it unanswered, a further process is asked. The session counts as ordinary whatever revision was
// granted.
func Once(ctx context.Context, t driver.Target, revision string) (Found, error) {
	if revision != "" {
		return counted(Server(ctx, t, revision))
	}
	const moment = time.Second
	newer := beginThen(ctx, t, firstChoice, (*attempt).reuse)
	if !newer.isDone(moment) {
		older := begin(ctx, t, harness.Newest)
		<-older.done
		if newer.follow(older, patience(firstChoice, older.took)); older.good() && !newer.good() {
			newer.close()
			return counted(older.server, older.session, older.err)
		}
		older.close()
	}
	switch {
	case newer.reused:
		return counted(shake(ctx, t, unknown(t, harness.Newest), newer.session, newer.welcome))
	case newer.session == nil, newer.server.First.Answered() && !newer.refused():
		return counted(newer.server, newer.session, newer.err)
	}
	newer.close()
	return counted(Server(ctx, t, harness.Newest))
}

// counted is a server with its only session.
func counted(server *harness.Server, s *driver.Session, err error) (Found, error) {
	if err == nil && server.Failure == "" && s.Alive() {
		s.AsAsked()
	}
	return Found{Server: server, First: s}, err
}
