package driver

import (
	"encoding/json"
	"hash/maphash"
)

var hashSeed = maphash.MakeSeed()

// Fingerprint returns a hash that is the same for equal JSON values, within this process. Different values have the
// same hash so rarely that it may stand for the value.
func Fingerprint(v any) uint64 {
	switch v := v.(type) {
	case M:
		sum := uint64(0) // independent of the order of the members
		for key, member := range v {
			sum += maphash.Comparable(hashSeed, struct {
				key    string
				member uint64
			}{key, Fingerprint(member)})
		}
		return fingerprintOfKind("object", sum)
	case []any:
		sum := uint64(0)
		for _, item := range v {
			sum = maphash.Comparable(hashSeed, struct{ before, item uint64 }{sum, Fingerprint(item)})
		}
		return fingerprintOfKind("array", sum)
	case json.Number:
		return fingerprintOfKind("number", string(v))
	default:
		return fingerprintOfKind("", v)
	}
}

func fingerprintOfKind(kind string, v any) uint64 {
	return maphash.Comparable(hashSeed, struct {
		kind string
		v    any
	}{kind, v})
}
