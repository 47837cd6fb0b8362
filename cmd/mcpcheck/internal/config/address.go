package config

import (
	"maps"
	"slices"
)

// Address is the location of a server as the user wrote it: {port} is not replaced yet.
type Address struct {
	// Command is the command that starts the server; it is empty for a server that runs already.
	Command []string
	// URL is the endpoint of the server; it is empty for a server over stdio.
	URL string
	// SSEURL is the endpoint of the HTTP+SSE transport of 2024-11-05, for older clients.
	SSEURL string
	// Env are variables, as KEY=VALUE, that are added to the environment of the command.
	Env []string
	// Dir is the working directory of the command; empty is the current one.
	Dir string
	// Headers are sent with every HTTP request, each as NAME: VALUE.
	Headers []string
	// ServerFlags are flags of mcpcheck that mean the same server as Command and URL; nil means that there are none.
	ServerFlags []string
}

// EnvPairs returns a map of variables as KEY=VALUE, in the order of their names.
func EnvPairs(variables map[string]string) (pairs []string) {
	for _, key := range slices.Sorted(maps.Keys(variables)) {
		pairs = append(pairs, key+"="+variables[key])
	}
	return pairs
}
