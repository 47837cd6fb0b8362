package protocol

import (
	"regexp"
	"strings"
)

// metaKeyPattern is the grammar of the keys of _meta: an optional prefix of dotted labels with a slash, and a name that
// may be empty.
var metaKeyPattern = regexp.MustCompile(
	`^(?:[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*/)?` +
		`(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$`,
)

// IsMetaKey reports whether a text has the form of a key of _meta.
func IsMetaKey(key string) bool { return metaKeyPattern.MatchString(key) }

// IsPrefixedMetaKey reports whether it also has a prefix, as the identifiers of extensions do.
func IsPrefixedMetaKey(key string) bool { return IsMetaKey(key) && strings.Contains(key, "/") }
