package driver

import (
	"hash/maphash"
	"sync"
)

// recentValues holds what was decoded last, since many checks read a message, and servers repeat their lists.
var recentValues valueCache

// valueCache holds decoded JSON values by the hashes of their texts: those of the last maxDecoded bytes of text, and of
// at most twice as many and one longer text.
type valueCache struct {
	mu sync.Mutex
	// latest holds the values that were read since previous was filled.
	latest, previous map[uint64]any
	// size is the number of bytes of the texts in latest.
	size int
}

const (
	maxDecoded = 4 << 20
	// decodedOverhead is counted for each value besides the bytes of its text: the objects of a short message take
	// about a kilobyte.
	decodedOverhead = 400
	// sharedMember is the size from which on the members of an object are held one by one: of two responses with the
	// same list, the ids differ.
	sharedMember = 1 << 10
)

// object returns the value of a text that is an object, which callers must not change. It decodes one text at a time,
// because several long ones could exhaust the memory.
func (c *valueCache) object(text []byte) M {
	c.mu.Lock()
	defer c.mu.Unlock()
	value := c.value(text, func() any {
		if len(text) < sharedMember {
			return Decode(text)
		}
		plain, _ := textToMaxDepth(text)
		object := M{}
		for name, member := range Members(plain) {
			object[name] = c.value(member, func() any { return Decode(member) })
		}
		return object
	})
	object, _ := value.(M)
	return object
}

// value returns the value of a text, which decode returns unless it is held. The caller holds mu.
func (c *valueCache) value(text []byte, decode func() any) any {
	key := maphash.Bytes(hashSeed, text)
	value, held := c.latest[key]
	if held {
		return value
	}
	if value, held = c.previous[key]; !held {
		value = decode()
	}
	if c.latest == nil || c.size > maxDecoded {
		c.latest, c.previous, c.size = map[uint64]any{}, c.latest, 0
	}
	c.latest[key] = value
	c.size += len(text) + decodedOverhead
	return value
}
