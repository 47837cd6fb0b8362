package main

import (
	"net/url"
	"regexp"
	"strings"
)

// secretNamePattern matches the names under which people keep secrets: of variables, flags and headers.
var secretNamePattern = regexp.MustCompile(`(?i)token|secret|passw(or)?d|passphrase|credential|bearer|authorization|` +
	`(api|access|private|auth)[-_]?key|[-_](key|pat|pwd)$|^key$`)

// addCommand makes secrets of the values in a command line whose names say that they are: --api-key VALUE,
// --token=VALUE, API_KEY=VALUE, 'Authorization: Bearer VALUE'.
func (s *secrets) addCommand(command []string) {
	for i, word := range command {
		name, value, joined := strings.Cut(word, "=")
		if !joined {
			name, value, joined = strings.Cut(word, ": ")
		}
		isFlag := strings.HasPrefix(word, "-")
		if !joined && isFlag && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
			value, joined = command[i+1], true
		}
		if joined && secretNamePattern.MatchString(name) {
			s.addWords(value)
		}
		if strings.Contains(word, "://") {
			s.addURLPassword(word)
		}
	}
}

// addWords makes secrets of a value and of its last word, which follows a scheme such as Bearer.
func (s *secrets) addWords(value string) {
	s.add(value)
	if words := strings.Fields(value); len(words) > 1 {
		s.add(words[len(words)-1])
	}
}

// addInherited makes secrets of the values that the server inherits from the environment of mcpcheck under names that
// say that they are. A short one may be a common word, in whose place nothing could be read any more.
func (s *secrets) addInherited(environ []string) {
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if len(value) >= minInheritedLength && secretNamePattern.MatchString(name) {
			s.addWords(value)
		}
		if strings.Contains(value, "://") {
			s.addURLPassword(value)
		}
	}
}

// minInheritedLength is how long an inherited value must be to be redacted.
const minInheritedLength = 8

// addURLPassword makes a secret of the password in a URL.
func (s *secrets) addURLPassword(text string) {
	if u, err := url.Parse(text); err == nil {
		if password, has := u.User.Password(); has {
			s.add(password)
		}
	}
}
