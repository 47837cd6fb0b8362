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

// interned returns a value that was just decoded, in which equal objects and arrays share their memory: the items of
// long lists are often alike. known holds earlier values by their fingerprints.
func interned(v any, known map[uint64]any) any {
	switch v := v.(type) {
	case M:
		for name, member := range v {
			v[name] = interned(member, known)
		}
	case []any:
		for i, item := range v {
			v[i] = interned(item, known)
		}
	default:
		return v
	}
	key := Fingerprint(v)
	if one, has := known[key]; has {
		return one
	}
	known[key] = v
	return v
}
