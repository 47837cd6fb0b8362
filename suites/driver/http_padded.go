package driver

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
)

// do makes an RoundTrip request. The values of its headers are sent as they are, with the white space around them that
// is part of no value by the grammar of RoundTrip, and that net/http leaves out: such a request has a connection of its
// own, with no proxy between.
func (site *Site) do(req *http.Request) (*http.Response, error) {
	padding := paddingOf(req.Header)
	if len(padding) == 0 {
		return site.client.Do(req)
	}
	transport := site.client.Transport.(*http.Transport).Clone()
	transport.Proxy, transport.DisableKeepAlives, transport.WriteBufferSize = nil, true, 1<<20
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return &padded{conn, padding}, err
	}
	transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		config := transport.TLSClientConfig.Clone()
		config.ServerName = req.URL.Hostname()
		return &padded{tls.Client(conn, config), padding}, nil
	}
	return (&http.Client{Transport: transport, CheckRedirect: site.client.CheckRedirect}).Do(req)
}

// paddingOf is, by the lines as which net/http writes the headers with white space around their values, what they are
// to be.
func paddingOf(header http.Header) map[string]string {
	lines := map[string]string{}
	for name, values := range header {
		for _, value := range values {
			if plain := strings.Trim(value, " \t"); plain != value {
				lines["\r\n"+name+": "+plain+"\r\n"] = "\r\n" + name + ":" + value + "\r\n"
			}
		}
	}
	return lines
}

// padded is a connection on which the head of a request, which is written at once, has its white space.
type padded struct {
	net.Conn
	lines map[string]string
}

func (p *padded) Write(b []byte) (int, error) {
	text := b
	for plain, line := range p.lines {
		text = bytes.Replace(text, []byte(plain), []byte(line), 1)
	}
	if _, err := p.Conn.Write(text); err != nil {
		return 0, err
	}
	return len(b), nil
}
