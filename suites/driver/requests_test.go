package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// wantTimeout fails the test unless a server that goes on and on has no more time for an answer than it is given.
func wantTimeout(t *testing.T, s *Session, limit time.Duration) {
	t.Helper()
	begin := time.Now()
	var silence *TimeoutError
	r := s.Call("tools/list", nil)
	if took := time.Since(begin); !errors.As(r.Err, &silence) || took > 2*limit {
		t.Errorf("got %v after %v", r.Err, took)
	}
}

// A server that answers what nobody has asked, again and again, has no more time for an answer.
func TestUnknownResponsesExtendNoTimeout(t *testing.T) {
	const limit = 3 * time.Second
	serve := func(ctx context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
		go io.Copy(io.Discard, in)
		for range 100 {
			io.WriteString(out, `{"jsonrpc":"2.0","id":"nobody","result":{}}`+"\n")
			time.Sleep(time.Second)
		}
		<-ctx.Done()
		return 0
	}
	runSession(t, Limits{ReplyTimeout: limit}, serve, func(t *testing.T, s *Session) { wantTimeout(t, s, limit) })
}

// A server that asks the client, again and again, has no more time for an answer: it takes those of the client, and
// still gives none.
func TestServerRequestsExtendNoTimeout(t *testing.T) {
	const limit = 3 * time.Second
	e := &testHTTPServer{serve: func(w http.ResponseWriter, r *http.Request, body M) {
		switch {
		case r.Method == http.MethodGet:
			for n := 0; n < 100 && r.Context().Err() == nil; n++ {
				writeStream(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":\"s%d\",\"method\":\"ping\"}\n\n", n))
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
				}
			}
		case body["result"] != nil:
			w.WriteHeader(http.StatusAccepted)
		case body["method"] != nil:
			<-r.Context().Done()
		}
	}}
	synctest.Test(t, func(t *testing.T) {
		network := newPipeNetwork(t.Context())
		server := &http.Server{Handler: e}
		go server.Serve(network)
		defer server.Close()
		site, err := NewSite(SiteOptions{URL: "http://127.0.0.1/mcp", Dial: network.dial})
		if err != nil {
			t.Fatal(err)
		}
		defer site.Close(Limits{})
		s, err := Start(t.Context(), Target{Site: site, Limits: Limits{ReplyTimeout: limit}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Open(ConnectParams("2025-06-18")); err != nil {
			t.Fatal(err)
		}
		wantTimeout(t, s, limit)
	})
}

// pipeNetwork are a network with one server on it, until that is closed: clients may dial later than that.
type pipeNetwork struct {
	ctx    context.Context
	cancel context.CancelFunc
	dialed chan net.Conn
}

func newPipeNetwork(ctx context.Context) pipeNetwork {
	ctx, cancel := context.WithCancel(ctx)
	return pipeNetwork{ctx, cancel, make(chan net.Conn)}
}

func (p pipeNetwork) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.dialed <- theirs:
		return ours, nil
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (p pipeNetwork) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialed:
		return conn, nil
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (p pipeNetwork) Close() error {
	p.cancel()
	return nil
}

func (pipeNetwork) Addr() net.Addr { return &net.TCPAddr{} }
