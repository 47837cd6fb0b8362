package http

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// listenAddrs returns the addresses on which processes of this run listen at a port. The processes are recognized by a
// variable in their environment, so that neither another program on the port nor the proxy of a container is taken for
// the server.
func listenAddrs(port uint16) (bound []netip.Addr, why string) {
	listeners := map[string]netip.Addr{} // by the target of a link in /proc/<pid>/fd
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue // there may be no IPv6
		}
		for line := range strings.Lines(string(text)) {
			if inode, addr, ok := parseListener(line, port); ok {
				listeners["socket:["+inode+"]"] = addr
			}
		}
	}
	for _, process := range ownProcesses() {
		for _, link := range openFileTargets(process) {
			if addr, ok := listeners[link]; ok {
				bound = append(bound, addr)
				delete(listeners, link) // children may have it open, too
			}
		}
	}
	if bound == nil {
		return nil, fmt.Sprintf("no process that mcpcheck started listens on port %d itself", port)
	}
	return bound, ""
}

// parseListener parses a line of /proc/net/tcp: "sl local_address rem_address st tx:rx tr:when retransmits uid timeout
// inode …".
func parseListener(line string, port uint16) (inode string, addr netip.Addr, ok bool) {
	const listen = "0A"
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listen {
		return "", addr, false
	}
	host, number, _ := strings.Cut(fields[1], ":")
	if n, err := strconv.ParseUint(number, 16, 16); err != nil || uint16(n) != port {
		return "", addr, false
	}
	raw, err := hex.DecodeString(host)
	if err != nil {
		return "", addr, false
	}
	// Words are in the byte order of the machine, which is assumed to be little-endian.
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	addr, ok = netip.AddrFromSlice(raw)
	return fields[9], addr, ok
}

// portForwarders are programs that listen on behalf of containers.
var portForwarders = []string{"docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta", "pasta.avx2",
	"gvproxy"}

// ownProcesses returns the directories in /proc of the processes of this run.
func ownProcesses() (directories []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, directory := range all {
		environ, err := os.ReadFile(directory + "/environ")
		if err != nil || !driver.HasRunMarker(environ) {
			continue
		}
		name, _ := os.ReadFile(directory + "/comm")
		if !slices.Contains(portForwarders, strings.TrimSpace(string(name))) {
			directories = append(directories, directory)
		}
	}
	return directories
}

func openFileTargets(directory string) (targets []string) {
	links, _ := filepath.Glob(directory + "/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil {
			targets = append(targets, target)
		}
	}
	return targets
}
