package main

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// repeat is the command that tries one check again.
func repeat(v values, t *target, r harness.Result) string {
	words := []string{"mcpcheck", "run", "--only", r.ID}
	if r.Revision != harness.Newest {
		words = append(words, "--protocol", r.Revision)
	}
	if v.calls != harness.CallsSafe {
		words = append(words, "--calls", string(v.calls))
	}
	if v.flags.config != "" {
		words = append(words, "--config", v.flags.config)
	}
	if v.Seed != 0 {
		words = append(words, "--seed", fmt.Sprint(v.Seed))
	}
	return shellJoin(append(words, t.again(v)...))
}

// again are the flags of mcpcheck run that reach the server again, without secrets.
func (t *target) again(v values) (words []string) {
	if v.Cwd != "" {
		words = append(words, "--cwd", v.Cwd)
	}
	for _, pair := range v.flags.env {
		key, _, _ := strings.Cut(pair, "=")
		words = append(words, "--env", key+"=…")
	}
	words = append(words, t.alias...)
	if t.alias == nil && t.url != "" {
		words = append(words, "--url", t.redact.text(t.url))
	}
	for _, pair := range v.flags.remote.headers {
		name, _, _ := strings.Cut(pair, ":")
		words = append(words, "--header", name+": …")
	}
	if variable := v.flags.keys.BearerEnv; variable != "" {
		words = append(words, "--bearer-env", variable)
	}
	words = append(words, v.flags.remote.again(t.redact)...)
	if t.alias == nil && len(t.command) > 0 {
		words = append(append(words, "--"), t.redact.texts(t.command)...)
	}
	return words
}

// again are the flags for which mcpcheck.yaml has no key.
func (f remoteFlags) again(redact redactor) (words []string) {
	for _, pair := range f.tokenEnv {
		words = append(words, "--token-env", pair)
	}
	if f.contactIssuer {
		words = append(words, "--contact-issuer")
	}
	if f.sseURL != "" {
		words = append(words, "--sse-url", redact.text(f.sseURL))
	}
	if f.insecure {
		words = append(words, "--insecure")
	}
	if f.cacert != "" {
		words = append(words, "--cacert", f.cacert)
	}
	return words
}

// again are the flags that name the server again.
func (f *hostFlags) again() []string {
	words := []string{"--server", f.name}
	if f.file != "" {
		words = append(words, "--servers-file", f.file)
	}
	return words
}
