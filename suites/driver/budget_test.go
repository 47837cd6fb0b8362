package driver

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
)

// TestBudgetCountsRecord checks that the budget counts all that a session keeps, including bodies that broke off, and
// that texts keep no unused memory.
func TestBudgetCountsRecord(t *testing.T) {
	const sessions, slack = 20, 6 << 20
	padding := strings.Repeat("x", 1_200_000)
	for name, serve := range map[string]http.HandlerFunc{
		"a message": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"padding":%q}}`, padding)
		},
		"a message before something else": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`+padding)
		},
		"not a message": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, padding) },
		"a body that breaks off": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, padding)
			panic(http.ErrAbortHandler)
		},
		"events": func(w http.ResponseWriter, _ *http.Request) {
			writeStream(w, strings.Repeat("data: "+padding[:100_000]+"\n\n", 12))
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(serve)
			defer server.Close()
			site, err := NewSite(SiteOptions{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			budget := NewMemoryBudget(1 << 30)
			before := inUse()
			var all []*Session
			for range sessions {
				s, err := Start(t.Context(), Target{Site: site, MemoryBudget: budget}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				s.HTTP().Do(HTTPRequest{Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}).AwaitEnd()
				all = append(all, s)
			}
			kept, grown := budget.used.Load(), inUse()-before
			if kept < int64(sessions*len(padding)/2) || grown > kept+slack {
				t.Errorf("%d bytes are counted, %d are in use", kept, grown)
			}
			for _, s := range all {
				s.Close()
			}
		})
	}
}

// inUse returns the bytes of the heap that are in use.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestBudgetCountsReading checks that bytes count while they are read, until the message is in the record or given up.
func TestBudgetCountsReading(t *testing.T) {
	r := &record{limits: Limits{MaxMessageBytes: 4 << 20}, budget: NewMemoryBudget(1 << 20)}
	for _, n := range []int{2 << 20, 8 << 20} {
		m := &readQuota{record: r, partial: new(partialMessage)}
		if m.grow(n) != (n <= r.limits.MaxMessageBytes) {
			t.Errorf("%d bytes: wrong result of grow", n)
		}
		if !r.budget.exhausted() {
			t.Error("bytes that are being read do not count")
		}
		m.release()
	}
	if kept := r.budget.used.Load(); kept != 0 {
		t.Errorf("%d bytes still count", kept)
	}
}
