package driver

import (
	"errors"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
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
	if t.Site != nil {
		return t.Site.OwnsProcess() && !t.Site.RunsInContainer()
	}
	return t.Serve != nil || len(t.Command) > 0 && !isContainerTool(t.Command)
}

// RunsInContainer reports whether the command of the site runs programs in containers. What listens for those on this
// machine is not the server itself.
func (site *Site) RunsInContainer() bool { return isContainerTool(site.options.Command) }

// ListenAddrs returns the addresses at which a server inside this process listens; nil for any other.
func (site *Site) ListenAddrs() []netip.Addr { return site.options.ListenAddrs }

func isContainerTool(command []string) bool {
	if len(command) == 0 {
		return false
	}
	name := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	return slices.Contains([]string{"docker", "podman", "nerdctl", "finch", "container"}, name)
}
