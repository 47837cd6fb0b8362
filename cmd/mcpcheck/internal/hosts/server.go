package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Server is an entry in a host's file: the members that hosts agree on, as they are written.
type Server struct {
	file file
	Name string `json:"-"`
	// location is the place of the entry, as file:line:column.
	location string
	// EntryErr is why the entry cannot be used; nil means that it can.
	EntryErr error `json:"-"`

	// Config is the configuration of an entry in a list; nil means that the entry is a host's.
	Config *config.File `json:"-"`
	// IsFromRegistry says that the entry is a server.json. Source is its text.
	IsFromRegistry bool   `json:"-"`
	Source         []byte `json:"-"`
	// commandServesURL says that the command starts the server of the URL.
	commandServesURL bool

	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	// Env are variables. Values are strings; VS Code also accepts numbers, and null to unset a variable.
	Env      map[string]any    `json:"env"`
	EnvFile  string            `json:"envFile"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

// errorf returns an error of usage that names the entry.
func (e Server) errorf(format string, a ...any) error {
	return exit.Usagef("%s: server %q: %w", e.location, e.Name, fmt.Errorf(format, a...))
}

// transport returns the transport of the entry. Like hosts, it guesses the transport when the type is missing.
func (e Server) transport() (string, error) {
	kinds := map[string]string{
		"stdio": "stdio", "http": "http", "streamable-http": "http", "streamableHttp": "http", "sse": "sse",
	}
	kind, known := kinds[e.Type]
	switch {
	case e.Type == "" && e.Command != "":
		kind = "stdio"
	case e.Type == "" && e.URL != "":
		kind = "http"
	case e.Type == "":
		return "", errors.New("there is neither command nor url")
	case !known:
		return "", fmt.Errorf("unknown type %q (want stdio, http or sse)", e.Type)
	}
	switch {
	case kind == "stdio" && e.Command == "":
		return "", errors.New("a server over stdio needs a command")
	case kind != "stdio" && e.URL == "":
		return "", fmt.Errorf("a server over %s needs a url", kind)
	}
	return kind, nil
}

// listLine returns a line of the list of servers.
func (e Server) listLine() string {
	kind, err := e.transport()
	what := e.DisplayText()
	if err != nil || e.EntryErr != nil {
		kind, what = "?", cmp.Or(e.EntryErr, err).Error()
	}
	if e.Disabled {
		what += "  (disabled)"
	}
	return "  " + strings.Join([]string{text.OneLine(e.Name), kind, what}, "\t")
}

// DisplayText returns the command or URL as it is written, without what may be a secret.
func (e Server) DisplayText() string {
	var s redact.Secrets
	for _, value := range e.Env {
		addUnlessVariable(&s, fmt.Sprint(value))
	}
	for _, value := range e.Headers {
		addUnlessVariable(&s, value)
	}
	words := append([]string{e.Command}, e.Args...)
	if kind, _ := e.transport(); kind != "stdio" {
		words = []string{e.URL}
	}
	for i, word := range words {
		behind := i > 0 && secretFlagPattern.MatchString(words[i-1])
		if behind && !strings.HasPrefix(word, "-") && !variablePattern.MatchString(word) {
			words[i] = redact.Placeholder
			continue
		}
		words[i] = maskSecrets(word)
		if strings.ContainsAny(word, " \t\n") {
			words[i] = text.Shell(words[i])
		}
	}
	return s.Redactor().Text(text.OneLine(strings.Join(words, " ")))
}

// maskSecrets masks what looks like a secret in an argument.
func maskSecrets(word string) string {
	word = passwordPattern.ReplaceAllString(word, "$1[redacted]@")
	word = queryPattern.ReplaceAllString(word, "$1?…")
	if variablePattern.MatchString(word) {
		return word
	}
	return secretWordPattern.ReplaceAllString(word, "$1[redacted]")
}

// addUnlessVariable makes a value of a file a secret, unless it is a variable.
func addUnlessVariable(s *redact.Secrets, value string) {
	if !variablePattern.MatchString(value) {
		s.Add(value)
	}
}

// These patterns match secrets in a command by their form.
var (
	passwordPattern   = regexp.MustCompile(`(://[^\s/:@]*:)([^\s/@]+)@`)
	queryPattern      = regexp.MustCompile(`(https?://[^\s?]*)\?\S+`)
	secretFlagPattern = regexp.MustCompile(`(?i)^-.*(?:key|token|secret|password)$`)
	secretWordPattern = regexp.MustCompile(`(?i)((?:key|token|secret|password|authorization)[=:]).+`)
)
