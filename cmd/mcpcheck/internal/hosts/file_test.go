package hosts

import (
	"path/filepath"
	"testing"
)

// TestHostFile proves that the dialect of a file is found by its path.
func TestHostFile(t *testing.T) {
	for _, test := range []struct {
		path    string
		want    dialect
		project string
	}{
		{".mcp.json", claudeCode, ""},
		{"a/.mcp.json", claudeCode, "a"},
		{".vscode/mcp.json", vsCode, ""},
		{"a/b/.vscode/mcp.json", vsCode, "a/b"},
		{".cursor/mcp.json", cursor, ""},
		{"../.cursor/mcp.json", cursor, ".."},
		{"a/claude_desktop_config.json", claudeDesktop, ""},
		{"a/servers.json", unknownHost, ""},
		{"mcp.json", unknownHost, ""},
	} {
		f := file{filepath.FromSlash(test.path), dialectOf(filepath.FromSlash(test.path))}
		if f.dialect != test.want {
			t.Errorf("%s is %+v, want %+v", test.path, f.dialect, test.want)
		}
		if got := filepath.ToSlash(f.projectDir()); got != test.project {
			t.Errorf("project of %s is %q, want %q", test.path, got, test.project)
		}
	}
	if got := (file{"mcp.json", vsCode}).projectDir(); got != ".." {
		t.Errorf("in .vscode, the project of mcp.json is %q, want ..", got)
	}
}

// TestTransport covers the type of an entry, and how it is guessed when it is missing.
func TestTransport(t *testing.T) {
	for _, test := range []struct {
		entry Server
		want  string
	}{
		{Server{Command: "x"}, "stdio"},
		{Server{URL: "x"}, "http"},
		{Server{Command: "x", URL: "x"}, "stdio"},
		{Server{Type: "stdio", Command: "x"}, "stdio"},
		{Server{Type: "http", URL: "x", Command: "x"}, "http"},
		{Server{Type: "streamable-http", URL: "x"}, "http"},
		{Server{Type: "streamableHttp", URL: "x"}, "http"},
		{Server{Type: "sse", URL: "x"}, "sse"},
		{Server{}, "there is neither command nor url"},
		{Server{Type: "ws", URL: "x"}, `unknown type "ws" (want stdio, http or sse)`},
		{Server{Type: "stdio", URL: "x"}, "a server over stdio needs a command"},
		{Server{Type: "sse", Command: "x"}, "a server over sse needs a url"},
	} {
		got, err := test.entry.transport()
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf(
				"type %q, command %q, url %q: %s, want %s",
				test.entry.Type,
				test.entry.Command,
				test.entry.URL,
				got,
				test.want,
			)
		}
	}
}

// TestDisplayText proves that entries are shown without their secrets.
func TestDisplayText(t *testing.T) {
	for _, test := range []struct {
		entry Server
		want  string
	}{
		{Server{Command: "node", Args: []string{"my server.js", "${KEY}"}}, "node 'my server.js' ${KEY}"},
		{
			Server{Command: "x", Args: []string{"s3cr3t-value"}, Env: map[string]any{"A": "s3cr3t-value"}},
			"x [redacted]",
		},
		{Server{Command: "x", Args: []string{"${A}"}, Env: map[string]any{"A": "${A}"}}, "x ${A}"},
		{Server{Command: "x", Args: []string{"postgres://me:s3cr3t@db/x"}}, "x postgres://me:[redacted]@db/x"},
		{
			Server{Command: "x", Args: []string{"--api-key", "s3cr3t", "--token=s3cr3t", "-v"}},
			"x --api-key [redacted] --token=[redacted] -v",
		},
		{Server{Command: "x", Args: []string{"--header", "Authorization: Bearer s3cr3t"}}, "x --header " +
			"'Authorization:[redacted]'"},
		{Server{Command: "x", Args: []string{"--token", "--verbose", "--key", "${KEY}"}}, "x --token " +
			"--verbose --key ${KEY}"},
		{Server{Command: "docker", Args: []string{"run", "-e", "API_KEY", "image"}}, "docker run -e API_KEY image"},
		{Server{URL: "https://me:s3cr3t@h/mcp?key=s3cr3t"}, "https://me:[redacted]@h/mcp?…"},
	} {
		if got := test.entry.DisplayText(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
