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

// wantTimeout fails the test unless a request times out although the server keeps sending messages.
func wantTimeout(t *testing.T, s *Session, limit time.Duration) {
	t.Helper()
	begin := time.Now()
	var timeout *TimeoutError
	r := s.Call("tools/list", nil)
	if took := time.Since(begin); !errors.As(r.Err, &timeout) || took > 2*limit {
		t.Errorf("got %v after %v", r.Err, took)
	}
}

// TestUnknownResponsesExtendNoTimeout checks that responses that belong to no request do not extend the time for a
// response.
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

// TestServerRequestsExtendNoTimeout checks that neither requests of the server nor the client's responses to them
// extend the time for a response.
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

// pipeNetwork is a network with one server on it, to which clients may connect until the network is closed.
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
