package config

import (
	"maps"
	"slices"
)

// Address is where the server is, as it is written: {port} is not filled in.
type Address struct {
	Command     []string // that starts the server
	URL         string   // empty: it speaks over stdio
	SSEURL      string   // of an endpoint for old clients
	Env         []string // KEY=VALUE, added to the environment of the command
	Dir         string   // working directory of the command
	Headers     []string // NAME: VALUE, of every HTTP request
	ServerFlags []string // flags that stand for command and URL; nil: there are none
}

// EnvPairs is a map of variables as KEY=VALUE.
func EnvPairs(variables map[string]string) (pairs []string) {
	for _, key := range slices.Sorted(maps.Keys(variables)) {
		pairs = append(pairs, key+"="+variables[key])
	}
	return pairs
}
