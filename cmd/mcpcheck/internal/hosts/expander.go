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

// expander fills in the variables of an entry, as the host of its file does.
type expander struct {
	Server
	projectDir string   // absolute, of the project
	homeDir    string   // of the user
	secrets    []string // what came out of the environment
	firstErr   error    // the first
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

// fail keeps the first problem.
func (x *expander) fail(format string, a ...any) {
	if x.firstErr == nil {
		x.firstErr = x.Server.errorf(format, a...)
	}
}

// variablePattern is what is filled in.
var variablePattern = regexp.MustCompile(`\$\{([^}]*)\}`)

// shellVariablePattern is a variable of Claude Code, with a default or without.
var shellVariablePattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-)?`)

// expand fills variables in. What is not a variable to the host stays as it is.
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

// vsCodeOnlyKinds are kinds of variables that nobody else can fill in.
var vsCodeOnlyKinds = []string{"config", "command", "workspaceFolder", "extensionInstallFolder"}

// predefinedVariable is a variable that editors know.
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

// envVariable is the value of an environment variable, which has to be set.
func (x *expander) envVariable(name, whole string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		x.fail("%s stands for the environment variable %s, which is not set", whole, name)
	}
	x.addSecret(value)
	return value
}

// envVariableOr is the value of an environment variable, or a default.
func (x *expander) envVariableOr(name, otherwise string) string {
	value, ok := os.LookupEnv(name)
	if !ok {
		return otherwise
	}
	x.addSecret(value)
	return value
}

// inputVariable is what VS Code asks its user for. Here an environment variable says it.
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

// addSecret keeps a value as a secret, unless it is a path of this machine or a URL with nothing secret in it: to
// redact those would only make reports unreadable.
func (x *expander) addSecret(value string) {
	if _, err := os.Stat(value); err == nil && filepath.IsAbs(value) {
		return
	}
	if u, err := url.Parse(value); err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" {
		return
	}
	x.secrets = append(x.secrets, value)
}

// expandPath fills a text in that may be a path: VS Code knows a leading ~.
func (x *expander) expandPath(content string) string {
	content = x.expand(content)
	if rest, ok := strings.CutPrefix(content, "~"); ok && x.file.isVSCode && (rest == "" ||
		os.IsPathSeparator(rest[0])) {
		return x.homeDir + rest
	}
	return content
}

// workingDir is where the command starts: relative to the project, as a rule the project itself.
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

// environment is what the entry adds to the environment, without the variables that are given on the command line.
func (x *expander) environment(given map[string]bool) map[string]string {
	env := x.readEnvFile()
	var unset []string
	for _, key := range slices.Sorted(maps.Keys(x.Env)) {
		switch value := x.Env[key].(type) {
		case map[string]any, []any:
			x.fail("env %s wants a text", key)
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

// envValue is the value of a variable for the server. In VS Code, PATH is added to.
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

// readEnvFile reads the file that the entry names, if the host knows of such files.
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

// parseEnv reads lines of NAME=value as VS Code does: with export before them, with quotes and with comments.
// What is not such a line is passed over.
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

// expandURL is where the server is. An error shows it as it is written: what is filled in
// may be a secret.
func (x *expander) expandURL() string {
	content := x.expand(x.URL)
	if _, err := driver.ParseURL(content); err != nil {
		x.fail("%s is not an http or https URL", maskSecrets(x.URL))
	}
	return content
}

// headerValue is the value of a header.
func (x *expander) headerValue(name string) string {
	value := x.expand(x.Headers[name])
	if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(strings.TrimSpace(value)) {
		x.fail("its header %q cannot stand in an HTTP request", name)
	}
	return value
}
