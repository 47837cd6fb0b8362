package driver

import (
	"bytes"
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

// mostShared is how many values are held at a time: what is alike stands close together, and where all differ, to hold
// them would take more room than it spares.
const mostShared = 1 << 15

// sharedLevels is how many levels of parts are shared, which is where most of a schema ends.
const sharedLevels = 8

// One is the value that stands for v and its equals. Its parts are shared, too.
func (s Sharing) One(v any) any { return s.one(v, sharedLevels) }

// one is One with so many levels of parts.
func (s Sharing) one(v any, levels int) any {
	key := Fingerprint(v)
	if known, ok := s[key]; ok && reflect.DeepEqual(known, v) {
		return known
	}
	if levels > 0 {
		v = s.parts(v, levels-1)
	}
	if len(s) >= mostShared {
		clear(s)
	}
	s[key] = v
	return v
}

// shortText is how many bytes of JSON take little room, however they are decoded.
const shortText = 64 << 10

// decode is the value of a JSON text: equal parts are shared, in the text and with the last long ones. What is long is
// taken apart down to so many levels, and never copied as a whole.
func (s Sharing) decode(text json.RawMessage, levels int) any {
	if len(text) <= shortText {
		return s.One(decode(text))
	}
	text = bytes.TrimSpace(text)
	switch {
	case text[0] == '"':
		return lately.decode(text, func() any { return unquote(text) })
	case levels > 0 && text[0] == '{':
		return lately.decode(text, func() any {
			lately.makeRoom(text)
			object := M{}
			for name, member := range Parts(text) {
				object[name] = s.decode(member, levels-1)
			}
			return object
		})
	case levels > 0 && text[0] == '[':
		return lately.decode(text, func() any {
			lately.makeRoom(text)
			var list []any
			for _, item := range Parts(text) {
				list = append(list, s.decode(item, levels-1))
			}
			return list
		})
	}
	return decode(text)
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

// makeRoom forgets all values where a text is to be decoded in which nothing is long, so that nothing is known of it.
func (r *recent) makeRoom(text []byte) {
	if len(text) <= longMessage {
		return
	}
	for _, part := range Parts(text) {
		if len(part) > shortText {
			return
		}
	}
	r.mu.Lock()
	r.values = nil
	r.mu.Unlock()
}

// keep puts a value last, and drops the first one of too many.
func (r *recent) keep(last keyed) {
	const most = 3 // a message, its result, and the list in that
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
