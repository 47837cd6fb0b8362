//go:build !linux

package http

import (
	"net"
	"net/netip"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/timing"
)

// listenAddrs returns the addresses of this machine on which a port accepts connections. Only Linux shows which process
// listens; here, any process that listens is taken for the server.
func listenAddrs(port uint16) (bound []netip.Addr, why string) {
	addrs := localAddrs()
	if len(addrs) == 0 {
		return nil, "this machine has no address but loopback"
	}
	open := make([]bool, len(addrs))
	var tries sync.WaitGroup
	for i, addr := range addrs {
		tries.Go(func() {
			conn, err := net.DialTimeout("tcp", netip.AddrPortFrom(addr, port).String(), timing.Dial)
			if err == nil {
				conn.Close()
				open[i] = true
			}
		})
	}
	tries.Wait()
	for i, addr := range addrs {
		if open[i] {
			bound = append(bound, addr)
		}
	}
	return bound, ""
}

// localAddrs returns the addresses of this machine that can be reached from elsewhere.
func localAddrs() (addrs []netip.Addr) {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if addr := prefix.Addr(); err == nil && !addr.IsLoopback() && !addr.IsLinkLocalUnicast() {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}
