package driver

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ExposedAddrs returns the addresses other than loopback on which the server accepts connections, if this run started
// its process. Otherwise, or if they cannot be found, why says the reason.
func (site *Site) ExposedAddrs() (addresses []string, why string) {
	bound := site.options.ListenAddrs
	switch {
	case bound != nil:
	case !site.OwnsProcess():
		return nil, "mcpcheck did not start the server"
	case len(site.options.Command) > 0 && isContainerTool(site.options.Command[0]):
		return nil, "the server runs in a container"
	default:
		if bound, why = listenAddrs(site.port()); why != "" {
			return nil, why
		}
	}
	for _, addr := range bound {
		if addr = addr.Unmap(); !addr.IsLoopback() && !slices.Contains(addresses, addr.String()) {
			addresses = append(addresses, addr.String())
		}
	}
	return addresses, ""
}

func (site *Site) port() uint16 {
	_, text, _ := net.SplitHostPort(site.address())
	port, _ := strconv.ParseUint(text, 10, 16)
	return uint16(port)
}

// isContainerTool reports whether a command runs programs in containers. What listens for those on this machine is not
// the server itself.
func isContainerTool(command string) bool {
	name := strings.TrimSuffix(filepath.Base(command), ".exe")
	return slices.Contains([]string{"docker", "podman", "nerdctl", "finch", "container"}, name)
}
