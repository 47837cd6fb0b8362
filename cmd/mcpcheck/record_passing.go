package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// passing is a body that is looked at while it passes.
type passing struct {
	io.ReadCloser
	look   io.Writer
	toCome int64            // bytes; less than 0: that is not known
	end    func(whole bool) // called once, before who reads it sees the end
	once   sync.Once
	ended  bool
}

// Read ends with the last byte where it is known which one that is: whoever looks for more may come too late, when the
// body is closed, and would take that for an error.
func (p *passing) Read(b []byte) (int, error) {
	if p.ended {
		return 0, io.EOF
	}
	n, err := p.ReadCloser.Read(b)
	p.look.Write(b[:n])
	if p.toCome -= int64(n); p.toCome == 0 && err == nil {
		err = io.EOF
	}
	if p.ended = err == io.EOF; p.ended {
		p.once.Do(func() { p.end(true) })
	}
	return n, err
}

func (p *passing) Close() error {
	p.once.Do(func() { p.end(false) })
	return p.ReadCloser.Close()
}

// kept is as much of a body as a record keeps.
type kept struct {
	mu    sync.Mutex
	text  []byte
	left  bool // there was more
	whole bool // it has come to its end
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	room := min(len(p), longestNoted-len(k.text))
	k.text, k.left = append(k.text, p[:room]...), k.left || room < len(p)
	return len(p), nil
}

func (k *kept) end(whole bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.whole = whole
}

// all is what is kept, and whether that is everything.
func (k *kept) all() (text []byte, whole bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.text), k.whole && !k.left
}

// look is what looks at the answer, and what is told of its end.
func (t *trip) look() (look io.Writer, end func(whole bool)) {
	if driver.MediaType(t.resp.Header) == "text/event-stream" && t.resp.StatusCode/100 == 2 {
		return &lenient{to: driver.NewEventStream(longestNoted, t.event), failed: t.tooLong}, t.streamed
	}
	body := &kept{}
	return body, func(whole bool) { t.bodied(body, whole) }
}

// lenient is a writer that fails nobody: after an error it only takes what comes.
type lenient struct {
	to     io.Writer
	failed func()
	over   bool
}

func (l *lenient) Write(p []byte) (int, error) {
	if l.over {
		return len(p), nil
	}
	if _, err := l.to.Write(p); err != nil {
		l.over = true
		l.failed()
	}
	return len(p), nil
}

// decoded undoes the coding of a body for who looks at it; looked waits until all of it is looked at.
func (t *trip) decoded(coding string, to io.Writer) (look io.Writer, looked func()) {
	switch strings.ToLower(coding) {
	case "", "identity":
		return to, func() {}
	case "gzip":
		return unzipped(to)
	}
	t.illegible = true
	return io.Discard, func() {}
}

// unzipped undoes gzip.
func unzipped(to io.Writer) (look io.Writer, looked func()) {
	read, write := io.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		if zip, err := gzip.NewReader(read); err == nil {
			io.Copy(to, zip)
		}
		io.Copy(io.Discard, read)
	}()
	return write, func() {
		write.Close()
		<-over
	}
}
