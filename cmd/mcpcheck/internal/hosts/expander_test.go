package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExpand proves that variables are replaced as each host does.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOST_TOKEN", "s3cr3t-token")
	t.Setenv("HOST_EMPTY", "")
	t.Setenv("API_KEY_2", "s3cr3t-input")
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	sep := string(os.PathSeparator)
	const unset = "error"

	for _, test := range []struct {
		text string
		// The hosts are Claude Code, VS Code, Cursor, Claude Desktop and one that is not known.
		plain, code, cursor, none, any string
	}{
		{"as it is", "as it is", "as it is", "as it is", "as it is", "as it is"},
		{"${HOST_TOKEN}", "s3cr3t-token", "${HOST_TOKEN}", "${HOST_TOKEN}", "${HOST_TOKEN}", "s3cr3t-token"},
		{
			"a${HOST_TOKEN}b${HOST_TOKEN}", "as3cr3t-tokenbs3cr3t-token",
			"a${HOST_TOKEN}b${HOST_TOKEN}", "a${HOST_TOKEN}b${HOST_TOKEN}", "a${HOST_TOKEN}b${HOST_TOKEN}",
			"as3cr3t-tokenbs3cr3t-token",
		},
		{"${HOST_NONE:-other}", "other", "${HOST_NONE:-other}", "${HOST_NONE:-other}", "${HOST_NONE:-other}", "other"},
		{"${HOST_NONE:-}", "", "${HOST_NONE:-}", "${HOST_NONE:-}", "${HOST_NONE:-}", ""},
		{"${HOST_EMPTY:-other}", "", "${HOST_EMPTY:-other}", "${HOST_EMPTY:-other}", "${HOST_EMPTY:-other}", ""},
		{
			"${HOST_TOKEN:-other}", "s3cr3t-token",
			"${HOST_TOKEN:-other}", "${HOST_TOKEN:-other}", "${HOST_TOKEN:-other}", "s3cr3t-token",
		},
		{"${HOST_NONE}", unset, "${HOST_NONE}", "${HOST_NONE}", "${HOST_NONE}", unset},
		{"$HOST_TOKEN", "$HOST_TOKEN", "$HOST_TOKEN", "$HOST_TOKEN", "$HOST_TOKEN", "$HOST_TOKEN"},
		{"${name%.js}", "${name%.js}", "${name%.js}", "${name%.js}", "${name%.js}", "${name%.js}"},
		{"${env:HOST_TOKEN}", "${env:HOST_TOKEN}", "s3cr3t-token", "s3cr3t-token", "${env:HOST_TOKEN}", "s3cr3t-token"},
		{"${env:HOST_EMPTY}", "${env:HOST_EMPTY}", "", "", "${env:HOST_EMPTY}", ""},
		{"${env:HOST_NONE}", "${env:HOST_NONE}", unset, unset, "${env:HOST_NONE}", unset},
		{"${workspaceFolder}", unset, dir, dir, "${workspaceFolder}", dir},
		{
			"${workspaceFolderBasename}", unset,
			filepath.Base(dir), filepath.Base(dir), "${workspaceFolderBasename}", filepath.Base(dir),
		},
		{"${userHome}", unset, dir, dir, "${userHome}", dir},
		{
			"a${pathSeparator}b${/}c", unset,
			"a" + sep + "b" + sep + "c", "a" + sep + "b" + sep + "c",
			"a${pathSeparator}b${/}c", "a" + sep + "b" + sep + "c",
		},
		{
			"${input:api-key.2}", "${input:api-key.2}",
			"s3cr3t-input", "${input:api-key.2}", "${input:api-key.2}", "${input:api-key.2}",
		},
		{"${input:nothing}", "${input:nothing}", unset, "${input:nothing}", "${input:nothing}", "${input:nothing}"},
		{
			"${config:editor.tabSize}", "${config:editor.tabSize}",
			unset, "${config:editor.tabSize}", "${config:editor.tabSize}", "${config:editor.tabSize}",
		},
		{"${file}", unset, "${file}", "${file}", "${file}", unset},
	} {
		for _, host := range []struct {
			name string
			dialect
			want string
		}{
			{"Claude Code", claudeCode, test.plain}, {"VS Code", vsCode, test.code}, {"Cursor", cursor, test.cursor},
			{"Claude Desktop", claudeDesktop, test.none}, {"another", unknownHost, test.any},
		} {
			x := &expander{Server: Server{file: file{"file", host.dialect}}, projectDir: dir, homeDir: dir}
			got := x.expand(test.text)
			if x.firstErr != nil {
				got = unset
			}
			if got != host.want {
				t.Errorf("%s: %s = %q, want %q", host.name, test.text, got, host.want)
			}
		}
	}
}

