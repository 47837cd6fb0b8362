package driver

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"
)

// Text is a text of the wire. A long one is held packed once it is in the record, and unpacked whenever somebody reads
// it: servers with long answers would else fill the memory. Copies are of the same text.
type Text struct {
	*held
	_ [0]func() // texts are compared with Equal
}

type held struct {
	size int

	mu     sync.Mutex
	plain  []byte
	packed []byte // in place of plain; nil: it is not packed
}

// Plain is a text that nobody changes any more.
func Plain(b []byte) Text {
	if len(b) == 0 {
		return Text{}
	}
	return Text{held: &held{size: len(b), plain: b}}
}

// Len is how many bytes the text has.
func (t Text) Len() int {
	if t.held == nil {
		return 0
	}
	return t.size
}

// String is the text, which costs time and room where it is long.
func (t Text) String() string { return string(t.Bytes()) }

// Brief is the text, shortened for a message.
func (t Text) Brief() string { return Brief(t.Bytes()) }

// Equal reports whether two texts are the same.
func (t Text) Equal(other Text) bool {
	return t.held == other.held || t.Len() == other.Len() && bytes.Equal(t.Bytes(), other.Bytes())
}

// Bytes are those of the text, for reading. Where it is long, that costs time and room.
func (t Text) Bytes() []byte {
	if t.held == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.packed == nil {
		return t.plain
	}
	all := make([]byte, t.size)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(t.packed)), all); err != nil {
		panic("driver: a text that was packed cannot be read: " + err.Error())
	}
	return all
}

// trimmed is the text without white space around it.
func (t Text) trimmed() Text {
	b := t.Bytes()
	if inner := bytes.TrimSpace(b); len(inner) < len(b) {
		return Plain(inner)
	}
	return t
}

// packedFrom is how many bytes a text has that is worth the time.
const packedFrom = 256 << 10

// packer packs one text at a time, with the room that it takes.
var packer struct {
	sync.Mutex
	flate *flate.Writer
}

// pack packs a long text, unless it is packed already.
func (t Text) pack() {
	if t.Len() < packedFrom {
		return
	}
	packer.Lock()
	defer packer.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.packed != nil {
		return
	}
	var out bytes.Buffer
	if packer.flate == nil {
		packer.flate, _ = flate.NewWriter(&out, flate.BestSpeed) // which is a level that there is
	}
	packer.flate.Reset(&out)
	packer.flate.Write(t.plain) // a buffer takes everything
	packer.flate.Close()
	if out.Len() < t.size {
		t.packed, t.plain = bytes.Clone(out.Bytes()), nil
	}
}

// pieces gathers a text that comes bit by bit, in little more room than the text takes.
type pieces struct {
	full [][]byte
	last []byte // which has room for more
	size int
}

// write adds a copy of some bytes.
func (p *pieces) write(b []byte) {
	const least, most = 512, 1 << 20
	p.size += len(b)
	for len(b) > 0 {
		if len(p.last) == cap(p.last) {
			p.close()
			p.last = make([]byte, 0, min(most, max(p.size, least)))
		}
		n := min(len(b), cap(p.last)-len(p.last))
		p.last, b = append(p.last, b[:n]...), b[n:]
	}
}

// hand adds bytes that nobody else has. Many are not copied.
func (p *pieces) hand(b []byte) {
	if len(b) < packedFrom {
		p.write(b)
		return
	}
	p.close()
	p.full = append(p.full, b)
	p.size += len(b)
}

// close begins another piece.
func (p *pieces) close() {
	if len(p.last) > 0 {
		p.full, p.last = append(p.full, p.last), nil
	}
}

// beginsWith reports whether a short text is the beginning.
func (p *pieces) beginsWith(prefix string) bool {
	first := p.last
	if len(p.full) > 0 {
		first = p.full[0]
	}
	return bytes.HasPrefix(first, []byte(prefix))
}

// take is the text, and leaves nothing of it.
func (p *pieces) take() (all []byte) {
	if len(p.full) == 1 && len(p.last) == 0 {
		all = p.full[0]
	} else {
		all = bytes.Join(append(p.full, p.last), nil)
	}
	p.full, p.last, p.size = nil, p.last[:0], 0
	if cap(p.last) > packedFrom {
		p.last = nil
	}
	return all
}
