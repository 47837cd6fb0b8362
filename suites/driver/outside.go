package driver

import (
	"errors"
	"net"
)

// Outside is how checks see what a server does besides its messages. Tests set it for a server inside this process; nil
// functions stand for the machine that mcpcheck runs on.
type Outside struct {
	// Listen opens a port on loopback for requests of the server.
	Listen func() (net.Listener, error)
	// Files is Target.Files.
	Files func() FileStates
}

// Listen opens a port on loopback for requests of the server. It fails if the server cannot reach it.
func (t Target) Listen() (net.Listener, error) {
	switch {
	case t.Outside.Listen != nil:
		return t.Outside.Listen()
	case t.isInProcess():
		return nil, errors.New("the server runs inside this process")
	case t.Site != nil && !t.Site.OwnsProcess() && !t.Site.IsLoopback():
		return nil, errors.New("the server may run on another machine")
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// isInProcess reports whether the server runs inside this process.
func (t Target) isInProcess() bool {
	return t.Serve != nil || t.Site != nil && t.Site.options.Serve != nil
}
