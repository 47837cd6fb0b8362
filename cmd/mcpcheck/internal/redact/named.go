package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// SecretNamePattern matches names that are usual for secrets: of variables, flags and headers.
var SecretNamePattern = regexp.MustCompile(`(?i)token|secret|passw(or)?d|passphrase|credential|bearer|authorization|` +
	`(api|access|private|auth)[-_]?key|[-_](key|pat|pwd)$|^key$`)

// AddCommand makes secrets of the values in a command whose names say that they are secret: --api-key VALUE,
// --token=VALUE, API_KEY=VALUE, 'Authorization: Bearer VALUE'.
func (s *Secrets) AddCommand(command []string) {
	for i, word := range command {
		name, value, joined := strings.Cut(word, "=")
		if !joined {
			name, value, joined = strings.Cut(word, ": ")
		}
		isFlag := strings.HasPrefix(word, "-")
		if !joined && isFlag && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
			value, joined = command[i+1], true
		}
		if joined && SecretNamePattern.MatchString(name) {
			s.AddWords(value)
		}
		if strings.Contains(word, "://") {
			s.addURLPassword(word)
		}
	}
}

// AddWords makes secrets of a value and of its last word, which follows a scheme such as Bearer.
func (s *Secrets) AddWords(value string) {
	s.Add(value)
	if words := strings.Fields(value); len(words) > 1 {
		s.Add(words[len(words)-1])
	}
}

// AddInherited makes secrets of those variables in mcpcheck's environment, which the server inherits, whose names say
// that they are secret. It skips short values: one may be a common word, and redacting it would make reports
// unreadable.
func (s *Secrets) AddInherited(environ []string) {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if len(value) >= minInheritedLength && SecretNamePattern.MatchString(name) {
			s.AddWords(value)
		}
		if strings.Contains(value, "://") {
			s.addURLPassword(value)
		}
	}
}

// WithoutSecrets returns the variables of an environment whose names do not say that they are secret.
func WithoutSecrets(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return SecretNamePattern.MatchString(name)
	})
}

// minInheritedLength is the least length in bytes of an inherited value that is redacted.
const minInheritedLength = 8

// addURLPassword makes a secret of the password in a URL.
func (s *Secrets) addURLPassword(content string) {
	if u, err := url.Parse(content); err == nil {
		if password, has := u.User.Password(); has {
			s.Add(password)
		}
	}
}
