package protocol

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// RepeatedNames returns the JSON pointer of each member whose name an object of a document has more than once, which
// a decoded document does not show. It returns what is found up to a syntax error.
func RepeatedNames(document []byte) (again []string) {
	r := nameReader{decoder: json.NewDecoder(bytes.NewReader(document))}
	r.decoder.UseNumber() // a number may be beyond the range of a float64
	r.readValue()
	return r.again
}

// nameReader reads the names in a document.
type nameReader struct {
	decoder *json.Decoder
	// path are the names and indices that lead to the value that is read.
	path  []string
	again []string
}

// readValue reads a value. It reports whether there was one.
func (r *nameReader) readValue() bool {
	switch begin, err := r.decoder.Token(); {
	case err != nil:
		return false
	case begin == json.Delim('{'):
		return r.readMembers()
	case begin == json.Delim('['):
		for i := 0; r.decoder.More(); i++ {
			if !r.readAt(strconv.Itoa(i)) {
				return false
			}
		}
		return r.readEnd()
	}
	return true
}

// readAt reads the value of a member or an item.
func (r *nameReader) readAt(name string) bool {
	r.path = append(r.path, name)
	ok := r.readValue()
	r.path = r.path[:len(r.path)-1]
	return ok
}

// readMembers reads the members of an object, and its end.
func (r *nameReader) readMembers() bool {
	seen := map[string]bool{}
	for r.decoder.More() {
		token, _ := r.decoder.Token()
		name, isName := token.(string)
		if !isName {
			return false
		}
		if seen[name] {
			r.again = append(r.again, r.pointer(name))
		}
		if seen[name] = true; !r.readAt(name) {
			return false
		}
	}
	return r.readEnd()
}

// pointer is the JSON pointer of a member of the object that is read.
func (r *nameReader) pointer(name string) (at string) {
	for _, step := range append(slices.Clone(r.path), name) {
		at += "/" + pointerEscaper.Replace(step)
	}
	return at
}

// readEnd reads the end of an object or an array.
func (r *nameReader) readEnd() bool {
	_, err := r.decoder.Token()
	return err == nil
}
