package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// RepeatedNames returns the JSON pointer of each member whose name an object of a document has more than once, which
// a decoded document does not show. It returns what is found up to a syntax error.
func RepeatedNames(document []byte) (again []string) {
	r := nameReader{decoder: json.NewDecoder(bytes.NewReader(document))}
	r.decoder.UseNumber() // a number may be beyond the range of a float64
	r.readValue("")
	return r.again
}

// nameReader reads the names in a document.
type nameReader struct {
	decoder *json.Decoder
	again   []string
}

// readValue reads the value at a JSON pointer. It reports whether there was one.
func (r *nameReader) readValue(path string) bool {
	switch begin, err := r.decoder.Token(); {
	case err != nil:
		return false
	case begin == json.Delim('{'):
		return r.readMembers(path)
	case begin == json.Delim('['):
		for i := 0; r.decoder.More(); i++ {
			if !r.readValue(path + "/" + strconv.Itoa(i)) {
				return false
			}
		}
		return r.readEnd()
	}
	return true
}

// readMembers reads the members of an object, and its end.
func (r *nameReader) readMembers(path string) bool {
	seen := map[string]bool{}
	for r.decoder.More() {
		token, _ := r.decoder.Token()
		name, isName := token.(string)
		if !isName {
			return false
		}
		at := path + "/" + pointerEscaper.Replace(name)
		if seen[name] {
			r.again = append(r.again, at)
		}
		if seen[name] = true; !r.readValue(at) {
			return false
		}
	}
	return r.readEnd()
}

// readEnd reads the end of an object or an array.
func (r *nameReader) readEnd() bool {
	_, err := r.decoder.Token()
	return err == nil
}
