package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// fakeServer is a server: it holds the results or errors, as JSON members, by method. Other methods are left
// unanswered; "-" ends the server.
type fakeServer map[string]string

// These are responses of servers of both eras.
const (
	discoverResult = `"result":{"resultType":"complete","supportedVersions":["2025-11-25","2026-07-28","2099-01-01"],` +
		`"capabilities":{"tools":{}},"instructions":"Do.",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}`
	discoverLegacyOnly = `"result":{"resultType":"complete","supportedVersions":["2025-11-25"],` +
		`"capabilities":{"tools":{}}}`
	discoverWithoutVersions = `"result":{"resultType":"complete","capabilities":{"tools":{}}}`
	methodNotFound          = `"error":{"code":-32601,"message":"Method not found"}`
	unsupportedVersion      = `"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"],` +
		`"requested":"2026-07-28"}}`
	headerMismatch   = `"error":{"code":-32020,"message":"no"}`
	initializeResult = `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"o",` +
		`"version":"1"}}`
	toolsResult = `"result":{"resultType":"complete","tools":[{"name":"t",` +
		`"inputSchema":{"type":"object"}}]}`
	legacyToolsResult = `"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
)

// reply returns the response to a message as JSON, or "" if there is none.
func (s fakeServer) reply(msg driver.M) string {
	method, _ := msg["method"].(string)
	answer := s[method]
	if answer == "" || msg["id"] == nil {
		return ""
	}
	id, _ := json.Marshal(msg["id"])
	return `{"jsonrpc":"2.0","id":` + string(id) + `,` + answer + "}\n"
}

// serve is the server over stdio.
func (s fakeServer) serve(_ context.Context, in io.Reader, out, _ io.Writer, _ <-chan struct{}) int {
	d := json.NewDecoder(in)
	d.UseNumber()
	for {
		var msg driver.M
		if d.Decode(&msg) != nil {
			return 0
		}
		if s[msg["method"].(string)] == "-" {
			return 1
		}
		io.WriteString(out, s.reply(msg))
	}
}

// ServeHTTP is the server over HTTP, for which "401" is that status.
func (s fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	msg, _ := driver.Decode(raw).(driver.M)
	switch method, _ := msg["method"].(string); {
	case s[method] == "401":
		w.WriteHeader(http.StatusUnauthorized)
	case strings.Contains(s[method], `"error"`):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, s.reply(msg))
	case s[method] == "":
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, s.reply(msg))
	}
}

// inspectCase is a server, with what Inspect must return for it.
type inspectCase struct {
	name      string
	serves    fakeServer
	supported []string
	// failure is the beginning of Server.Failure.
	failure string
	// err is a part of the error.
	err string
	// isSupported reports whether the error is not an UnsupportedRevisionError.
	isSupported bool
}

// inspectCases are servers of which a revision of the modern era is requested.
var inspectCases = []inspectCase{
	{"modern", fakeServer{"server/discover": discoverResult, "tools/list": toolsResult},
		[]string{"2025-11-25", "2026-07-28"}, "", "", true},
	{"without a list of versions", fakeServer{"server/discover": discoverWithoutVersions, "tools/list": toolsResult},
		[]string{"2026-07-28"}, "", "", true},
	{"without its own version", fakeServer{"server/discover": discoverLegacyOnly, "tools/list": toolsResult},
		[]string{"2025-11-25", "2026-07-28"}, "", "", true},
	{"discover is missing", fakeServer{"server/discover": methodNotFound, "tools/list": toolsResult},
		nil, "server/discover was answered with error -32601", "", true},
	{"another error", fakeServer{"server/discover": headerMismatch},
		nil, "server/discover was answered with error -32020", "", true},
	{"lists older versions only", fakeServer{"server/discover": discoverLegacyOnly, "tools/list": legacyToolsResult},
		[]string{"2025-11-25"}, "", "the server does not speak 2026-07-28", false},
	{"refuses the version", fakeServer{"server/discover": unsupportedVersion, "tools/list": toolsResult},
		[]string{"2025-11-25"}, "", "the server does not speak 2026-07-28", false},
	{"legacy", fakeServer{"server/discover": methodNotFound, "tools/list": legacyToolsResult,
		"initialize": initializeResult},
		nil, "", "the server does not speak 2026-07-28", false},
}

// want checks the result of Inspect.
func (l inspectCase) want(t *testing.T, server *check.Server, err error) {
	t.Helper()
	var none *UnsupportedRevisionError
	switch {
	case server == nil:
		t.Fatal(err)
	case l.err == "" && err != nil, l.err != "" && (err == nil || !strings.Contains(err.Error(), l.err)):
		t.Errorf("got the error %v, want %q", err, l.err)
	case errors.As(err, &none) == l.isSupported:
		t.Errorf("got the error %T", err)
	}
	if !strings.HasPrefix(server.Failure, l.failure) || l.failure == "" && server.Failure != "" {
		t.Errorf("got the failure %q, want %q", server.Failure, l.failure)
	}
	if !slices.Equal(server.Revisions, l.supported) {
		t.Errorf("the server supports %q, want %q", server.Revisions, l.supported)
	}
}

func TestModernServer(t *testing.T) {
	silent := inspectCase{"silent", fakeServer{}, nil, "", "no answer to server/discover within 15s (--start-timeout)",
		true}
	for _, tt := range append(inspectCases, silent) {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, s, err := Inspect(t.Context(), driver.Target{Serve: tt.serves.serve}, "2026-07-28")
				if s != nil {
					defer s.Close()
				}
				tt.want(t, server, err)
				if err == nil && server.Failure == "" {
					wantServed(t, server, s)
				}
			})
		})
	}
}

// wantServed checks that a server is known and that its session is usable.
func wantServed(t *testing.T, server *check.Server, s *driver.Session) {
	t.Helper()
	if !server.Declares("tools") || len(server.Tools) != 1 || server.Revision != "2026-07-28" {
		t.Errorf("got %+v", server)
	}
	if era, ok := server.Era.(driver.Modern); !ok || len(era.Tools) != 1 {
		t.Errorf("got the era %+v", server.Era)
	}
	if !s.IsOrdinary() || s.Revision != "2026-07-28" {
		t.Errorf("the session is not ordinary: it has negotiated %q", s.Revision)
	}
}

func TestModernServerOverHTTP(t *testing.T) {
	missing := inspectCase{"nothing there", fakeServer{}, nil, "", "does not speak 2026-07-28", false}
	for _, tt := range append(inspectCases, missing) {
		t.Run(tt.name, func(t *testing.T) {
			server, s, err := Inspect(t.Context(), httpTarget(t, tt.serves), "2026-07-28")
			if s != nil {
				defer s.Close()
			}
			tt.want(t, server, err)
			if err == nil && server.Failure == "" {
				wantServed(t, server, s)
				if !server.Sessionless || server.OneClient {
					t.Errorf("sessionless is %v, one client %v", server.Sessionless, server.OneClient)
				}
			}
		})
	}
	t.Run("protected", func(t *testing.T) {
		server, s, err := Inspect(t.Context(), httpTarget(t, fakeServer{"server/discover": "401"}), "2026-07-28")
		if err != nil || !server.Protected || !strings.HasPrefix(server.Failure, "the server wants authorization") {
			t.Errorf("got %+v, %v", server, err)
		}
		s.Close()
	})
}

// httpTarget returns a target at the URL of a server.
func httpTarget(t *testing.T, serves http.Handler) driver.Target {
	t.Helper()
	host := httptest.NewServer(serves)
	t.Cleanup(host.Close)
	site, err := driver.NewSite(driver.SiteOptions{URL: host.URL})
	if err != nil {
		t.Fatal(err)
	}
	return driver.Target{Site: site, Limits: driver.Limits{ReplyTimeout: time.Second}}
}

// TestModernIdentity checks that name, version and instructions of a server of the modern era are known.
func TestModernIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serves := fakeServer{"server/discover": discoverResult, "tools/list": toolsResult}
		server, s, err := Inspect(t.Context(), driver.Target{Serve: serves.serve}, "2026-07-28")
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if info := server.Info(); info.Name != "n" || info.Version != "1" || server.Instructions() != "Do." {
			t.Errorf("got %+v and %q", info, server.Instructions())
		}
	})
}
