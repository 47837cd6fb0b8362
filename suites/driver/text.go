package driver

import "bytes"

// Text is a text of the wire, which nobody changes any more.
type Text []byte

// Len is how many bytes the text has.
func (t Text) Len() int { return len(t) }

// String is the text, which costs time and room where it is long.
func (t Text) String() string { return string(t) }

// Bytes are those of the text, for reading.
func (t Text) Bytes() []byte { return t }

// Brief is the text, shortened for a message.
func (t Text) Brief() string { return Brief(t) }

// Equal reports whether two texts are the same.
func (t Text) Equal(other Text) bool { return bytes.Equal(t, other) }

// drain returns what a buffer holds, without the room behind it if that is much, and empties it.
func drain(buffer *bytes.Buffer) Text {
	const much = 64 << 10
	text := bytes.Clone(buffer.Bytes())
	if buffer.Reset(); buffer.Cap() > much {
		*buffer = bytes.Buffer{}
	}
	return text
}
