package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// expansion fills in the variables of an entry, as the host of its file does.
type expansion struct {
	hostServer
	folder  string   // absolute, of the project
	home    string   // of the user
	secrets []string // what came out of the environment
	problem error    // the first
}

func newExpansion(e hostServer) *expansion {
	x := &expansion{hostServer: e}
	var err error
	if x.folder, err = filepath.Abs(e.file.project()); err != nil {
		x.fail("%w", err)
	}
	x.home, _ = os.UserHomeDir()
	return x
}

// fail keeps the first problem.
func (x *expansion) fail(format string, a ...any) {
	if x.problem == nil {
		x.problem = x.hostServer.problem(format, a...)
	}
}

// variable is what is filled in.
var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// plainVariable is a variable of Claude Code, with a default or without.
var plainVariable = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-)?`)

// fill fills variables in. What is not a variable to the host stays as it is.
func (x *expansion) fill(text string) string {
	return variable.ReplaceAllStringFunc(text, func(whole string) string {
		inner := whole[len("${") : len(whole)-len("}")]
		kind, name, qualified := strings.Cut(inner, ":")
		if value, ok := x.predefined(inner); ok && x.file.editor {
			return value
		}
		switch match := plainVariable.FindStringSubmatch(inner); {
		case x.file.editor && kind == "env" && qualified:
			return x.variable(name, whole)
		case x.file.vsCode && kind == "input":
			return x.input(name)
		case x.file.vsCode && slices.Contains(knownToVSCode, kind):
			x.fail("%s is known to VS Code alone; write its value instead", whole)
		case x.file.plain && match != nil && match[2] != "":
			return x.variableOr(match[1], inner[len(match[0]):])
		case x.file.plain && match != nil && match[0] == inner:
			return x.variable(inner, whole)
		}
		return whole
	})
}

// knownToVSCode are kinds of variables that nobody else can fill in.
var knownToVSCode = []string{"config", "command", "workspaceFolder", "extensionInstallFolder"}

// predefined is a variable that editors know.
func (x *expansion) predefined(name string) (value string, ok bool) {
	value, ok = map[string]string{
		"workspaceFolder":         x.folder,
		"workspaceFolderBasename": filepath.Base(x.folder),
		"userHome":                x.home,
		"pathSeparator":           string(os.PathSeparator),
		"/":                       string(os.PathSeparator),
	}[name]
	return value, ok
}

// variable is the value of an environment variable, which has to be set.
func (x *expansion) variable(name, whole string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		x.fail("%s stands for the environment variable %s, which is not set", whole, name)
	}
	x.keep(value)
	return value
}

// variableOr is the value of an environment variable, or a default.
func (x *expansion) variableOr(name, otherwise string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	x.keep(value)
	return value
}

// input is what VS Code asks its user for. Here an environment variable says it.
func (x *expansion) input(id string) string {
	name := strings.ToUpper(notInName.ReplaceAllString(id, "_"))
	value, ok := os.LookupEnv(name)
	if !ok {
		x.fail("${input:%s} cannot be asked for here; set the environment variable %s to it, "+
			"or give the value with --env or --header", id, name)
	}
	x.keep(value)
	return value
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_]`)

// keep keeps a value as a secret, unless it is a path of this machine or a URL with nothing secret in it: to redact
// those would only make reports unreadable.
func (x *expansion) keep(value string) {
	if _, err := os.Stat(value); err == nil && filepath.IsAbs(value) {
		return
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" {
		return
	}
	x.secrets = append(x.secrets, value)
}

// path fills a text in that may be a path: VS Code knows a leading ~.
func (x *expansion) path(text string) string {
	text = x.fill(text)
	if rest, ok := strings.CutPrefix(text, "~"); ok && x.file.vsCode && (rest == "" || os.IsPathSeparator(rest[0])) {
		return x.home + rest
	}
	return text
}

// directory is where the command starts: relative to the project, as a rule the project itself.
func (x *expansion) directory() string {
	dir := x.path(x.Cwd)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(x.file.project(), dir)
	}
	if dir != "" && !reporters.IsDir(dir) {
		x.fail("its working directory %s is not a directory", x.Cwd)
	}
	return dir
}

// environment is what the entry adds to the environment, without the variables that are given on the command line.
func (x *expansion) environment(given map[string]bool) map[string]string {
	env := x.envFile()
	var unset []string
	for _, key := range sortedKeys(x.Env) {
		switch value := x.Env[key].(type) {
		case map[string]any, []any:
			x.fail("env %s wants a text", key)
		case nil:
			delete(env, key)
			unset = append(unset, key)
		default:
			if !given[key] {
				env[key] = x.entry(env, key, fmt.Sprint(value))
			}
		}
	}
	for _, key := range unset {
		os.Unsetenv(key) // the server inherits this environment
	}
	return env
}

// entry is the value of a variable for the server. In VS Code, PATH is added to.
func (x *expansion) entry(env map[string]string, key, value string) string {
	value = x.fill(value)
	if !x.file.vsCode || !strings.EqualFold(key, "PATH") {
		return value
	}
	before, ok := env[key]
	if !ok {
		before = os.Getenv(key)
	}
	if before == "" {
		return value
	}
	return before + string(os.PathListSeparator) + value
}

// envFile reads the file that the entry names, if the host knows of such files.
func (x *expansion) envFile() map[string]string {
	if x.EnvFile == "" || !x.file.editor {
		return map[string]string{}
	}
	file := x.path(x.EnvFile)
	if !filepath.IsAbs(file) {
		file = filepath.Join(x.folder, file)
	}
	text, err := readWhole(file, longestEnv)
	if err != nil {
		x.fail("cannot read its envFile: %w", err)
	}
	return parseEnv(string(text))
}

// parseEnv reads lines of NAME=value as VS Code does: with export before them, with quotes and with comments. What is
// not such a line is passed over.
func parseEnv(text string) map[string]string {
	env := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		i := strings.IndexAny(line, "=:")
		if i < 1 || line[0] == '#' {
			continue
		}
		env[strings.TrimSpace(line[:i])] = unquote(strings.TrimSpace(line[i+1:]))
	}
	return env
}

// unquote takes the quotes, or the comment, off a value.
func unquote(value string) string {
	if value != "" && strings.ContainsRune("\"'`", rune(value[0])) {
		if quoted, _, closed := strings.Cut(value[1:], value[:1]); closed {
			if value[0] == '"' {
				quoted = strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(quoted)
			}
			return quoted
		}
	}
	value, _, _ = strings.Cut(value, "#")
	return strings.TrimSpace(value)
}

// url is where the server is. An error shows it as it is written: what is filled in
// may be a secret.
func (x *expansion) url() string {
	text := x.fill(x.URL)
	if _, err := driver.ParseURL(text); err != nil {
		x.fail("%s is not an http or https URL", withoutSecrets(x.URL))
	}
	return text
}

// header is the value of a header.
func (x *expansion) header(name string) string {
	value := x.fill(x.Headers[name])
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(strings.TrimSpace(value)) {
		x.fail("its header %q cannot stand in an HTTP request", name)
	}
	return value
}
