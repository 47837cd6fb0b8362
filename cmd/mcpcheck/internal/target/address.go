package target

import (
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/hosts"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// resolveAddress returns the address that the options mean: that of the built-in server, of a server in a host's file,
// or the one that they contain. Values that a host's file takes from the environment become secrets.
func resolveAddress(v config.Options, s *redact.Secrets, stderr io.Writer) (config.Address, error) {
	a := config.Address{
		Command: v.Command, URL: v.URL, SSEURL: v.Flags.Remote.SSEURL,
		Env: slices.Concat(config.EnvPairs(v.Env), v.Flags.Env), Dir: v.Cwd, Headers: v.Flags.Remote.Headers,
	}
	switch {
	case v.Flags.Demo:
		self, err := os.Executable()
		a.Command, a.ServerFlags = []string{self, "serve"}, []string{"--demo"}
		return a, err
	case v.IsListEntry:
		a.ServerFlags = v.Flags.Hosts.Args()
		return a, nil
	case v.Flags.IsGiven("server"):
		server, err := hosts.FindSelected(v.Flags.Hosts, stderr)
		if err != nil {
			return a, err
		}
		a.ServerFlags = v.Flags.Hosts.Args()
		return server.AddTo(a, v.BearerEnv != "", s)
	}
	return a, nil
}

// withFreePort replaces {port} by a free port.
func withFreePort(a config.Address) (config.Address, error) {
	all := slices.Concat([]string{a.URL, a.SSEURL}, a.Command, a.Env)
	if !strings.Contains(strings.Join(all, " "), redact.PortPlaceholder) {
		return a, nil
	}
	if len(a.Command) == 0 {
		return a, exit.Usagef("{port} needs a command to start; say mcpcheck run --url URL -- COMMAND [ARG…]")
	}
	port, err := freePort()
	if err != nil {
		return a, err
	}
	fill := func(content string) string { return strings.ReplaceAll(content, redact.PortPlaceholder, port) }
	a.URL, a.SSEURL = fill(a.URL), fill(a.SSEURL)
	a.Command, a.Env = text.Map(a.Command, fill), text.Map(a.Env, fill)
	return a, nil
}

// reservedPorts holds the sockets that reserve the ports of freePort until the program ends.
var reservedPorts struct {
	sync.Mutex
	all []net.PacketConn
}

// freePort returns a free TCP port of the loopback interface. It reserves the number by a UDP socket: a server takes
// time until it listens, and another run must not choose the same port meanwhile.
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

// ServerArgs returns the flags of mcpcheck run that select the same server, without secrets.
func (t *Target) ServerArgs(v config.Options) (words []string) {
	if v.Cwd != "" {
		words = append(words, "--cwd", v.Cwd)
	}
	for _, pair := range v.Flags.Env {
		key, _, _ := strings.Cut(pair, "=")
		words = append(words, "--env", key+"=…")
	}
	words = append(words, t.ServerFlags...)
	if t.ServerFlags == nil && t.URL != "" {
		words = append(words, "--url", t.Redactor.Text(t.URL))
	}
	for _, pair := range v.Flags.Remote.Headers {
		name, _, _ := strings.Cut(pair, ":")
		words = append(words, "--header", name+": …")
	}
	for _, pair := range v.Flags.Remote.HeaderEnv {
		words = append(words, "--header-env", pair)
	}
	if variable := v.Flags.FileKeys.BearerEnv; variable != "" {
		words = append(words, "--bearer-env", variable)
	}
	words = append(words, v.Flags.Remote.Args(t.Redactor)...)
	if t.ServerFlags == nil && len(t.Command) > 0 {
		words = append(append(words, "--"), t.Redactor.Texts(t.Command)...)
	}
	return words
}
