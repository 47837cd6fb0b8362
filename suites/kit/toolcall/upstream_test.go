package toolcall

import (
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// TestURLProperties has properties that may hold a URL, and such that do not, or that are no plain text.
func TestURLProperties(t *testing.T) {
	text, uri := check.M{"type": "string"}, check.M{"type": "string", "format": "uri"}
	for _, test := range []struct {
		properties check.M
		required   []any
		want       []string
	}{
		{check.M{"url": text, "name": text}, nil, []string{"url"}},
		{check.M{"page": uri, "imageUrl": text, "feed_uri": text}, nil, []string{"feed_uri", "imageUrl", "page"}},
		{check.M{"a_url": text, "target": uri}, []any{"target"}, []string{"target", "a_url"}},
		{check.M{"curl": text, "hourly": text, "URL": text}, nil, nil},
		{check.M{"url": check.M{"type": "integer"}, "href": true}, nil, nil},
	} {
		tool := check.Subject{Value: check.M{
			"inputSchema": check.M{"properties": test.properties, "required": test.required},
		}}
		if diff := cmp.Diff(test.want, propertiesTaking(tool, takesURL)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.properties, diff)
		}
	}
}

// TestUpstream proves that a request for the document is held until Release, that anything else is answered at once,
// and that there is an end to what is kept.
func TestUpstream(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := newUpstream(listener)
	defer u.Close()
	get := func(url, body string) int {
		res, err := http.Post(url, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	robots := strings.TrimSuffix(u.url, upstreamPath) + "/robots.txt"
	if got := get(robots, ""); got != http.StatusNotFound {
		t.Errorf("got status %d of robots.txt, want 404", got)
	}
	if got := get(u.url, strings.Repeat("x", maxUpstreamBody+1)); got != http.StatusTooManyRequests {
		t.Errorf("got status %d of a long request, want 429", got)
	}
	status := make(chan int)
	go func() { status <- get(u.url, "text") }()
	for len(u.Requests()) == 0 {
		select {
		case got := <-status:
			t.Fatalf("got status %d before the release", got)
		default:
			runtime.Gosched()
		}
	}
	if AwaitEnds(u.Requests(), 0) {
		t.Error("the request has ended before the release")
	}
	u.Release()
	if got := <-status; got != http.StatusOK {
		t.Errorf("got status %d after the release, want 200", got)
	}
	if !AwaitEnds(u.Requests(), time.Minute) {
		t.Error("the request has not ended after its response")
	}
	for range maxUpstreamRequests {
		get(robots, "")
	}
	if n := len(u.AllRequests()); n != maxUpstreamRequests {
		t.Errorf("got %d requests, want %d", n, maxUpstreamRequests)
	}
}
