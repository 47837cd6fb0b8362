package auth

import (
	"fmt"
	"net/http"
	"strings"
)

// challenge is one challenge of a WWW-Authenticate header (RFC 9110, section 11.6.1).
type challenge struct {
	// Scheme is the scheme in lower case.
	Scheme string
	// Token is a token68 in place of parameters; empty when there is none.
	Token string
	// Params are the parameters by name in lower case.
	Params map[string]string
}

// challengesOf are the challenges of a response. Invalid parts are left out; the error describes the first one.
func challengesOf(h http.Header) (all []challenge, err error) {
	for _, value := range h.Values("Www-Authenticate") {
		r := challengeParser{rest: value}
		found, e := r.parse()
		all = append(all, found...)
		if e != nil && err == nil {
			err = e
		}
	}
	return all, err
}

// challengeParser parses the value of one header. Challenges and their parameters are both separated by commas, so only
// what follows a comma tells them apart.
type challengeParser struct{ rest string }

func (r *challengeParser) parse() (all []challenge, err error) {
	for {
		r.skipCommas()
		if r.rest == "" {
			return all, nil
		}
		scheme := r.readToken()
		if scheme == "" {
			return all, fmt.Errorf("%q where a scheme or a parameter is to begin", r.rest)
		}
		if after := strings.TrimLeft(r.rest, " \t"); strings.HasPrefix(after, "=") && len(all) > 0 {
			if err := r.readValue(all[len(all)-1].Params, scheme); err != nil {
				return all, err
			}
			continue
		}
		c := challenge{Scheme: strings.ToLower(scheme), Params: map[string]string{}}
		all = append(all, c)
		if err := r.readParams(&all[len(all)-1]); err != nil {
			return all, err
		}
	}
}

// readParams parses what follows a scheme: a space and token68 or a parameter, or nothing.
func (r *challengeParser) readParams(c *challenge) error {
	switch {
	case r.rest == "" || r.rest[0] == ',':
		return nil
	case r.rest[0] != ' ':
		return fmt.Errorf("%q after the scheme %s", r.rest, c.Scheme)
	}
	r.rest = strings.TrimLeft(r.rest, " ")
	if r.rest == "" || r.rest[0] == ',' {
		return nil
	}
	if token, ok := r.readToken68(); ok {
		c.Token = token
		return nil
	}
	name := r.readToken()
	if name == "" {
		return fmt.Errorf("%q where a parameter is to begin", r.rest)
	}
	return r.readValue(c.Params, name)
}

// readValue parses what follows the name of a parameter, up to a comma or the end.
func (r *challengeParser) readValue(params map[string]string, name string) error {
	r.rest = strings.TrimLeft(r.rest, " \t")
	if !strings.HasPrefix(r.rest, "=") {
		return fmt.Errorf("no = after the parameter %s", name)
	}
	r.rest = strings.TrimLeft(r.rest[1:], " \t")
	value, err := r.readTokenOrQuoted(name)
	if err != nil {
		return err
	}
	if _, known := params[strings.ToLower(name)]; !known {
		params[strings.ToLower(name)] = value
	}
	r.rest = strings.TrimLeft(r.rest, " \t")
	if r.rest != "" && r.rest[0] != ',' {
		return fmt.Errorf("%q after the value of %s, where a comma or the end is to be", r.rest, name)
	}
	return nil
}

func (r *challengeParser) readTokenOrQuoted(name string) (string, error) {
	if !strings.HasPrefix(r.rest, `"`) {
		if value := r.readToken(); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the parameter %s has no value", name)
	}
	var value strings.Builder
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			r.rest = r.rest[i+1:]
			return value.String(), nil
		case c == '\\' && i+1 < len(r.rest):
			i++
			value.WriteByte(r.rest[i])
		default:
			value.WriteByte(c)
		}
	}
	r.rest = ""
	return "", fmt.Errorf("the value of %s has no closing quote", name)
}

// skipCommas skips the commas and spaces between the elements of a list.
func (r *challengeParser) skipCommas() { r.rest = strings.TrimLeft(r.rest, ", \t") }

// readToken parses the longest token (RFC 9110, section 5.6.2).
func (r *challengeParser) readToken() string {
	n := strings.IndexFunc(r.rest, func(c rune) bool {
		return !isLetterOrDigit(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
	if n < 0 {
		n = len(r.rest)
	}
	token := r.rest[:n]
	r.rest = r.rest[n:]
	return token
}

// readToken68 parses a token68 (RFC 9110, section 11.2), which ends the challenge.
func (r *challengeParser) readToken68() (token string, ok bool) {
	end := len(r.rest)
	if i := strings.IndexAny(r.rest, ", \t"); i >= 0 {
		end = i
	}
	token = r.rest[:end]
	bare := strings.TrimRight(token, "=")
	after := strings.TrimLeft(r.rest[end:], " \t")
	foreign := func(c rune) bool { return !isLetterOrDigit(c) && !strings.ContainsRune("-._~+/", c) }
	if bare == "" || after != "" && after[0] != ',' || strings.ContainsFunc(bare, foreign) {
		return "", false
	}
	r.rest = after
	return token, true
}

func isLetterOrDigit(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
