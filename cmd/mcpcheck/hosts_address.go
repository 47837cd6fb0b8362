package main

import (
	"slices"
	"strings"
)

// address is where the server of the entry is: the address that is given, with what the entry adds to it. Variables and
// headers that are given win; bearer says that a token is. What comes out of the environment becomes a secret.
func (e hostServer) address(given address, bearer bool, s *secrets) (address, error) {
	x := newExpansion(e)
	kind, err := e.transport()
	switch {
	case err != nil:
		return given, err
	case kind == "stdio":
		given = x.withCommand(given)
	case e.launched:
		given = x.withURL(x.withCommand(given), bearer)
	default:
		given = x.withURL(given, bearer)
	}
	for _, secret := range x.secrets {
		s.hide(secret)
	}
	for _, word := range given.command {
		for _, match := range login.FindAllStringSubmatch(word, -1) {
			s.hide(match[2])
		}
	}
	return given, x.problem
}

// withCommand adds the command of the entry.
func (x *expansion) withCommand(a address) address {
	given := map[string]bool{}
	for _, pair := range a.env {
		key, _, _ := strings.Cut(pair, "=")
		given[key] = true
	}
	a.command = append([]string{x.path(x.Command)}, each(x.Args, x.path)...)
	a.env = slices.Concat(environ(x.environment(given)), a.env)
	if a.dir == "" {
		a.dir = x.directory()
	}
	return a
}

// withURL adds the URL of the entry.
func (x *expansion) withURL(a address, bearer bool) address {
	given := slices.Clone(reserved)
	if bearer {
		given = append(given, "Authorization")
	}
	for _, pair := range a.headers {
		name, _, _ := strings.Cut(pair, ":")
		given = append(given, name)
	}
	a.url, a.headers = x.url(), slices.Clone(a.headers)
	for _, name := range sortedKeys(x.Headers) {
		same := func(other string) bool { return strings.EqualFold(name, other) }
		if !slices.ContainsFunc(given, same) {
			a.headers = append(a.headers, name+": "+x.header(name))
		}
	}
	return a
}
