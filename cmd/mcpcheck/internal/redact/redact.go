// Package redact removes secrets from everything that mcpcheck shows.
//
// Secrets collects what the operator gave in confidence: values of headers and variables, passwords in URLs, and parts
// of a command or of the environment whose names say that they are secret (named.go). All are collected before anything
// is shown. Redactor then finds each of them in every form in which it may appear, as in JSON or in a URL, complete or
// shortened, and replaces it by Placeholder: in texts, in results with their evidence, in what a server says about
// itself.
//
// A word that occurs everywhere is not a secret, and neither is a short value: redacting it would only falsify the
// evidence. A short word that is a secret is replaced where it stands by itself, and not as a part of longer words.
package redact

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/schemas"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// Secrets are values that the operator gave in confidence. All are collected before anything is shown.
type Secrets struct{ Texts []string }

// Add makes a value a secret, unless it is short or public; see isPublicValue.
func (s *Secrets) Add(value string) {
	if len(value) >= minSecretLength && !isPublicValue(value) {
		s.Texts = append(s.Texts, value)
	}
}

// AddURL makes secrets of the password in a URL and of the values in its query, where many services expect their keys.
func (s *Secrets) AddURL(said string) {
	u, err := url.Parse(strings.ReplaceAll(said, PortPlaceholder, "1"))
	if err != nil {
		return
	}
	if password, has := u.User.Password(); has {
		name := u.User.Username()
		s.Add(password)
		s.Add(strings.TrimPrefix(u.User.String(), url.User(name).String()+":")) // as the URL encodes it
		s.Add(base64.StdEncoding.EncodeToString([]byte(name + ":" + password))) // as in the header Authorization
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

// isPublicValue reports whether a value is clearly not a secret, so that redacting it would only falsify the evidence:
// a number, a boolean, the name or address of the local host, a word of the protocol.
func isPublicValue(value string) bool {
	words := []string{
		"true", "false", "null", "none", "http", "https", "stdio", "streamable", "streamablehttp",
		"production", "development", "test", "debug", "info",
	}
	_, err := strconv.ParseFloat(value, 64)
	return err == nil && len(value) < minNumberLength || slices.Contains(words, strings.ToLower(value)) ||
		schemas.IsWord(value) || driver.IsLoopback(value) || value == "0.0.0.0" || value == PortPlaceholder
}

// minNumberLength is the least length in digits of a number that is a secret.
const minNumberLength = 8

// minSecretLength is the least length in bytes of a secret; a shorter value occurs everywhere by accident.
const minSecretLength = 4

// Redactor returns the redactor of these secrets.
func (s *Secrets) Redactor() Redactor {
	// A longer secret is replaced first, since it may begin with a shorter one.
	texts := slices.SortedFunc(slices.Values(s.Texts), func(a, b string) int { return len(b) - len(a) })
	var whole, cut []string
	words := map[string]bool{}
	for _, said := range texts {
		if shortWord.MatchString(said) {
			words[said] = true
			continue
		}
		for _, form := range encodedForms(said) {
			whole = append(whole, form, Placeholder)
			cut = append(cut, shortenedForms(form)...)
		}
	}
	return Redactor{strings.NewReplacer(append(whole, cut...)...), words}
}

// shortWord matches secrets that may be a part of longer words by accident.
var shortWord = regexp.MustCompile(`^[A-Za-z]{1,7}$`)

// wordsAndEscapes matches words, and the escape sequences of JSON and URLs, which are no part of the words after them.
var wordsAndEscapes = regexp.MustCompile(`\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|%[0-9a-fA-F]{2}|\pL+`)

// Placeholder replaces a secret.
const Placeholder = "[redacted]"

// encodedForms returns a secret as it is given, as in JSON, as in JSON that is embedded in HTML, and as in a URL.
func encodedForms(secret string) []string {
	escaped, _ := json.Marshal(secret)
	within := func(quotes []byte) string { return string(quotes[1 : len(quotes)-1]) }
	forms := []string{
		secret, within(text.CompactJSON(secret)), within(escaped), url.QueryEscape(secret), url.PathEscape(secret),
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// shortenedForms returns what remains of a secret in a text that was shortened, in pairs with the replacement.
func shortenedForms(secret string) (pairs []string) {
	for n := min(len(secret)-1, maxShortenedLength); n >= minSecretLength; n-- {
		head, tail := secret[:n], secret[len(secret)-n:]
		pairs = append(pairs, head+"…", Placeholder+"…", head+" …", Placeholder+" …")
		pairs = append(pairs, "…"+tail, "…"+Placeholder, "… "+tail, "… "+Placeholder)
	}
	return pairs
}

// maxShortenedLength is the length in bytes up to which parts of a shortened secret are searched for.
const maxShortenedLength = 200

// Redactor replaces secrets in everything that is shown. The zero value is not usable; see Secrets.Redactor.
type Redactor struct {
	replacer *strings.Replacer
	// words are the secrets that are replaced as whole words only.
	words map[string]bool
}

// Text redacts a text.
func (r Redactor) Text(said string) string {
	redacted := r.replacer.Replace(said)
	if len(r.words) == 0 {
		return redacted
	}
	return wordsAndEscapes.ReplaceAllStringFunc(redacted, func(word string) string {
		if r.words[word] {
			return Placeholder
		}
		return word
	})
}

// Texts redacts each of several texts.
func (r Redactor) Texts(texts []string) (out []string) {
	for _, said := range texts {
		out = append(out, r.Text(said))
	}
	return out
}

// Server redacts what a server says about itself.
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

// PortPlaceholder is replaced by a free port in commands and URLs.
const PortPlaceholder = "{port}"
