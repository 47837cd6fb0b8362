package driver

import (
	"errors"
	"net"
)

// ListenForServer opens a port on loopback for requests of the server. It fails if the server cannot reach it.
func (t Target) ListenForServer() (net.Listener, error) {
	switch {
	case t.Listen != nil:
		return t.Listen()
	case t.Serve != nil || t.Site != nil && t.Site.options.Serve != nil:
		return nil, errors.New("the server runs inside this process")
	case t.Site != nil && !t.Site.OwnsProcess() && !t.Site.IsLoopback():
		return nil, errors.New("the server may run on another machine")
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// SharesFiles reports whether the server sees the files of this machine: this run has started it, in no container.
func (t Target) SharesFiles() bool {
	command, inProcess := t.Command, t.Serve != nil
	if t.Site != nil {
		command, inProcess = t.Site.options.Command, t.Site.options.Serve != nil
	}
	return inProcess || len(command) > 0 && !isContainerTool(command[0])
}
