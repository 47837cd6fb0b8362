package driver

import (
	"encoding/json"
	"hash/maphash"
	"reflect"
	"slices"
	"sync"
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

// Sharing holds JSON values, each of which stands for all that are equal to it: the parts of long lists are much alike,
// and together take little room then. Nobody may change them.
type Sharing map[uint64]any

// One is the value that stands for v and its equals. Its parts are shared, too.
func (s Sharing) One(v any) any {
	const levels = 8 // which is where most of a schema ends
	return s.one(v, levels)
}

// one is One with so many levels of parts.
func (s Sharing) one(v any, levels int) any {
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

// shortText is how many bytes of JSON take little room, however they are decoded.
const shortText = 64 << 10

// thrifty is Decode for what may be long: equal parts are shared, in a text and with the last long ones.
func thrifty(raw []byte) any {
	if text, _ := shallow(raw); len(text) > shortText {
		return Sharing{}.decode(text)
	}
	return Decode(raw)
}

// decode is the value of a text, with its parts shared.
func (s Sharing) decode(text json.RawMessage) any {
	if len(text) <= shortText {
		return s.One(Decode(text))
	}
	return lately.decode(text, func() any {
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) == nil {
			object := make(M, len(members))
			for name, member := range members {
				object[name] = s.decode(member)
			}
			return object
		}
		var items []json.RawMessage
		if json.Unmarshal(text, &items) == nil {
			list := make([]any, len(items))
			for i, item := range items {
				list[i] = s.decode(item)
			}
			return list
		}
		return Decode(text)
	})
}

// recent are the values of the long texts that were decoded last. A server repeats them: a list that is asked for many
// times takes room and time once.
type recent struct {
	mu     sync.Mutex
	values []keyed // what was used last is last
}

// keyed is a value by the fingerprint of its text.
type keyed struct {
	text  uint64
	value any
}

var lately recent

// decode is the value of a text, which is decoded unless it was lately.
func (r *recent) decode(text []byte, decoded func() any) any {
	key := maphash.Bytes(seed, text)
	value, known := r.find(key)
	if !known {
		value = decoded()
	}
	r.keep(keyed{key, value})
	return value
}

func (r *recent) find(text uint64) (value any, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.values {
		if k.text == text {
			return k.value, true
		}
	}
	return nil, false
}

// keep puts a value last, and drops the first one of too many.
func (r *recent) keep(last keyed) {
	const most = 4 // messages, and what is long in them
	r.mu.Lock()
	defer r.mu.Unlock()
	others := slices.DeleteFunc(r.values, func(k keyed) bool { return k.text == last.text })
	r.values = append(others[max(0, len(others)+1-most):], last)
}

// parts is the value with its parts shared.
func (s Sharing) parts(v any, levels int) any {
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
