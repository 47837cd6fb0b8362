package main

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

// secrets are what the operator gave and nobody else may read. All are collected before anything is shown.
type secrets struct{ texts []string }

// hide makes a value a secret, unless it is a word that stands everywhere anyway.
func (s *secrets) add(value string) {
	if len(value) >= minSecretLength && !isPublicValue(value) {
		s.texts = append(s.texts, value)
	}
}

// addURL makes secrets of the password in a URL and of the values in its query, where many services want their keys.
func (s *secrets) addURL(text string) {
	u, err := url.Parse(strings.ReplaceAll(text, portPlaceholder, "1"))
	if err != nil {
		return
	}
	if password, has := u.User.Password(); has {
		name := u.User.Username()
		s.add(password)
		s.add(strings.TrimPrefix(u.User.String(), url.User(name).String()+":")) // as it stands there
		s.add(base64.StdEncoding.EncodeToString([]byte(name + ":" + password))) // in the header Authorization
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		s.add(value)
	}
	for _, values := range u.Query() {
		for _, value := range values {
			s.add(value)
		}
	}
}

// harmless reports whether a value is plainly no secret: to redact it would only make the evidence wrong. It is a
// number, a boolean, the name or address of this machine, a word of the trade or of the protocol.
func isPublicValue(value string) bool {
	words := []string{
		"true", "false", "null", "none", "http", "https", "stdio", "streamable", "streamablehttp",
		"production", "development", "test", "debug", "info",
	}
	_, err := strconv.ParseFloat(value, 64)
	return err == nil && len(value) < minNumberLength || slices.Contains(words, strings.ToLower(value)) ||
		schemas.IsWord(value) || driver.IsLoopback(value) || value == "0.0.0.0" || value == portPlaceholder
}

// minNumberLength is how long a number must be to be a secret.
const minNumberLength = 8

// minSecretLength is how long a value must be to be redacted; a shorter one stands everywhere by accident.
const minSecretLength = 4

// redactor makes what finds these secrets.
func (s *secrets) redactor() redactor {
	// one may begin with another
	texts := slices.SortedFunc(slices.Values(s.texts), func(a, b string) int { return len(b) - len(a) })
	var whole, cut []string
	for _, text := range texts {
		for _, form := range encodedForms(text) {
			whole = append(whole, form, redactedText)
			cut = append(cut, shortenedForms(form)...)
		}
	}
	return redactor{strings.NewReplacer(append(whole, cut...)...)}
}

// redactedText stands in the place of a secret.
const redactedText = "[redacted]"

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
		pairs = append(pairs, head+"…", redactedText+"…", head+" …", redactedText+" …")
		pairs = append(pairs, "…"+tail, "…"+redactedText, "… "+tail, "… "+redactedText)
	}
	return pairs
}

// maxShortenedLength bounds what is looked for of a secret that was cut.
const maxShortenedLength = 200

// redactor takes secrets out of all that is shown.
type redactor struct{ replacer *strings.Replacer }

func (r redactor) text(text string) string { return r.replacer.Replace(text) }

func (r redactor) texts(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, r.text(text))
	}
	return out
}

// parseServer redacts how the server names itself.
func (r redactor) server(info report.ServerInfo) report.ServerInfo {
	info.Name, info.Version = r.text(info.Name), r.text(info.Version)
	info.Capabilities, info.DiscoverError = r.texts(info.Capabilities), r.text(info.DiscoverError)
	return info
}

// writeResult redacts a result with its evidence.
func (r redactor) result(result report.Result) report.Result {
	result.Message = r.text(result.Message)
	result.Subjects = r.texts(result.Subjects)
	result.Findings = slices.Clone(result.Findings)
	for i, x := range result.Findings {
		result.Findings[i] = report.Finding{Subject: r.text(x.Subject), Want: r.text(x.Want), Got: r.text(x.Got)}
	}
	wire := make([]report.Line, len(result.Evidence))
	for i, line := range result.Evidence {
		line.HTTP, line.Text, line.Stderr = r.text(line.HTTP), r.text(line.Text), r.texts(line.Stderr)
		wire[i] = line
	}
	result.Evidence = wire
	return result
}
