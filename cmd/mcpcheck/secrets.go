package main

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// environment is what is added to the server's environment; its values are
// secrets.
func (s *settings) environment() (env []string, err error) {
	for _, key := range sortedKeys(s.Env) {
		env = append(env, key+"="+s.Env[key])
	}
	env = append(env, s.flags.env...)
	for _, pair := range env {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage("--env wants KEY=VALUE, not %q", pair)
		}
		s.hide(value)
	}
	return env, nil
}

// hide makes a value a secret, unless it is a word that stands everywhere anyway.
func (s *settings) hide(value string) {
	if len(value) >= shortestSecret && !harmless(value) {
		s.hidden = append(s.hidden, value)
	}
}

// hideURL makes secrets of the password in a URL and of the values in its query,
// where many services want their keys.
func (s *settings) hideURL(text string) {
	u, err := url.Parse(strings.ReplaceAll(text, portMark, "1"))
	if err != nil {
		return
	}
	if password, has := u.User.Password(); has {
		s.hide(password)
		s.hide(strings.TrimPrefix(u.User.String(), url.User(u.User.Username()).String()+":")) // as it stands there
		s.hide(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))) // in the header Authorization
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		s.hide(value)
	}
	for _, values := range u.Query() {
		for _, value := range values {
			s.hide(value)
		}
	}
}

// secrets finds every secret that the operator gave, so that all are hidden before
// anything is shown.
func (s *settings) secrets() error {
	err := s.flags.remote.read(s)
	s.redact = redactor(s.hidden)
	return err
}

// redactor replaces secrets, also as they are in JSON and in a URL, and what is left of one
// where a text was shortened.
func redactor(secrets []string) *strings.Replacer {
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may begin with another
	var whole, cut []string
	for _, secret := range secrets {
		escaped := string(harness.Compact(secret))
		for _, form := range []string{secret, escaped[1 : len(escaped)-1], url.QueryEscape(secret), url.PathEscape(secret)} {
			whole = append(whole, form, "[redacted]")
			for n := min(len(form)-1, longestRest); n >= shortestSecret; n-- {
				head, tail := form[:n], form[len(form)-n:]
				cut = append(cut, head+"…", "[redacted]…", head+" …", "[redacted] …")
				cut = append(cut, "…"+tail, "…[redacted]", "… "+tail, "… [redacted]")
			}
		}
	}
	return strings.NewReplacer(append(whole, cut...)...)
}

// longestRest bounds what is looked for of a secret that was cut.
const longestRest = 200

// harmless reports whether a value is plainly none: to redact it would only make the
// evidence wrong. It is a number, a boolean, the name or address of this machine, or
// a word of the trade.
func harmless(value string) bool {
	words := []string{"true", "false", "null", "none", "http", "https", "stdio", "streamable", "streamablehttp", "production", "development", "test", "debug", "info"}
	_, err := strconv.ParseFloat(value, 64)
	return err == nil && len(value) < shortestNumber || slices.Contains(words, strings.ToLower(value)) ||
		driver.IsLoopback(value) || value == "0.0.0.0" || value == portMark
}

// shortestNumber is how long a number must be to be a secret.
const shortestNumber = 8

// shortestSecret is how long a value must be to be redacted; a shorter one stands
// everywhere by accident.
const shortestSecret = 4

func (s *settings) redacted(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, s.redact.Replace(text))
	}
	return out
}

// cleanInfo redacts secrets in how the server names itself.
func (s *settings) cleanInfo(info harness.ServerInfo) harness.ServerInfo {
	info.Name, info.Version = s.redact.Replace(info.Name), s.redact.Replace(info.Version)
	info.Capabilities = s.redacted(info.Capabilities)
	return info
}

// clean redacts secrets in a result.
func (s *settings) clean(r harness.Result) harness.Result {
	r.Message = s.redact.Replace(r.Message)
	r.Subjects = s.redacted(r.Subjects)
	wire := make([]harness.Line, len(r.Wire))
	for i, l := range r.Wire {
		l.HTTP, l.Text = s.redact.Replace(l.HTTP), s.redact.Replace(l.Text)
		wire[i] = l
	}
	r.Wire = wire
	return r
}
