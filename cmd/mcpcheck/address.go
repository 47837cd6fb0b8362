package main

import (
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// addTo is where the server is, as it is written: {port} is not filled in.
type address struct {
	command     []string // that starts the server
	url         string   // empty: it speaks over stdio
	sseURL      string   // of an endpoint for old clients
	env         []string // KEY=VALUE, added to the environment of the command
	dir         string   // working directory of the command
	headers     []string // NAME: VALUE, of every HTTP request
	serverFlags []string // flags that stand for command and URL; nil: there are none
}

// portPlaceholder stands for a free port.
const portPlaceholder = "{port}"

// locate finds the address that the values mean: that of the built-in server, of a server in the file of a host, or the
// one that they give. What the file of a host draws from the environment becomes a secret.
func resolveAddress(v options, s *secrets, stderr io.Writer) (address, error) {
	a := address{
		command: v.Command, url: v.URL, sseURL: v.flags.remote.sseURL,
		env: slices.Concat(envPairs(v.Env), v.flags.env), dir: v.Cwd, headers: v.flags.remote.headers,
	}
	switch {
	case v.flags.demo:
		self, err := os.Executable()
		a.command, a.serverFlags = []string{self, "serve"}, []string{"--demo"}
		return a, err
	case v.isListEntry:
		a.serverFlags = v.flags.hosts.args()
		return a, nil
	case v.flags.isGiven("server"):
		server, err := v.flags.hosts.findSelected(stderr)
		if err != nil {
			return a, err
		}
		a.serverFlags = v.flags.hosts.args()
		return server.addTo(a, v.BearerEnv != "", s)
	}
	return a, nil
}

// environ is a map of variables as KEY=VALUE.
func envPairs(variables map[string]string) (pairs []string) {
	for _, key := range sortedKeys(variables) {
		pairs = append(pairs, key+"="+variables[key])
	}
	return pairs
}

// withFreePort puts a free port in the place of {port}.
func (a address) withFreePort() (address, error) {
	all := slices.Concat([]string{a.url, a.sseURL}, a.command, a.env)
	if !strings.Contains(strings.Join(all, " "), portPlaceholder) {
		return a, nil
	}
	if len(a.command) == 0 {
		return a, usageErrorf("{port} wants a command to start; say mcpcheck run --url URL -- COMMAND [ARG…]")
	}
	port, err := freePort()
	if err != nil {
		return a, err
	}
	fill := func(text string) string { return strings.ReplaceAll(text, portPlaceholder, port) }
	a.url, a.sseURL = fill(a.url), fill(a.sseURL)
	a.command, a.env = mapStrings(a.command, fill), mapStrings(a.env, fill)
	return a, nil
}

// reservedPorts keeps the sockets that claim the ports of freePort until the program ends.
var reservedPorts struct {
	sync.Mutex
	all []net.PacketConn
}

// freePort is a port of the loopback interface that nobody listens on. Its number over UDP claims it: a server takes
// its time before it listens, and another run must not choose the same port meanwhile.
func freePort() (port string, err error) {
	const tries = 20
	for range tries {
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "", err
		}
		var claim net.PacketConn
		claim, err = net.ListenPacket("udp", l.Addr().String())
		l.Close()
		if err == nil {
			reservedPorts.Lock()
			defer reservedPorts.Unlock()
			reservedPorts.all = append(reservedPorts.all, claim)
			return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
		}
	}
	return "", err
}
