package driver

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestOtherOriginGetsNoSecrets checks that headers of the operator and of the session are sent only to the server's own
// origin, and that responses of another origin do not affect the session.
func TestOtherOriginGetsNoSecrets(t *testing.T) {
	var here, there http.Header
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		here = r.Header.Clone()
		w.Header().Set("Mcp-Session-Id", "of-the-server")
	}))
	defer own.Close()
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there = r.Header.Clone()
		w.Header().Set("Mcp-Session-Id", "of-another")
	}))
	defer foreign.Close()
	secrets := http.Header{"Authorization": {"Bearer secret"}, "X-Api-Key": {"secret"}}
	site, err := NewSite(SiteOptions{URL: own.URL + "/mcp", Header: secrets})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Target{Site: site}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.Revision = "2025-11-25"

	s.HTTP().Do(HTTPRequest{URL: "/other"}).AwaitEnd()
	s.HTTP().Do(HTTPRequest{URL: own.URL + "/other"}).AwaitEnd()
	if here.Get("Authorization") == "" || here.Get("X-Api-Key") == "" || here.Get("Mcp-Session-Id") == "" {
		t.Errorf("the server got %v", here)
	}
	accept := http.Header{"Accept": {"application/json"}}
	s.HTTP().Do(HTTPRequest{Method: http.MethodGet, URL: foreign.URL + "/.well-known/x", Header: accept}).AwaitEnd()
	for name := range there {
		switch name {
		case "Accept", "Accept-Encoding", "User-Agent":
		default:
			t.Errorf("the other origin got %s: %q", name, there[name])
		}
	}
	if there.Get("Accept") != "application/json" {
		t.Errorf("the other origin got %v", there)
	}
	if id := s.HTTP().SessionID(); id != "of-the-server" {
		t.Errorf("the session id is %q", id)
	}
	foreign.Close()
	if a := s.HTTP().Do(HTTPRequest{Method: http.MethodGet, URL: foreign.URL}).AwaitEnd(); a.Err == nil ||
		!s.IsAlive() {
		t.Errorf("got %v, the session is alive: %v", a, s.IsAlive())
	}
}
