package harness

import (
	"encoding/json"
	"hash/maphash"
	"reflect"
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
		return printOf("object", sum)
	case []any:
		sum := uint64(0)
		for _, item := range v {
			sum = maphash.Comparable(seed, struct{ before, item uint64 }{sum, Fingerprint(item)})
		}
		return printOf("array", sum)
	case json.Number:
		return printOf("number", string(v))
	default:
		return printOf("", v)
	}
}

// printOf is the fingerprint of what is of that kind.
func printOf(kind string, v any) uint64 {
	return maphash.Comparable(seed, struct {
		kind string
		v    any
	}{kind, v})
}

// sharing holds JSON values, each of which stands for all that are equal to it: the parts of long lists are much alike,
// and together take little room then. Nobody may change them.
type sharing map[uint64]any

// one is the value that stands for v and its equals. So many levels of its parts are shared, too.
func (s sharing) one(v any, levels int) any {
	key := Fingerprint(v)
	if known, ok := s[key]; ok && reflect.DeepEqual(known, v) {
		return known
	}
	if levels > 0 {
		v = s.parts(v, levels-1)
	}
	s[key] = v
	return v
}

// parts is the value with its parts shared.
func (s sharing) parts(v any, levels int) any {
	switch v := v.(type) {
	case M:
		shared := make(M, len(v))
		for name, member := range v {
			shared[s.one(name, 0).(string)] = s.one(member, levels)
		}
		return shared
	case []any:
		shared := make([]any, len(v))
		for i, item := range v {
			shared[i] = s.one(item, levels)
		}
		return shared
	}
	return v
}
