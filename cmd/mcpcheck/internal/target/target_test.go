package target

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/configtest"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
)

// TestServerArgs proves that the flags for a server name it as the user did, without secrets, and without what
// mcpcheck.yaml contains anyway.
func TestServerArgs(t *testing.T) {
	s := redact.Secrets{Texts: []string{"s3cr3t"}}
	file := configtest.ParseFile(t, "env: {A: b}\nheaders: {X-File: FILE}\nbearer-env: FILE\n")
	for line, want := range map[string]string{
		"-- serve --key=s3cr3t":                     "-- serve --key=[redacted]",
		"--cwd sub --env A=s3cr3t -- serve":         "--cwd sub --env A=… -- serve",
		"--url http://a:s3cr3t@b/":                  "--url http://a:[redacted]@b/",
		"--url http://b:{port}/ -- serve {port}":    "--url http://b:{port}/ -- serve {port}",
		"--url http://b/ --header X-Key:s3cr3t":     "--url http://b/ --header X-Key: …",
		"--url http://b/ --bearer-env TOKEN":        "--url http://b/ --bearer-env TOKEN",
		"--url http://b/ --token-env second=C":      "--url http://b/ --token-env second=C",
		"--url http://b/ --sse-url http://b?s3cr3t": "--url http://b/ --sse-url http://b?[redacted]",
		"--url http://b/ --insecure --cacert c":     "--url http://b/ --insecure --cacert c",
		"--url http://b/ --contact-issuer":          "--url http://b/ --contact-issuer",
		"--demo --env A=b":                          "--env A=… --demo",
	} {
		v, err := config.Resolve(configtest.ParseFlags(t, line), file)
		if err != nil {
			t.Fatal(err)
		}
		a, err := resolveAddress(v, &s, io.Discard)
		if got := strings.Join((&Target{Address: a, Redactor: s.Redactor()}).ServerArgs(v),
			" "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
}

// TestResolveAddress proves that environment and headers from flags take precedence over the entry of a host, and that
// mcpcheck.yaml does not affect a host's server.
func TestResolveAddress(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROGRAM", "s3cr3t-program")
	configtest.WriteHostFile(t, dir, map[string]any{
		"stdio": map[string]any{
			"command": "${PROGRAM}", "args": []string{"a"}, "env": map[string]string{"A": "entry", "B": "entry"},
		},
		"web": map[string]any{"url": "http://entry/", "headers": map[string]string{
			"X-Key": "entry", "X-Other": "entry", "authorization": "entry", "Accept": "entry",
		}},
	})
	servers := filepath.Join(dir, ".mcp.json")
	file := configtest.ParseFile(t, "command: [file]\nenv: {A: file, C: file}\ncwd: nowhere\nheaders: {X-Key: FILE}\n")
	command := []string{"s3cr3t-program", "a"}
	for line, want := range map[string]config.Address{
		"--server stdio --env A=flag":    {Command: command, Env: []string{"B=entry", "A=flag"}, Dir: dir},
		"--server stdio --cwd elsewhere": {Command: command, Env: []string{"A=entry", "B=entry"}, Dir: "elsewhere"},
		"--server web --env A=flag": {
			URL: "http://entry/", Env: []string{"A=flag"},
			Headers: []string{"X-Key: entry", "X-Other: entry", "authorization: entry"},
		},
		"--server web --header x-key:flag --bearer-env TOKEN": {
			URL: "http://entry/", Headers: []string{"x-key:flag", "X-Other: entry"},
		},
	} {
		v, err := config.Resolve(configtest.ParseFlags(t, line+" --servers-file "+servers), file)
		if err != nil {
			t.Fatal(err)
		}
		var s redact.Secrets
		got, err := resolveAddress(v, &s, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		want.ServerFlags = []string{"--server", v.Flags.Hosts.ServerName, "--servers-file", servers}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(config.Address{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, - wanted, + got:\n%s", line, diff)
		}
		if shown := s.Redactor().Text("s3cr3t-program"); got.URL == "" && shown != redact.Placeholder {
			t.Errorf("%s: a value from the environment is shown: %s", line, shown)
		}
	}
}

// TestWithFreePort proves that {port} is replaced everywhere by the same free port.
func TestWithFreePort(t *testing.T) {
	written := config.Address{
		Command: []string{"serve", "{port}"}, URL: "http://h:{port}/", SSEURL: "http://h:{port}/sse",
		Env: []string{"PORT={port}"},
	}
	filled, err := withFreePort(written)
	if err != nil {
		t.Fatal(err)
	}
	port := filled.Command[1]
	want := config.Address{
		Command: []string{"serve", port}, URL: "http://h:" + port + "/", SSEURL: "http://h:" + port + "/sse",
		Env: []string{"PORT=" + port},
	}
	if diff := cmp.Diff(want, filled,
		cmp.AllowUnexported(config.Address{})); diff != "" || port == redact.PortPlaceholder {
		t.Errorf("port %s, - wanted, + got:\n%s", port, diff)
	}
	if other, err := net.ListenPacket("udp", "127.0.0.1:"+port); err == nil {
		other.Close()
		t.Errorf("port %s is not reserved: another run may choose it", port)
	}
	if written.Command[1] != redact.PortPlaceholder {
		t.Errorf("the written address has changed: %v", written.Command)
	}
	if _, err := withFreePort(config.Address{URL: "http://h:{port}/"}); err == nil {
		t.Error("{port} without a command was accepted")
	}
}
