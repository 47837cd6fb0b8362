package driver

import (
	"encoding/json"
	"hash/maphash"
)

var seed = maphash.MakeSeed()

// Fingerprint is a number that equal JSON values share. That others share it as well is so unlikely that it may tell
// values apart, within this process.
func Fingerprint(v any) uint64 {
	switch v := v.(type) {
	case M:
		sum := uint64(0) // whatever the order of the members
		for key, member := range v {
			sum += maphash.Comparable(seed, struct {
				key    string
				member uint64
			}{key, Fingerprint(member)})
		}
		return fingerprintOf("object", sum)
	case []any:
		sum := uint64(0)
		for _, item := range v {
			sum = maphash.Comparable(seed, struct{ before, item uint64 }{sum, Fingerprint(item)})
		}
		return fingerprintOf("array", sum)
	case json.Number:
		return fingerprintOf("number", string(v))
	default:
		return fingerprintOf("", v)
	}
}

// fingerprintOf is the fingerprint of what is of that kind.
func fingerprintOf(kind string, v any) uint64 {
	return maphash.Comparable(seed, struct {
		kind string
		v    any
	}{kind, v})
}

// shared is a value that was just decoded, in which objects and arrays that are equal are one: those of long lists are
// much alike, and together take little room then. known are those that there were before, by their fingerprints.
func shared(v any, known map[uint64]any) any {
	switch v := v.(type) {
	case M:
		for name, member := range v {
			v[name] = shared(member, known)
		}
	case []any:
		for i, item := range v {
			v[i] = shared(item, known)
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
