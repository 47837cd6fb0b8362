package recorder

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// observedBody is a body that an observer reads while it passes.
type observedBody struct {
	io.ReadCloser
	observer io.Writer
	// remaining is how many bytes are still to come; negative means that this is not known.
	remaining int64
	// onEnd is called once, before the reader sees the end. Its argument says that the body was complete.
	onEnd func(whole bool)
	once  sync.Once
	ended bool
}

// Read returns io.EOF together with the last byte where the length is known: a reader that closes the body without
// another Read would otherwise make a complete body look incomplete.
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

// bodyBuffer holds a body up to the limit of a record.
type bodyBuffer struct {
	mu   sync.Mutex
	text []byte
	// isTruncated says that the body is longer than the limit.
	isTruncated bool
	// isComplete says that the body has ended.
	isComplete bool
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

// content returns the body as far as it is kept, and whether that is all of it.
func (k *bodyBuffer) content() (said []byte, whole bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.text), k.isComplete && !k.isTruncated
}

// answerObserver returns the writer that observes the response body, and the function to call when that ends.
func (t *roundTrip) answerObserver() (look io.Writer, end func(whole bool)) {
	if driver.MediaType(t.resp.Header) == "text/event-stream" && t.resp.StatusCode/100 == 2 {
		return &lenientWriter{w: driver.NewEventStreamParser(maxLineBytes, t.recordEvent),
			onError: t.recordTooLong}, t.endStream
	}
	body := &bodyBuffer{}
	return body, func(whole bool) { t.endBody(body, whole) }
}

// lenientWriter is a writer that never returns an error: after the first one it discards what it gets.
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

// decodeBody decodes the content coding of a body for its observer; looked waits until the observer has read all of it.
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

// decodeGzip decodes gzip.
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