// TestExpandErrors proves that errors name the file, the server and the variable.
func TestExpandErrors(t *testing.T) {
	for content, want := range map[string]string{
		"${HOST_NONE}": `f.json:3:9: server "x": ${HOST_NONE} stands for the environment variable HOST_NONE, ` +
			`which is not set`,
		"${env:HOST_NONE}": `f.json:3:9: server "x": ${env:HOST_NONE} stands for the environment variable ` +
			`HOST_NONE, which is not set`,
		"${input:host-key}": `f.json:3:9: server "x": ${input:host-key} cannot be asked for here; set the ` +
			`environment variable HOST_KEY to it, or give the value with --env or --header`,
		"${command:pick}": `f.json:3:9: server "x": ${command:pick} is known to VS Code alone; write its value instead`,
	} {
		x := &expander{
			Server: Server{
				Name:     "x",
				location: "f.json:3:9",
				file: file{"f.json",
					dialect{hasShellVariables: true, hasEditorVariables: true, isVSCode: true}},
			},
		}
		x.expand(content + content)
		if x.firstErr == nil || x.firstErr.Error() != want {
			t.Errorf("%s: %v, want %s", content, x.firstErr, want)
		}
	}
}

// TestExpandSecrets proves that values from the environment become secrets, except those that are clearly public.
func TestExpandSecrets(t *testing.T) {
	dir := t.TempDir()
	for value, secret := range map[string]bool{
		"s3cr3t-token":                       true,
		"https://user:s3cr3t@example.com/":   true,
		"https://example.com/mcp?key=s3cr3t": true,
		"https://example.com/mcp":            false,
		dir:                                  false,
		filepath.Join(dir, "not-there"):      true,
	} {
		t.Setenv("HOST_VALUE", value)
		x := &expander{Server: Server{file: file{"f.json", claudeCode}}}
		x.expand("${HOST_VALUE:-default}")
		if got := len(x.secrets) == 1; got != secret {
			t.Errorf("%s is kept: %v, want %v", value, got, secret)
		}
	}
}

// TestServerEnvironment covers envFile, env and the command line together.
func TestServerEnvironment(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "my.env"), []byte("A=file\nB=file\nC=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOST_GONE", "here")
	t.Setenv("PATH", "before")
	e := Server{
		EnvFile: "${workspaceFolder}/my.env",
		Env:     map[string]any{"B": "env", "C": nil, "HOST_GONE": nil, "D": "${input:nobody-asks}", "PATH": "after"},
	}
	given := map[string]bool{"D": true}
	joined := "before" + string(os.PathListSeparator) + "after"
	for _, test := range []struct {
		name string
		dialect
		want map[string]string
	}{
		{"VS Code", vsCode, map[string]string{"A": "file", "B": "env", "PATH": joined}},
		{"Cursor", cursor, map[string]string{"A": "file", "B": "env", "PATH": "after"}},
		{"Claude Code", claudeCode, map[string]string{"B": "env", "PATH": "after"}},
	} {
		e.file.dialect = test.dialect
		x := &expander{Server: e, projectDir: dir}
		if diff := cmp.Diff(test.want, x.environment(given)); diff != "" || x.firstErr != nil {
			t.Errorf("%s: %v, differences:\n%s", test.name, x.firstErr, diff)
		}
	}
	if value, ok := os.LookupEnv("HOST_GONE"); ok {
		t.Errorf("HOST_GONE is %q still", value)
	}
}

func TestParseEnv(t *testing.T) {
	const text = "# comment\n\nA=1\r\nexport B = two words \nC=\"a # b\\nc\" # comment\nD='single \\n'\n" +
		"E=`back`\nF=x#comment\nG=\nH: colon\nI=\"open\nJ=a=b\n no assignment\n=nothing\n"
	want := map[string]string{
		"A": "1", "B": "two words", "C": "a # b\nc", "D": `single \n`, "E": "back", "F": "x",
		"G": "", "H": "colon", "I": `"open`, "J": "a=b",
	}
	if diff := cmp.Diff(want, parseEnv(text)); diff != "" {
		t.Error(diff)
	}
}

// TestEnvFileLimit proves that a file of variables is read only up to its limit.
func TestEnvFileLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(".env", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, more := range []int{0, 1} {
		if err := os.Truncate(".env", int64(maxEnvFileBytes+more)); err != nil {
			t.Fatal(err)
		}
		x := newExpander(Server{file: file{".vscode/mcp.json", vsCode}, EnvFile: ".env"})
		x.readEnvFile()
		if said := x.firstErr != nil && strings.Contains(x.firstErr.Error(),
			"it is longer than the 1 MiB that are read"); said != (more > 0) {
			t.Errorf("with %d bytes more than are read: %v", more, x.firstErr)
		}
	}
}
