package driver

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestPaddedHeaders checks that white space around the value of a header is sent, and that nothing else changes.
func TestPaddedHeaders(t *testing.T) {
	here, there := net.Pipe()
	dial := func(context.Context, string, string) (net.Conn, error) { return here, nil }
	site, err := NewSite(SiteOptions{URL: "http://127.0.0.1:1/mcp", Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"id":1}`
	heads := make(chan string, 1)
	go func() {
		defer there.Close()
		var got []byte
		for b := make([]byte, 1<<10); !strings.HasSuffix(string(got), body); {
			n, err := there.Read(b)
			if got = append(got, b[:n]...); err != nil {
				break
			}
		}
		heads <- string(got)
		io.WriteString(there, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	}()
	req, err := http.NewRequest(http.MethodPost, site.URL(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Mcp-Method": {" \ttools/list\t "}, "Accept": {"text/event-stream"}}
	resp, err := site.do(req, false)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if string(answer) != "{}" || err != nil {
		t.Errorf("the body is %q: %v", answer, err)
	}
	head := <-heads
	for _, line := range []string{"POST /mcp HTTP/1.1", "Mcp-Method: \ttools/list\t ", "Accept: text/event-stream"} {
		if !strings.Contains(head, line+"\r\n") {
			t.Errorf("no line %q in\n%s", line, head)
		}
	}
}
