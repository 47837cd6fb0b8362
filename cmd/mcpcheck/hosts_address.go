package main

import (
	"slices"
	"strings"
)

// addTo is where the server of the entry is: the address that is given, with what the entry adds to it. Variables and
// headers that are given win; bearer says that a token is. What comes out of the environment becomes a secret.
func (e hostServer) addTo(given address, bearer bool, s *secrets) (address, error) {
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
		s.add(secret)
	}
	for _, word := range given.command {
		for _, match := range passwordPattern.FindAllStringSubmatch(word, -1) {
			s.add(match[2])
		}
	}
	return given, x.firstErr
}

// withCommand adds the command of the entry.
func (x *expander) withCommand(a address) address {
	given := map[string]bool{}
	for _, pair := range a.env {
		key, _, _ := strings.Cut(pair, "=")
		given[key] = true
	}
	a.command = append([]string{x.expandPath(x.Command)}, mapStrings(x.Args, x.expandPath)...)
	a.env = slices.Concat(envPairs(x.environment(given)), a.env)
	if a.dir == "" {
		a.dir = x.workingDir()
	}
	return a
}

// withURL adds the URL of the entry.
func (x *expander) withURL(a address, bearer bool) address {
	given := slices.Clone(reservedHeaders)
	if bearer {
		given = append(given, "Authorization")
	}
	for _, pair := range a.headers {
		name, _, _ := strings.Cut(pair, ":")
		given = append(given, name)
	}
	a.url, a.headers = x.expandURL(), slices.Clone(a.headers)
	for _, name := range sortedKeys(x.Headers) {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc(given, same) {
			a.headers = append(a.headers, name+": "+x.headerValue(name))
		}
	}
	return a
}
