package discovery

import (
	"context"
	"errors"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// Once is In over stdio with one process and, for no revision, Auto: as clients of both eras do, it asks for
// firstChoice and, where that is refused, shakes hands in the same process. Only a server that does not survive that is
// started again. The session counts as ordinary whatever revision was granted.
func Once(ctx context.Context, t driver.Target, revision string) (Found, error) {
	if revision != "" {
		return counted(Server(ctx, t, revision))
	}
	server, s, err := Server(ctx, t, firstChoice)
	refused := errors.As(err, new(*NotSpoken))
	switch {
	case s == nil, !refused && server.First.Answered():
		return counted(server, s, err)
	case refused && s.Alive():
		s.HostileSoFar()
		if r := shakeAnew(s); r.Result() != nil {
			return counted(shake(ctx, t, unknown(t, harness.Newest), s, r))
		}
	}
	s.Kill()
	s.Close()
	return counted(Server(ctx, t, harness.Newest))
}

// counted is a server with its only session.
func counted(server *harness.Server, s *driver.Session, err error) (Found, error) {
	if err == nil && server.Failure == "" && s.Alive() {
		s.AsAsked()
	}
	return Found{Server: server, First: s}, err
}
