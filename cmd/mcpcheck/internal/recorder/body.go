package recorder

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// observedBody is a body that is looked at while it passes.
type observedBody struct {
	io.ReadCloser
	observer  io.Writer
	remaining int64            // bytes; less than 0: that is not known
	onEnd     func(whole bool) // called once, before who reads it sees the end
	once      sync.Once
	ended     bool
}

// Read ends with the last byte where it is known which one that is: whoever looks for more may come too late, when the
// body is closed, and would take that for an error.
func (p *observedBody) Read(b []byte) (int, error) {
	if p.ended {
		return 0, io.EOF
	}
	n, err := p.ReadCloser.Read(b)
	p.observer.Write(b[:n])
	if p.remaining -= int64(n); p.remaining == 0 && err == nil {
		err = io.EOF
	}
	if p.ended = err == io.EOF; p.ended {
		p.once.Do(func() { p.onEnd(true) })
	}
	return n, err
}

func (p *observedBody) Close() error {
	p.once.Do(func() { p.onEnd(false) })
	return p.ReadCloser.Close()
}

// bodyBuffer is as much of a body as a record keeps.
type bodyBuffer struct {
	mu          sync.Mutex
	text        []byte
	isTruncated bool // there was more
	isComplete  bool // it has come to its end
}

func (k *bodyBuffer) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	room := min(len(p), maxLineBytes-len(k.text))
	k.text, k.isTruncated = append(k.text, p[:room]...), k.isTruncated || room < len(p)
	return len(p), nil
}

func (k *bodyBuffer) finish(whole bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isComplete = whole
}

// content is what is kept, and whether that is everything.
func (k *bodyBuffer) content() (said []byte, whole bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.text), k.isComplete && !k.isTruncated
}

// answerObserver is what looks at the answer, and what is told of its end.
func (t *roundTrip) answerObserver() (look io.Writer, end func(whole bool)) {
	if driver.MediaType(t.resp.Header) == "text/event-stream" && t.resp.StatusCode/100 == 2 {
		return &lenientWriter{w: driver.NewEventStreamParser(maxLineBytes, t.recordEvent),
			onError: t.recordTooLong}, t.endStream
	}
	body := &bodyBuffer{}
	return body, func(whole bool) { t.endBody(body, whole) }
}

// lenientWriter is a writer that fails nobody: after an error it only takes what comes.
type lenientWriter struct {
	w         io.Writer
	onError   func()
	hasFailed bool
}

func (l *lenientWriter) Write(p []byte) (int, error) {
	if l.hasFailed {
		return len(p), nil
	}
	if _, err := l.w.Write(p); err != nil {
		l.hasFailed = true
		l.onError()
	}
	return len(p), nil
}

// decodeBody undoes the coding of a body for who looks at it; looked waits until all of it is looked at.
func (t *roundTrip) decodeBody(coding string, to io.Writer) (look io.Writer, looked func()) {
	switch strings.ToLower(coding) {
	case "", "identity":
		return to, func() {}
	case "gzip":
		return decodeGzip(to)
	}
	t.isUndecodable = true
	return io.Discard, func() {}
}

// decodeGzip undoes gzip.
func decodeGzip(to io.Writer) (look io.Writer, looked func()) {
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
