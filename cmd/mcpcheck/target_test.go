package main

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestServerArgs: the flags that reach a server again name it as it was named, without secrets, and without what
// mcpcheck.yaml gives by itself.
func TestServerArgs(t *testing.T) {
	s := secrets{texts: []string{"s3cr3t"}}
	file := parseTestConfig(t, "env: {A: b}\nheaders: {X-File: FILE}\nbearer-env: FILE\n")
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
		v, err := resolveOptions(parseRunFlags(t, line), file)
		if err != nil {
			t.Fatal(err)
		}
		a, err := resolveAddress(v, &s, io.Discard)
		if got := strings.Join((&target{address: a, redactor: s.redactor()}).serverArgs(v),
			" "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
}

// TestResolveAddress: what flags give of the environment and of headers wins over the entry of a host, and
// mcpcheck.yaml says nothing of its server.
func TestResolveAddress(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PROGRAM", "s3cr3t-program")
	writeHostFile(t, dir, map[string]any{
		"stdio": map[string]any{
			"command": "${PROGRAM}", "args": []string{"a"}, "env": map[string]string{"A": "entry", "B": "entry"},
		},
		"web": map[string]any{"url": "http://entry/", "headers": map[string]string{
			"X-Key": "entry", "X-Other": "entry", "authorization": "entry", "Accept": "entry",
		}},
	})
	servers := filepath.Join(dir, ".mcp.json")
	file := parseTestConfig(t, "command: [file]\nenv: {A: file, C: file}\ncwd: nowhere\nheaders: {X-Key: FILE}\n")
	command := []string{"s3cr3t-program", "a"}
	for line, want := range map[string]address{
		"--server stdio --env A=flag":    {command: command, env: []string{"B=entry", "A=flag"}, dir: dir},
		"--server stdio --cwd elsewhere": {command: command, env: []string{"A=entry", "B=entry"}, dir: "elsewhere"},
		"--server web --env A=flag": {
			url: "http://entry/", env: []string{"A=flag"},
			headers: []string{"X-Key: entry", "X-Other: entry", "authorization: entry"},
		},
		"--server web --header x-key:flag --bearer-env TOKEN": {
			url: "http://entry/", headers: []string{"x-key:flag", "X-Other: entry"},
		},
	} {
		v, err := resolveOptions(parseRunFlags(t, line+" --servers-file "+servers), file)
		if err != nil {
			t.Fatal(err)
		}
		var s secrets
		got, err := resolveAddress(v, &s, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		want.serverFlags = []string{"--server", v.flags.hosts.serverName, "--servers-file", servers}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(address{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, - wanted, + got:\n%s", line, diff)
		}
		if shown := s.redactor().text("s3cr3t-program"); got.url == "" && shown != redactedText {
			t.Errorf("%s: what came out of the environment is shown: %s", line, shown)
		}
	}
}

// TestWithFreePort: a free port is filled in wherever {port} stands, the same everywhere.
func TestWithFreePort(t *testing.T) {
	written := address{
		command: []string{"serve", "{port}"}, url: "http://h:{port}/", sseURL: "http://h:{port}/sse",
		env: []string{"PORT={port}"},
	}
	filled, err := written.withFreePort()
	if err != nil {
		t.Fatal(err)
	}
	port := filled.command[1]
	want := address{
		command: []string{"serve", port}, url: "http://h:" + port + "/", sseURL: "http://h:" + port + "/sse",
		env: []string{"PORT=" + port},
	}
	if diff := cmp.Diff(want, filled, cmp.AllowUnexported(address{})); diff != "" || port == portPlaceholder {
		t.Errorf("port %s, - wanted, + got:\n%s", port, diff)
	}
	if other, err := net.ListenPacket("udp", "127.0.0.1:"+port); err == nil {
		other.Close()
		t.Errorf("port %s is not claimed: another run may choose it", port)
	}
	if written.command[1] != portPlaceholder {
		t.Errorf("what was written has changed: %v", written.command)
	}
	if _, err := (address{url: "http://h:{port}/"}).withFreePort(); err == nil {
		t.Error("a port without a command to listen on it is taken")
	}
}

// TestReadCredentials: headers that are given win over those of mcpcheck.yaml, and all values are secrets.
func TestReadCredentials(t *testing.T) {
	for _, variable := range []string{"FILE", "BEARER", "FLAG", "SECOND"} {
		t.Setenv(variable, "s3cr3t-"+variable)
	}
	const key, bearer = "headers: {X-Key: FILE}\n", "bearer-env: BEARER\n"
	for _, test := range []struct {
		line, file string
		want       string // headers and tokens, or the error
	}{
		{"", key + bearer, "X-Key: s3cr3t-FILE, Authorization: Bearer s3cr3t-BEARER, token s3cr3t-BEARER"},
		{"--header x-key:s3cr3t-given", key, "X-Key: s3cr3t-given"},
		{"--bearer-env FLAG", bearer, "Authorization: Bearer s3cr3t-FLAG, token s3cr3t-FLAG"},
		{"--bearer-env FLAG", "headers: {authorization: FILE}\n",
			"Authorization: Bearer s3cr3t-FLAG, token s3cr3t-FLAG"},
		{"--header Authorization:s3cr3t-given", bearer, "Authorization: s3cr3t-given"},
		{"--token-env second=SECOND", "", "second s3cr3t-SECOND"},
		{"--header Authorization:x --bearer-env FLAG", "", "--bearer-env and the header Authorization are the same"},
		{"--header-env x-key=FLAG", key, "X-Key: s3cr3t-FLAG"},
		{"--header-env Authorization=FLAG", bearer, "Authorization: s3cr3t-FLAG"},
		{"--header-env Host=FLAG", "", "--header-env cannot set Host"},
		{"--header-env X-Key=a-value", "", "--header-env wants NAME=VARIABLE"},
		{"--header-env X-Key=NONE", "", "--header-env X-Key: the environment variable NONE is empty or not set"},
		{"--header X-Key:x --header-env X-Key=FLAG", "", "--header-env X-Key is given already"},
		{"--header Host:x", "", "--header cannot set Host"},
		{"--header x", "", "--header wants 'NAME: VALUE'"},
		{"--bearer-env NONE", "", "--bearer-env: the environment variable NONE is empty or not set"},
		{"", "bearer-env: NONE\n", "mcpcheck.yaml:1:13: bearer-env: the environment variable NONE is empty"},
		{"", "headers: {X-Key: NONE}\n", "mcpcheck.yaml:1:18: X-Key: the environment variable NONE is empty"},
		{"--token-env third=FLAG", "", "--token-env wants KIND=VARIABLE"},
	} {
		v, err := resolveOptions(parseRunFlags(t, test.line+" --url http://h/"), parseTestConfig(t, test.file))
		if err != nil {
			t.Fatal(err)
		}
		var s secrets
		x, err := readCredentials(v, address{url: v.URL, headers: v.flags.remote.headers}, &s)
		got := describeCredentials(x)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) || err == nil && got != test.want {
			t.Errorf("%s with %q: %s, want %s", test.line, test.file, got, test.want)
		}
		if shown := s.redactor().text(got); strings.Contains(shown, "s3cr3t") {
			t.Errorf("%s with %q: not secret: %s", test.line, test.file, shown)
		}
	}
}

// describeCredentials is what access holds.
func describeCredentials(x httpCredentials) string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"X-Key: ", x.header.Get("X-Key")}, {"Authorization: ", x.header.Get("Authorization")},
		{"token ", x.tokens.Bearer}, {"second ", x.tokens.SecondPrincipal},
	} {
		if part.value != "" {
			parts = append(parts, part.name+part.value)
		}
	}
	return strings.Join(parts, ", ")
}
