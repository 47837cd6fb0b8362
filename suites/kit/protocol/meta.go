package protocol

import (
	"regexp"
	"strings"
)

// metaKeyPattern is the grammar of keys in _meta (basic, "General fields"): an optional prefix of dotted labels with a
// slash, and a name that may be empty.
var metaKeyPattern = regexp.MustCompile(
	`^(?:[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*/)?` +
		`(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$`,
)

// IsMetaKey reports whether key is a valid key of _meta.
func IsMetaKey(key string) bool { return metaKeyPattern.MatchString(key) }

// IsPrefixedMetaKey reports whether key is a valid key of _meta with a prefix, as the identifiers of extensions are.
func IsPrefixedMetaKey(key string) bool { return IsMetaKey(key) && strings.Contains(key, "/") }
