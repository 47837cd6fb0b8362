package driver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// do makes an HTTP request. The values of its headers are sent as they are, with the white space around them that is
// part of no value by the grammar of HTTP.
func (site *Site) do(req *http.Request) (*http.Response, error) {
	if !isPadded(req.Header) {
		return site.client.Do(req)
	}
	return site.doPadded(req)
}

// isPadded reports whether there is a value with white space around it, which net/http would leave out.
func isPadded(header http.Header) bool {
	for _, values := range header {
		if slices.ContainsFunc(values, func(v string) bool { return v != unpadded(v) }) {
			return true
		}
	}
	return false
}

func unpadded(value string) string { return strings.Trim(value, " \t") }

// doPadded makes a request over a connection of its own, which ends with the answer.
func (site *Site) doPadded(req *http.Request) (*http.Response, error) {
	conn, err := site.connectTo(req.Context(), req.URL)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(req.Context(), func() { conn.Close() })
	body := &connected{Conn: conn, stop: stop}
	req.Close = true
	var text bytes.Buffer
	if err := req.Write(&text); err != nil {
		body.Close()
		return nil, err
	}
	if _, err := conn.Write(pad(text.Bytes(), req.Header)); err != nil {
		body.Close()
		return nil, err
	}
	resp, err := readFinal(bufio.NewReader(conn), req)
	if err != nil {
		body.Close()
		return nil, err
	}
	body.Reader, resp.Body = resp.Body, body
	return resp, nil
}

// readFinal reads a response after those that only inform, such as 103 Early Hints: RFC 9110, section 15.2.
func readFinal(r *bufio.Reader, req *http.Request) (*http.Response, error) {
	const most = 5 // as many as net/http takes
	for range most {
		resp, err := http.ReadResponse(r, req)
		if err != nil || resp.StatusCode >= http.StatusOK {
			return resp, err
		}
	}
	return nil, errors.New("more than five responses came that only inform")
}

// pad puts the white space back into the head of a request.
func pad(text []byte, header http.Header) []byte {
	for name, values := range header {
		for _, value := range values {
			if plain := unpadded(value); plain != value {
				sent := []byte("\r\n" + name + ": " + plain + "\r\n")
				text = bytes.Replace(text, sent, []byte("\r\n"+name+":"+value+"\r\n"), 1)
			}
		}
	}
	return text
}

// connectTo opens a connection to the host of a URL, with no proxy between.
func (site *Site) connectTo(ctx context.Context, to *url.URL) (net.Conn, error) {
	transport := site.client.Transport.(*http.Transport)
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	conn, err := transport.DialContext(ctx, "tcp", net.JoinHostPort(to.Hostname(), port))
	if err != nil || to.Scheme != "https" {
		return conn, err
	}
	config := transport.TLSClientConfig.Clone()
	config.ServerName = to.Hostname()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// connected is the body of an answer, whose end closes the connection.
type connected struct {
	io.Reader
	net.Conn
	stop func() bool
}

func (c *connected) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func (c *connected) Close() error {
	c.stop()
	return c.Conn.Close()
}
