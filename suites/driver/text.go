package driver

import "bytes"

// Text is a text of the wire. It is never changed.
type Text []byte

// Len returns the length in bytes.
func (t Text) Len() int { return len(t) }

// String returns a copy of the text, which is expensive for a long one.
func (t Text) String() string { return string(t) }

// Bytes returns the bytes of the text, which the caller must not change.
func (t Text) Bytes() []byte { return t }

// Brief returns the text, shortened for a message to people.
func (t Text) Brief() string { return Brief(t) }

// Equal reports whether two texts are the same.
func (t Text) Equal(other Text) bool { return bytes.Equal(t, other) }

// drain returns the content of a buffer and empties it. It releases the memory of a big buffer.
func drain(buffer *bytes.Buffer) Text {
	const much = 64 << 10
	text := bytes.Clone(buffer.Bytes())
	if buffer.Reset(); buffer.Cap() > much {
		*buffer = bytes.Buffer{}
	}
	return text
}
