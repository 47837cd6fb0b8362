package http

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

func TestParseListener(t *testing.T) {
	const rest = " 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0"
	tests := []struct{ line, addr string }{
		{"   0: 0100007F:1F90 00000000:0000 0A" + rest, "127.0.0.1"},
		{"   1: 00000000:1F90 00000000:0000 0A" + rest, "0.0.0.0"},
		{"   2: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A" + rest, "::1"},
		{
			"   3: 0000000000000000FFFF00000100007F:1F90 00000000000000000000000000000000:0000 0A" + rest,
			"::ffff:127.0.0.1",
		},
		{"   4: 0100007F:1F91 00000000:0000 0A" + rest, ""},
		{"   5: 0100007F:1F90 0100007F:9C40 01" + rest, ""},
		{"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode", ""},
		{"", ""},
	}
	for _, tt := range tests {
		inode, addr, ok := parseListener(tt.line, 8080)
		if ok != (tt.addr != "") || ok && (addr.String() != tt.addr || inode != "4711") {
			t.Errorf("%q: got %v, %s, %v", tt.line, addr, inode, ok)
		}
	}
}

// TestExposedAddrs checks that a server of this run is recognized by its environment, whatever else listens.
func TestExposedAddrs(t *testing.T) {
	tests := []struct{ bind, want string }{
		{"127.0.0.1", ""},
		{"0.0.0.0", "0.0.0.0"},
		{"[::]", "::"},
	}
	for _, tt := range tests {
		if _, err := os.Stat("/proc/net/tcp6"); err != nil && tt.want == "::" {
			continue // no IPv6
		}
		port := freePort(t)
		site, err := driver.NewSite(driver.SiteOptions{
			URL:     fmt.Sprintf("http://127.0.0.1:%d/mcp", port),
			Command: []string{os.Args[0], "-test.run=^TestHelperListen$"},
			Env:     []string{fmt.Sprintf("MCPCHECK_TEST_LISTEN=%s:%d", tt.bind, port)},
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := driver.Start(t.Context(), driver.Target{Site: site}, driver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if addresses, why := exposedAddrs(site); strings.Join(addresses, " ") != tt.want || why != "" {
			t.Errorf("%s: got %v, %q", tt.bind, addresses, why)
		}
		s.Close()
		site.Close(driver.Limits{})
	}
}

// TestExposedAddrsOfOtherServers checks that neither servers that others have started nor those in a container are
// judged.
func TestExposedAddrsOfOtherServers(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	url := fmt.Sprintf("http://127.0.0.1:%d/mcp", l.Addr().(*net.TCPAddr).Port)
	for _, command := range [][]string{nil, {"/usr/bin/docker", "run", "x"}, {"not-listening"}} {
		site, err := driver.NewSite(driver.SiteOptions{URL: url, Command: command})
		if err != nil {
			t.Fatal(err)
		}
		if addresses, why := exposedAddrs(site); len(addresses) > 0 || why == "" {
			t.Errorf("%v: got %v, %q", command, addresses, why)
		}
	}
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestHelperListen is the server of TestExposedAddrs, in a process of its own.
func TestHelperListen(t *testing.T) {
	address := os.Getenv("MCPCHECK_TEST_LISTEN")
	if address == "" {
		t.Skip("it serves another test")
	}
	network := "tcp4"
	if address[0] == '[' {
		network = "tcp" // IPv6 and IPv4
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
}
