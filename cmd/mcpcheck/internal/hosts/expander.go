package hosts

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// expander replaces the variables of an entry in the way the host of its file does.
type expander struct {
	Server
	// projectDir is the absolute path of the project.
	projectDir string
	// homeDir is the home directory of the user.
	homeDir string
	// secrets are the values that came from the environment.
	secrets []string
	// firstErr is the first problem; nil means that there was none.
	firstErr error
}

func newExpander(e Server) *expander {
	x := &expander{Server: e}
	var err error
	if x.projectDir, err = filepath.Abs(e.file.projectDir()); err != nil {
		x.fail("%w", err)
	}
	x.homeDir, _ = os.UserHomeDir()
	return x
}

// fail records the first problem.
func (x *expander) fail(format string, a ...any) {
	if x.firstErr == nil {
		x.firstErr = x.Server.errorf(format, a...)
	}
}

// variablePattern matches a variable in a text.
var variablePattern = regexp.MustCompile(`\$\{([^}]*)\}`)

// shellVariablePattern matches a variable of Claude Code, with a default or without.
var shellVariablePattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-)?`)

// expand replaces the variables of a text. What is not a variable for the host stays as it is.
func (x *expander) expand(content string) string {
	return variablePattern.ReplaceAllStringFunc(content, func(whole string) string {
		inner := whole[len("${") : len(whole)-len("}")]
		kind, name, qualified := strings.Cut(inner, ":")
		if value, ok := x.predefinedVariable(inner); ok && x.file.hasEditorVariables {
			return value
		}
		switch match := shellVariablePattern.FindStringSubmatch(inner); {
		case x.file.hasEditorVariables && kind == "env" && qualified:
			return x.envVariable(name, whole)
		case x.file.isVSCode && kind == "input":
			return x.inputVariable(name)
		case x.file.isVSCode && slices.Contains(vsCodeOnlyKinds, kind):
			x.fail("%s is known to VS Code alone; write its value instead", whole)
		case x.file.hasShellVariables && match != nil && match[2] != "":
			return x.envVariableOr(match[1], inner[len(match[0]):])
		case x.file.hasShellVariables && match != nil && match[0] == inner:
			return x.envVariable(inner, whole)
		}
		return whole
	})
}

// vsCodeOnlyKinds are kinds of variables that only VS Code itself can replace.
var vsCodeOnlyKinds = []string{"config", "command", "workspaceFolder", "extensionInstallFolder"}

// predefinedVariable returns the value of a variable that editors define.
func (x *expander) predefinedVariable(name string) (value string, ok bool) {
	value, ok = map[string]string{
		"workspaceFolder":         x.projectDir,
		"workspaceFolderBasename": filepath.Base(x.projectDir),
		"userHome":                x.homeDir,
		"pathSeparator":           string(os.PathSeparator),
		"/":                       string(os.PathSeparator),
	}[name]
	return value, ok
}

// envVariable returns the value of an environment variable, which has to be set.
func (x *expander) envVariable(name, whole string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		x.fail("%s stands for the environment variable %s, which is not set", whole, name)
	}
	x.addSecret(value)
	return value
}

// envVariableOr returns the value of an environment variable, or a default.
func (x *expander) envVariableOr(name, otherwise string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	x.addSecret(value)
	return value
}

// inputVariable returns a value that VS Code asks its user for. Here it comes from an environment variable.
func (x *expander) inputVariable(id string) string {
	name := strings.ToUpper(invalidNameChars.ReplaceAllString(id, "_"))
	value, ok := os.LookupEnv(name)
	if !ok {
		x.fail("${input:%s} cannot be asked for here; set the environment variable %s to it, "+
			"or give the value with --env or --header", id, name)
	}
	x.addSecret(value)
	return value
}

var invalidNameChars = regexp.MustCompile(`[^A-Za-z0-9_]`)

// addSecret makes a value a secret, unless it is a local path, or a URL without a secret in it: redacting those would
// only make reports unreadable.
func (x *expander) addSecret(value string) {
	if _, err := os.Stat(value); err == nil && filepath.IsAbs(value) {
		return
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" {
		return
	}
	x.secrets = append(x.secrets, value)
}

// expandPath replaces the variables of a text that may be a path, and for VS Code a leading ~.
func (x *expander) expandPath(content string) string {
	content = x.expand(content)
	if rest, ok := strings.CutPrefix(content, "~"); ok && x.file.isVSCode && (rest == "" ||
		os.IsPathSeparator(rest[0])) {
		return x.homeDir + rest
	}
	return content
}

// workingDir returns the directory that the command starts in: the project, or a directory relative to it.
func (x *expander) workingDir() string {
	dir := x.expandPath(x.Cwd)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(x.file.projectDir(), dir)
	}
	if dir != "" && !files.IsDir(dir) {
		x.fail("its working directory %s is not a directory", x.Cwd)
	}
	return dir
}

// environment returns what the entry adds to the environment, without the variables that are given on the command line.
func (x *expander) environment(given map[string]bool) map[string]string {
	env := x.readEnvFile()
	var unset []string
	for _, key := range slices.Sorted(maps.Keys(x.Env)) {
		switch value := x.Env[key].(type) {
		case map[string]any, []any:
			x.fail("env %s needs a text", key)
		case nil:
			delete(env, key)
			unset = append(unset, key)
		default:
			if !given[key] {
				env[key] = x.envValue(env, key, fmt.Sprint(value))
			}
		}
	}
	for _, key := range unset {
		os.Unsetenv(key) // the server inherits this environment
	}
	return env
}

// envValue returns the value of a variable for the server. VS Code appends to PATH.
func (x *expander) envValue(env map[string]string, key, value string) string {
	value = x.expand(value)
	if !x.file.isVSCode || !strings.EqualFold(key, "PATH") {
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

// readEnvFile reads the file that the member envFile names, if the host supports that member.
func (x *expander) readEnvFile() map[string]string {
	if x.EnvFile == "" || !x.file.hasEditorVariables {
		return map[string]string{}
	}
	file := x.expandPath(x.EnvFile)
	if !filepath.IsAbs(file) {
		file = filepath.Join(x.projectDir, file)
	}
	content, err := files.ReadLimited(file, maxEnvFileBytes)
	if err != nil {
		x.fail("cannot read its envFile: %w", err)
	}
	return parseEnv(string(content))
}

// parseEnv parses lines of NAME=value as VS Code does: with optional export, quotes and comments. It skips other lines.
func parseEnv(content string) map[string]string {
	env := map[string]string{}
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "export "))
		i := strings.IndexAny(line, "=:")
		if i < 1 || line[0] == '#' {
			continue
		}
		env[strings.TrimSpace(line[:i])] = unquote(strings.TrimSpace(line[i+1:]))
	}
	return env
}

// unquote removes the quotes, or the comment, from a value.
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

// expandURL returns the URL of the server. Its errors quote the URL before replacement, since values may be secrets.
func (x *expander) expandURL() string {
	content := x.expand(x.URL)
	if _, err := driver.ParseURL(content); err != nil {
		x.fail("%s is not an http or https URL", maskSecrets(x.URL))
	}
	return content
}

// headerValue returns the value of a header.
func (x *expander) headerValue(name string) string {
	value := x.expand(x.Headers[name])
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(strings.TrimSpace(value)) {
		x.fail("its header %q cannot stand in an HTTP request", name)
	}
	return value
}
