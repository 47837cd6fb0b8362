package driver

import (
	"hash/maphash"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

var hashSeed = maphash.MakeSeed()

// Fingerprint returns a hash that is the same for equal JSON values, within this process. Different values have the
// same hash so rarely that it may stand for the value.
func Fingerprint(v any) uint64 { return maphash.Bytes(hashSeed, text.CompactJSON(v)) }
