package hosts

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/redact"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// AddTo returns the address of the entry's server. What is given, by flags, takes precedence over the entry; bearer
// says that a bearer token is given as well. Values that come from the environment are added to the secrets.
func (e Server) AddTo(given config.Address, bearer bool, s *redact.Secrets) (config.Address, error) {
	x := newExpander(e)
	kind, err := e.transport()
	switch {
	case err != nil:
		return given, err
	case kind == "stdio":
		given = x.withCommand(given)
	case e.commandServesURL:
		given = x.withURL(x.withCommand(given), bearer)
	default:
		given = x.withURL(given, bearer)
	}
	for _, secret := range x.secrets {
		s.Add(secret)
	}
	for _, word := range given.Command {
		for _, match := range passwordPattern.FindAllStringSubmatch(word, -1) {
			s.Add(match[2])
		}
	}
	return given, x.firstErr
}

// withCommand adds the command of the entry.
func (x *expander) withCommand(a config.Address) config.Address {
	given := map[string]bool{}
	for _, pair := range a.Env {
		key, _, _ := strings.Cut(pair, "=")
		given[key] = true
	}
	a.Command = append([]string{x.expandPath(x.Command)}, text.Map(x.Args, x.expandPath)...)
	a.Env = slices.Concat(config.EnvPairs(x.environment(given)), a.Env)
	if a.Dir == "" {
		a.Dir = x.workingDir()
	}
	return a
}

// withURL adds the URL of the entry.
func (x *expander) withURL(a config.Address, bearer bool) config.Address {
	given := slices.Clone(config.ReservedHeaders)
	if bearer {
		given = append(given, "Authorization")
	}
	for _, pair := range a.Headers {
		name, _, _ := strings.Cut(pair, ":")
		given = append(given, name)
	}
	a.URL, a.Headers = x.expandURL(), slices.Clone(a.Headers)
	for _, name := range slices.Sorted(maps.Keys(x.Headers)) {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc(given, same) {
			a.Headers = append(a.Headers, name+": "+x.headerValue(name))
		}
	}
	return a
}
