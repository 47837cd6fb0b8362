package driver

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestValueCache checks that equal messages, and equal members of long ones, share their values, and that the values of
// all others are kept only as long as few bytes follow.
func TestValueCache(t *testing.T) {
	var c valueCache
	at := func(v any) uintptr { return reflect.ValueOf(v).Pointer() }
	short, long := []byte(`{"a":{"b":1}}`), []byte(`{"id":1,"result":{"text":"`+strings.Repeat("x", sharedMember)+`"}}`)
	first := c.object(short)
	if a, _ := first["a"].(M); a["b"] == nil || at(first) != at(c.object(short)) {
		t.Errorf("got %v, which is not held", first)
	}
	other := []byte(strings.Replace(string(long), "1", "2", 1))
	if at(c.object(long)["result"]) != at(c.object(other)["result"]) {
		t.Error("equal members of long messages do not share their value")
	}
	for i := range 3 * maxDecoded / decodedOverhead {
		c.object(fmt.Appendf(nil, `{"id":%d}`, i))
	}
	if most := maxDecoded/decodedOverhead + 1; len(c.latest) > most || len(c.previous) > most {
		t.Errorf("it holds %d and %d values", len(c.latest), len(c.previous))
	}
	if at(first) == at(c.object(short)) {
		t.Error("an old value is still held")
	}
}
