// Package redact takes secrets out of all that mcpcheck shows.
//
// Secrets collects what the operator gave and nobody else may read: values of headers and variables, passwords in URLs,
// and what stands in a command or in the environment under a name that says that it is one (named.go). All are
// collected before anything is shown. Then Redactor finds each of them in every form in which it may appear, as in JSON
// or in a URL, whole or shortened, and puts Placeholder in its place: in texts, in results with their evidence, in what
// a server says of itself.
//
// A word that stands everywhere anyway is no secret, and neither is a short value: to redact it would only make the
// evidence wrong.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Secrets are what the operator gave and nobody else may read. All are collected before anything is shown.
type Secrets struct{ Texts []string }

// Add makes a value a secret, unless it is a word that stands everywhere anyway.
func (s *Secrets) Add(value string) {
	if len(value) >= minSecretLength && !isPublicValue(value) {
		s.Texts = append(s.Texts, value)
	}
}

// AddURL makes secrets of the password in a URL and of the values in its query, where many services want their keys.
func (s *Secrets) AddURL(said string) {
	u, err := url.Parse(strings.ReplaceAll(said, PortPlaceholder, "1"))
	if err != nil {
		return
	}
	if password, has := u.User.Password(); has {
		name := u.User.Username()
		s.Add(password)
		s.Add(strings.TrimPrefix(u.User.String(), url.User(name).String()+":")) // as it stands there
		s.Add(base64.StdEncoding.EncodeToString([]byte(name + ":" + password))) // in the header Authorization
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		s.Add(value)
	}
	for _, values := range u.Query() {
		for _, value := range values {
			s.Add(value)
		}
	}
}

// isPublicValue reports whether a value is plainly no secret: to redact it would only make the evidence wrong. It is a
// number, a boolean, the name or address of this machine, a word of the trade or of the protocol.
func isPublicValue(value string) bool {
	words := []string{
		"true", "false", "null", "none", "http", "https", "stdio", "streamable", "streamablehttp",
		"production", "development", "test", "debug", "info",
	}
	_, err := strconv.ParseFloat(value, 64)
	return err == nil && len(value) < minNumberLength || slices.Contains(words, strings.ToLower(value)) ||
		schemas.IsWord(value) || driver.IsLoopback(value) || value == "0.0.0.0" || value == PortPlaceholder
}

// minNumberLength is how long a number must be to be a secret.
const minNumberLength = 8

// minSecretLength is how long a value must be to be redacted; a shorter one stands everywhere by accident.
const minSecretLength = 4

// Redactor makes what finds these secrets.
func (s *Secrets) Redactor() Redactor {
	// one may begin with another
	texts := slices.SortedFunc(slices.Values(s.Texts), func(a, b string) int { return len(b) - len(a) })
	var whole, cut []string
	for _, said := range texts {
		for _, form := range encodedForms(said) {
			whole = append(whole, form, Placeholder)
			cut = append(cut, shortenedForms(form)...)
		}
	}
	return Redactor{strings.NewReplacer(append(whole, cut...)...)}
}

// Placeholder stands in the place of a secret.
const Placeholder = "[redacted]"

// encodedForms are the forms of a secret: as it is given, as in JSON, as in JSON that may stand in HTML, and as in a
// URL.
func encodedForms(secret string) []string {
	escaped, _ := json.Marshal(secret)
	within := func(quotes []byte) string { return string(quotes[1 : len(quotes)-1]) }
	forms := []string{
		secret, within(text.CompactJSON(secret)), within(escaped), url.QueryEscape(secret), url.PathEscape(secret),
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// shortenedForms are what is left of a secret where a text was shortened, each with what is shown in its place.
func shortenedForms(secret string) (pairs []string) {
	for n := min(len(secret)-1, maxShortenedLength); n >= minSecretLength; n-- {
		head, tail := secret[:n], secret[len(secret)-n:]
		pairs = append(pairs, head+"…", Placeholder+"…", head+" …", Placeholder+" …")
		pairs = append(pairs, "…"+tail, "…"+Placeholder, "… "+tail, "… "+Placeholder)
	}
	return pairs
}

// maxShortenedLength bounds what is looked for of a secret that was cut.
const maxShortenedLength = 200

// Redactor takes secrets out of all that is shown.
type Redactor struct{ replacer *strings.Replacer }

func (r Redactor) Text(said string) string { return r.replacer.Replace(said) }

func (r Redactor) Texts(texts []string) (out []string) {
	for _, said := range texts {
		out = append(out, r.Text(said))
	}
	return out
}

// Server redacts how the server names itself.
func (r Redactor) Server(info report.ServerInfo) report.ServerInfo {
	info.Name, info.Version = r.Text(info.Name), r.Text(info.Version)
	info.Capabilities, info.DiscoverError = r.Texts(info.Capabilities), r.Text(info.DiscoverError)
	return info
}

// Result redacts a result with its evidence.
func (r Redactor) Result(result report.Result) report.Result {
	result.Message = r.Text(result.Message)
	result.Subjects = r.Texts(result.Subjects)
	result.Findings = slices.Clone(result.Findings)
	for i, x := range result.Findings {
		result.Findings[i] = report.Finding{Subject: r.Text(x.Subject), Want: r.Text(x.Want), Got: r.Text(x.Got)}
	}
	wire := make([]report.Line, len(result.Evidence))
	for i, line := range result.Evidence {
		line.HTTP, line.Text, line.Stderr = r.Text(line.HTTP), r.Text(line.Text), r.Texts(line.Stderr)
		wire[i] = line
	}
	result.Evidence = wire
	return result
}

// PortPlaceholder stands for a free port.
const PortPlaceholder = "{port}"
