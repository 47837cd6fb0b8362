package driver

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
)

// do makes an HTTP request, on a new connection where that is asked for. It sends header values as they are, including
// white space around them. By the grammar of HTTP that is not part of the value, and net/http drops it, so such a
// request has a connection of its own without a proxy.
func (site *Site) do(req *http.Request, onNewConnection bool) (*http.Response, error) {
	padding := paddingOf(req.Header)
	if len(padding) == 0 && !onNewConnection {
		return site.client.Do(req)
	}
	transport := site.client.Transport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	if len(padding) > 0 {
		padHeads(transport, req.URL.Hostname(), padding)
	}
	return (&http.Client{Transport: transport, CheckRedirect: site.client.CheckRedirect}).Do(req)
}

// padHeads has a transport write header lines with their white space, on connections to a host without a proxy.
func padHeads(transport *http.Transport, host string, padding map[string]string) {
	transport.Proxy, transport.WriteBufferSize = nil, 1<<20
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
		config.ServerName = host
		return &padded{tls.Client(conn, config), padding}, nil
	}
}

// paddingOf returns the header lines with white space around the value, by the lines that net/http writes for them.
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

// padded is a connection that restores the white space in the head of a request, which net/http writes at once.
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
