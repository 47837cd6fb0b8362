package http

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// exposedAddrs returns the addresses other than loopback on which the server of a site accepts connections, if this run
// started its process. Otherwise, or if they cannot be found, why says the reason.
func exposedAddrs(site *driver.Site) (addresses []string, why string) {
	bound := site.ListenAddrs()
	switch {
	case bound != nil:
	case !site.OwnsProcess():
		return nil, "mcpcheck did not start the server"
	case site.RunsInContainer():
		return nil, "the server runs in a container"
	default:
		if bound, why = listenAddrs(portOf(site)); why != "" {
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

func portOf(site *driver.Site) uint16 {
	u, err := url.Parse(site.URL())
	if err != nil {
		return 0
	}
	port, _ := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]), 10, 16)
	return uint16(port)
}
